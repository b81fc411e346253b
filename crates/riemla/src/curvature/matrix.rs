//! The curvature in the structure that was chosen: one line per structure.

use std::sync::Arc;

use super::kronecker::KroneckerCurvature;
use super::layer_evidence::LayeredCurvature;
use super::low_rank::{EigenReport, LowRankCurvature};
use super::outer::OuterProduct;
use super::structure::{DiagonalPrecision, FullPrecision, Precision};
use super::subset::SubsetRanges;
use super::{Curvature, Structure, hessian_diagonal, hessian_full};
use crate::Result;
use crate::linalg::Matrix;
use crate::linalg::factor::symmetric_eigenvalues;
use crate::objective::NetworkLoss;

/// Curvature of the likelihood, without the prior.
pub(super) enum CurvatureMatrix {
    Full(Matrix),
    Diagonal(Vec<f64>),
    Kronecker(KroneckerCurvature),
    LowRank(LowRankCurvature),
}

impl CurvatureMatrix {
    pub(super) fn new(
        loss: &NetworkLoss,
        theta: &[f64],
        curvature: Curvature,
        structure: Structure,
        subset: &SubsetRanges,
    ) -> Result<Self> {
        let outer = || OuterProduct::of(curvature, "given");
        let hessian = curvature == Curvature::Hessian;
        Ok(match structure {
            Structure::Full if hessian => Self::Full(hessian_full(loss, theta, subset)?),
            Structure::Full => Self::Full(outer()?.full(loss, theta, subset)),
            Structure::Diagonal if hessian => Self::Diagonal(hessian_diagonal(loss, theta, subset)?),
            Structure::Diagonal => Self::Diagonal(outer()?.diagonal(loss, theta, subset)),
            Structure::Kronecker => Self::Kronecker(KroneckerCurvature::new(loss, theta, curvature, subset)?),
            Structure::LowRank { rank } => {
                Self::LowRank(LowRankCurvature::new(loss, theta, curvature, subset, rank)?)
            }
        })
    }

    pub(super) fn eigenvalues(&self) -> Result<Vec<f64>> {
        Ok(match self {
            Self::Full(matrix) => symmetric_eigenvalues("the curvature", matrix)?,
            Self::Diagonal(diagonal) => diagonal.clone(),
            Self::Kronecker(curvature) => curvature.eigenvalues(),
            Self::LowRank(curvature) => curvature.eigenvalues(),
        })
    }

    /// How it couples layers.
    pub(super) fn layered(&self) -> LayeredCurvature<'_> {
        match self {
            Self::Full(matrix) => LayeredCurvature::Full(matrix),
            Self::Diagonal(diagonal) => LayeredCurvature::Separable(diagonal.clone()),
            // Blocks are layers, in the order of the weights.
            Self::Kronecker(curvature) => LayeredCurvature::Separable(curvature.eigenvalues()),
            Self::LowRank(curvature) => curvature.layered(),
        }
    }

    pub(super) fn scale(&mut self, factor: f64) {
        match self {
            Self::Full(matrix) => crate::linalg::vector::scale(factor, matrix.as_mut_slice()),
            Self::Diagonal(diagonal) => crate::linalg::vector::scale(factor, diagonal),
            Self::Kronecker(curvature) => curvature.scale(factor),
            Self::LowRank(curvature) => curvature.scale(factor),
        }
    }

    /// Curvature + diag(prior). A full matrix is factorised in its place.
    pub(super) fn into_precision(self, prior: &[f64]) -> Result<Arc<dyn Precision>> {
        Ok(match self {
            Self::Full(matrix) => Arc::new(FullPrecision::in_place(matrix, prior)?),
            Self::Diagonal(diagonal) => Arc::new(DiagonalPrecision::new(&diagonal, prior)?),
            Self::Kronecker(curvature) => Arc::new(curvature.precision(prior)?),
            Self::LowRank(curvature) => Arc::new(curvature.precision(prior)?),
        })
    }

    /// How an iteration for eigenpairs ended, where there was one.
    pub(super) fn report(&self) -> Option<EigenReport> {
        match self {
            Self::LowRank(curvature) => Some(curvature.report),
            _ => None,
        }
    }
}
