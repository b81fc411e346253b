//! The Gaussian prior: precision δ, one for all weights or one per layer.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::nn::Network;
use crate::{Error, Result};

/// Prior precision as a user states it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PriorPrecision {
    /// One number for all weights.
    Scalar(f64),
    /// One number per layer with parameters.
    PerLayer(Vec<f64>),
}

/// A zero-mean Gaussian prior with a diagonal precision that is constant on ranges of weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    groups: Vec<(Range<usize>, f64)>,
    /// The value of weights that are held fixed and no longer among these.
    fixed: f64,
}

impl Prior {
    /// The same precision for `dim` weights.
    pub fn isotropic(precision: f64, dim: usize) -> Result<Self> {
        Self::from_groups(vec![(0..dim, precision)])
    }

    /// The prior that `precision` describes for a network.
    pub fn new(precision: &PriorPrecision, network: &Network) -> Result<Self> {
        match precision {
            PriorPrecision::Scalar(value) => Self::isotropic(*value, network.dim()),
            PriorPrecision::PerLayer(values) => {
                let layers = network.layer_ranges();
                if layers.len() != values.len() {
                    let expected = format!("{} (one per layer with parameters)", layers.len());
                    return Err(Error::shape("per-layer prior precisions", expected, values.len()));
                }
                Self::from_groups(layers.into_iter().zip(values.iter().copied()).collect())
            }
        }
    }

    fn from_groups(groups: Vec<(Range<usize>, f64)>) -> Result<Self> {
        match groups.iter().find(|(_, p)| !p.is_finite() || *p < 0.0) {
            Some((_, p)) => Err(Error::range("prior_precision", p, "finite and at least 0")),
            None => Ok(Self { groups, fixed: 0.0 }),
        }
    }

    /// The prior of the weights after those of `fixed`, which stay as they are: its values contain theirs.
    pub(super) fn after(&self, fixed: &[f64]) -> Self {
        let first = fixed.len();
        let part = |(range, p): &(Range<usize>, f64)| {
            (range.start.saturating_sub(first)..range.end.saturating_sub(first), *p)
        };
        let groups = self.groups.iter().map(part).filter(|(range, _)| !range.is_empty()).collect();
        let before = |(range, p): &(Range<usize>, f64)| {
            let of_group = &fixed[range.start.min(first)..range.end.min(first)];
            p * crate::linalg::vector::dot(of_group, of_group)
        };
        let square: f64 = self.groups.iter().map(before).sum();
        Self { groups, fixed: self.fixed + 0.5 * square }
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        self.groups.last().map_or(0, |(range, _)| range.end)
    }

    /// The precision, if it is the same for all weights.
    pub fn scalar(&self) -> Option<f64> {
        let first = self.groups.first()?.1;
        self.groups.iter().all(|(_, p)| *p == first).then_some(first)
    }

    /// The precision of every group of weights: one, or one per layer.
    pub fn precisions(&self) -> impl Iterator<Item = f64> + '_ {
        self.groups.iter().map(|(_, precision)| *precision)
    }

    /// What [`Prior::new`] makes it from: one number if it is the same for all weights.
    pub fn to_precision(&self) -> PriorPrecision {
        match self.scalar() {
            Some(value) => PriorPrecision::Scalar(value),
            None => PriorPrecision::PerLayer(self.precisions().collect()),
        }
    }

    /// The precision of every weight.
    pub fn diagonal(&self) -> Vec<f64> {
        self.groups.iter().flat_map(|(range, p)| range.clone().map(move |_| *p)).collect()
    }

    /// ½ Σ δ θ².
    pub fn value(&self, theta: &[f64]) -> f64 {
        0.5 * self.quadratic(theta) + self.fixed
    }

    /// Σ δ v².
    pub fn quadratic(&self, v: &[f64]) -> f64 {
        self.groups
            .iter()
            .map(|(range, p)| p * crate::linalg::vector::dot(&v[range.clone()], &v[range.clone()]))
            .sum()
    }

    /// out += δ θ: the gradient at θ, and the Hessian times θ.
    pub fn add_product(&self, theta: &[f64], out: &mut [f64]) {
        for (range, p) in &self.groups {
            crate::linalg::vector::axpy(*p, &theta[range.clone()], &mut out[range.clone()]);
        }
    }
}
