//! Empirical Fisher: Σₙ gₙgₙᵀ with gₙ the gradient of sample n's negative log-likelihood.
//!
//! Unlike the GGN it depends on the targets, and at a perfect fit it vanishes. In regression it is
//! proportional to 1/σ⁴, not 1/σ².

use super::outer::OuterProduct;
use super::subset::SubsetRanges;
use crate::linalg::Matrix;
use crate::objective::NetworkLoss;

/// The full empirical Fisher over the subset (k × k), scaled like the loss, without the prior.
pub fn empirical_fisher_full(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Matrix {
    OuterProduct::EmpiricalFisher.full(loss, theta, subset)
}

/// The diagonal of the empirical Fisher over the subset, scaled like the loss, without the prior.
pub fn empirical_fisher_diagonal(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Vec<f64> {
    OuterProduct::EmpiricalFisher.diagonal(loss, theta, subset)
}
