//! Generalised Gauss-Newton of the negative log-likelihood: Σₙ JₙᵀΛₙJₙ with Λₙ = SₙSₙᵀ.

use super::outer::OuterProduct;
use super::subset::SubsetRanges;
use crate::linalg::Matrix;
use crate::objective::NetworkLoss;

/// Calls `f(n, rows)` for every block of samples and every column of S: `rows` is the n × k
/// matrix (samples contiguous) of that column's gradients in the subset's k weights.
pub fn for_each_factor(
    loss: &NetworkLoss,
    theta: &[f64],
    subset: &SubsetRanges,
    f: impl FnMut(usize, &[f64]),
) {
    OuterProduct::Ggn.for_each_row(loss, theta, subset, f);
}

/// The full GGN over the subset (k × k), scaled like the loss, without the prior.
pub fn ggn_full(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Matrix {
    OuterProduct::Ggn.full(loss, theta, subset)
}

/// The diagonal of the GGN over the subset, scaled like the loss, without the prior.
pub fn ggn_diagonal(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Vec<f64> {
    OuterProduct::Ggn.diagonal(loss, theta, subset)
}
