//! The loss at draws, and the weights that would correct draws of the Gaussian.

use rayon::prelude::*;

use super::Posterior;
use crate::Result;
use crate::error::check_len;

impl Posterior {
    /// L(θ) − L(θ*) of every draw, with the full-data loss of this method (linearised for `lin-la` and
    /// `lin-riem-la`). Its mean is about half the number of uncertain weights for exact draws of a
    /// Gaussian-shaped posterior.
    pub fn loss_rises(&self, thetas: &[&[f64]]) -> Result<Vec<f64>> {
        let dim = self.laplace.theta.len();
        thetas.iter().try_for_each(|theta| check_len("weights of a draw", dim, theta.len()))?;
        let objective = self.full_objective()?;
        let start = objective.value(&self.laplace.theta);
        Ok(thetas.par_iter().map(|theta| objective.value(theta) - start).collect())
    }

    /// log w = −(L(θ) − L(θ*)) − log q(θ) for draws of the Gaussian q: importance weights for exp(−L), up
    /// to a constant. A draw where the loss is not finite has weight 0 (−∞). Hand them to
    /// [`crate::compare::pareto_smoothed`], whose k̂ says whether the Gaussian covers the posterior.
    pub fn log_importance_weights(&self, thetas: &[&[f64]]) -> Result<Vec<f64>> {
        let rises = self.loss_rises(thetas)?;
        let log_weight = |(theta, rise): (&&[f64], f64)| {
            let density = self.laplace.log_density(theta)?;
            Ok(if rise.is_finite() { -rise - density } else { f64::NEG_INFINITY })
        };
        thetas.par_iter().zip(rises).map(log_weight).collect()
    }
}
