//! A Gaussian at a point of the weights: what every posterior starts from.

use std::sync::Arc;

use super::structure::Precision;
use super::subset::SubsetRanges;
use crate::linalg::vector::{axpy, dot};
use crate::random::{Rng, fill_normal};
use crate::{Error, Result};

/// N(θ*, P⁻¹) on the uncertain weights; the others stay at θ*.
#[derive(Debug, Clone)]
pub struct Gaussian {
    theta: Vec<f64>,
    subset: SubsetRanges,
    precision: Arc<dyn Precision>,
}

impl Gaussian {
    /// All weights uncertain, with a precision of any structure.
    pub fn new(theta: Vec<f64>, precision: Arc<dyn Precision>) -> Result<Self> {
        let all = SubsetRanges::all(theta.len());
        Self::on_subset(theta, all, precision)
    }

    /// Some weights uncertain: `precision` is that of the subset.
    pub fn on_subset(theta: Vec<f64>, subset: SubsetRanges, precision: Arc<dyn Precision>) -> Result<Self> {
        crate::error::check_finite("weights", &theta)?;
        crate::error::check_len("precision of the uncertain weights", subset.len(), precision.dim())?;
        if let Some(range) = subset.as_slice().last().filter(|range| range.end > theta.len()) {
            return Err(Error::shape("uncertain weights", format!("below {}", theta.len()), range.end));
        }
        Ok(Self { theta, subset, precision })
    }

    /// The same without the first weights, none of which is uncertain.
    pub(crate) fn after(&self, first: usize) -> Result<Self> {
        let subset = self.subset.after(first).filter(|_| first <= self.theta.len());
        let Some(subset) = subset else {
            let requirement = "none that is uncertain, and not more than there are";
            return Err(Error::range("first weights that are left out", first, requirement));
        };
        Self::on_subset(self.theta[first..].to_vec(), subset, self.precision.clone())
    }

    /// The centre θ*.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The uncertain weights.
    pub fn subset(&self) -> &SubsetRanges {
        &self.subset
    }

    /// The precision P on the uncertain weights.
    pub fn precision(&self) -> &dyn Precision {
        &*self.precision
    }

    /// Weights θ* + v.
    pub fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let mut theta = self.draw_tangent(rng);
        axpy(1.0, &self.theta, &mut theta);
        theta
    }

    /// A tangent vector v ~ N(0, P⁻¹), zero outside the uncertain weights.
    pub fn draw_tangent(&self, rng: &mut Rng) -> Vec<f64> {
        let mut v = vec![0.0; self.precision.dim()];
        fill_normal(rng, &mut v);
        self.precision.sqrt_solve(&mut v);
        self.subset.scatter(&v, self.theta.len())
    }

    /// All weights for uncertain ones `s`.
    pub fn embed(&self, s: &[f64]) -> Vec<f64> {
        let mut full = self.theta.clone();
        self.subset.indices().zip(s).for_each(|(k, v)| full[k] = *v);
        full
    }

    /// log q(θ) over the uncertain weights. −∞ if one of the other weights has moved: draws never move
    /// them.
    pub fn log_density(&self, theta: &[f64]) -> Result<f64> {
        crate::error::check_len("weights", self.theta.len(), theta.len())?;
        let moved: Vec<f64> = theta.iter().zip(&self.theta).map(|(theta, center)| theta - center).collect();
        let uncertain = self.subset.gather(&moved);
        let fixed_moved = self.subset.scatter(&uncertain, moved.len()) != moved;
        if fixed_moved {
            return Ok(f64::NEG_INFINITY);
        }
        let mut product = vec![0.0; uncertain.len()];
        self.precision.mul(&uncertain, &mut product);
        let constant = uncertain.len() as f64 * std::f64::consts::TAU.ln();
        Ok(0.5 * (self.precision.log_det() - constant - dot(&uncertain, &product)))
    }
}
