//! The density of the Laplace approximation.

use super::Laplace;
use crate::Result;
use crate::linalg::vector::dot;

impl Laplace {
    /// log q(θ) of the Gaussian over the uncertain weights. −∞ if one of the other weights has moved:
    /// draws never move them.
    pub fn log_density(&self, theta: &[f64]) -> Result<f64> {
        crate::error::check_len("weights", self.theta.len(), theta.len())?;
        let moved: Vec<f64> = theta.iter().zip(&self.theta).map(|(theta, center)| theta - center).collect();
        let uncertain = self.subset().gather(&moved);
        let fixed_moved = self.subset().scatter(&uncertain, moved.len()) != moved;
        if fixed_moved {
            return Ok(f64::NEG_INFINITY);
        }
        let precision = self.precision();
        let mut product = vec![0.0; uncertain.len()];
        precision.mul(&uncertain, &mut product);
        let constant = uncertain.len() as f64 * std::f64::consts::TAU.ln();
        Ok(0.5 * (precision.log_det() - constant - dot(&uncertain, &product)))
    }
}
