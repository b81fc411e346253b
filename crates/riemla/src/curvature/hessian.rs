//! The exact Hessian of the negative log-likelihood, by Hessian-vector products.

use rayon::prelude::*;

use super::subset::SubsetRanges;
use crate::Result;
use crate::linalg::Matrix;
use crate::objective::{NetworkLoss, Objective as _, Prior, TwiceDifferentiable as _};

fn without_prior(loss: &NetworkLoss) -> Result<NetworkLoss> {
    loss.with(loss.likelihood(), Prior::isotropic(0.0, loss.dim())?)
}

fn unit(dim: usize, k: usize) -> Vec<f64> {
    let mut e = vec![0.0; dim];
    e[k] = 1.0;
    e
}

/// The full Hessian over the subset (k × k), scaled like the loss, without the prior.
pub fn hessian_full(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Result<Matrix> {
    let likelihood = without_prior(loss)?;
    let indices: Vec<usize> = subset.indices().collect();
    let columns: Vec<Vec<f64>> = indices
        .par_iter()
        .map(|&k| {
            let mut column = vec![0.0; theta.len()];
            likelihood.hvp(theta, &unit(theta.len(), k), &mut column);
            subset.gather(&column)
        })
        .collect();
    let mut hessian = Matrix::from_columns(indices.len(), indices.len(), columns.concat());
    symmetrize(&mut hessian);
    Ok(hessian)
}

/// The diagonal of the Hessian over the subset, scaled like the loss, without the prior.
pub fn hessian_diagonal(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Result<Vec<f64>> {
    let likelihood = without_prior(loss)?;
    let indices: Vec<usize> = subset.indices().collect();
    let entry = |&k: &usize| likelihood.curvature_along(theta, &unit(theta.len(), k));
    Ok(indices.par_iter().map(entry).collect())
}

/// Averages the two triangles, which differ by rounding.
pub(super) fn symmetrize(matrix: &mut Matrix) {
    let n = matrix.rows();
    for j in 0..n {
        for i in j + 1..n {
            let mean = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
            matrix.column_mut(j)[i] = mean;
            matrix.column_mut(i)[j] = mean;
        }
    }
}
