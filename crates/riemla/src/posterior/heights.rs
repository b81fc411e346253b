//! How high draws lie on the loss: the virial ratio, the rise of the loss, importance weights.

use rayon::prelude::*;

use super::Posterior;
use crate::error::check_len;
use crate::linalg::vector::dot;
use crate::objective::{Objective, check_failure};
use crate::{Error, Result};

/// Mean of (θ − θ*)·∇L(θ)/K over the draws: 1 for exact draws from exp(−L), by integration by
/// parts, whether θ* is a minimum or not. Below 1 the draws are too close to θ*, above 1 too far
/// out, and below 0 they have left its basin ([`super::Misplaced`]). K is the dimension of the objective; where only some weights are uncertain, use
/// [`super::Posterior::virial_ratio`].
pub fn virial_ratio(objective: &dyn Objective, center: &[f64], thetas: &[&[f64]]) -> f64 {
    let each = thetas.iter().map(|theta| virial(objective, center, theta));
    each.sum::<f64>() / (thetas.len() as f64 * center.len() as f64)
}

/// (θ − θ*)·∇L(θ).
fn virial(objective: &dyn Objective, center: &[f64], theta: &[f64]) -> f64 {
    let mut gradient = vec![0.0; center.len()];
    objective.value_and_gradient(theta, &mut gradient);
    dot(&gradient, theta) - dot(&gradient, center)
}

impl Posterior {
    /// Mean of (θ − θ*)·∇L(θ)/K over draws, with the full-data loss of this method (linearised for
    /// `lin-la` and `lin-riem-la`) and K the number of uncertain weights: 1 for exact draws.
    pub fn virial_ratio(&self, thetas: &[&[f64]]) -> Result<f64> {
        self.virial_ratio_with_error(thetas).map(|(ratio, _)| ratio)
    }

    /// [`Self::virial_ratio`] with its Monte Carlo standard error; infinite for one draw.
    pub fn virial_ratio_with_error(&self, thetas: &[&[f64]]) -> Result<(f64, f64)> {
        self.check_draws(thetas)?;
        let (objective, center) = (self.objective()?, self.gaussian.theta());
        let k = self.gaussian.subset().len() as f64;
        let each: Vec<f64> = thetas.par_iter().map(|theta| virial(objective, center, theta) / k).collect();
        check_failure(objective)?;
        let n = each.len() as f64;
        let mean = each.iter().sum::<f64>() / n;
        let squares: f64 = each.iter().map(|v| (v - mean).powi(2)).sum();
        Ok((mean, if n > 1.0 { (squares / ((n - 1.0) * n)).sqrt() } else { f64::INFINITY }))
    }

    /// L(θ) − L(θ*) of every draw, with the full-data loss of this method (linearised for `lin-la` and
    /// `lin-riem-la`). Its mean is about half the number of uncertain weights for exact draws of a
    /// Gaussian-shaped posterior.
    pub fn loss_rises(&self, thetas: &[&[f64]]) -> Result<Vec<f64>> {
        self.check_draws(thetas)?;
        let objective = self.objective()?;
        let start = objective.value(self.gaussian.theta());
        let rises = thetas.par_iter().map(|theta| objective.value(theta) - start).collect();
        check_failure(objective)?;
        Ok(rises)
    }

    /// log w = −(L(θ) − L(θ*)) − log q(θ) for draws of the Gaussian q: importance weights for exp(−L), up
    /// to a constant. A draw where the loss is not finite has weight 0 (−∞). Hand them to
    /// [`crate::compare::pareto_smoothed`], whose k̂ says whether the Gaussian covers the posterior.
    pub fn log_importance_weights(&self, thetas: &[&[f64]]) -> Result<Vec<f64>> {
        let rises = self.loss_rises(thetas)?;
        let log_weight = |(theta, rise): (&&[f64], f64)| {
            let density = self.gaussian.log_density(theta)?;
            Ok(if rise.is_finite() { -rise - density } else { f64::NEG_INFINITY })
        };
        thetas.par_iter().zip(rises).map(log_weight).collect()
    }

    fn check_draws(&self, thetas: &[&[f64]]) -> Result<()> {
        if thetas.is_empty() {
            return Err(Error::range("number of draws", 0, "at least 1"));
        }
        let dim = self.gaussian.theta().len();
        thetas.iter().try_for_each(|theta| check_len("weights of a draw", dim, theta.len()))
    }
}
