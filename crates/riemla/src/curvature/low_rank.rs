//! Low-rank curvature: the largest eigenpairs, found from curvature-vector products alone.

use serde::{Deserialize, Serialize};

use super::Curvature;
use super::layer_evidence::LayeredCurvature;
use super::product::CurvatureProduct;
use super::structure::LowRankPrecision;
use super::subset::SubsetRanges;
use crate::linalg::Matrix;
use crate::linalg::krylov::{Krylov, TopEigen};
use crate::linalg::vector::scale;
use crate::objective::{Likelihood, NetworkLoss};
use crate::{Error, Result};

/// How the iteration for the eigenpairs ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EigenReport {
    /// Pairs kept: fewer than asked for if the curvature has a lower rank.
    pub rank: usize,
    /// Largest residual ‖Cu − λu‖ of a pair, relative to the largest eigenvalue.
    pub residual: f64,
    /// Whether the residual of every pair is within 1e-7 of the largest eigenvalue, or 1e-2 of its own.
    pub converged: bool,
    /// Curvature-vector products.
    pub products: usize,
}

/// The largest eigenpairs of the likelihood's curvature; the rest counts as 0.
#[derive(Debug, Clone)]
pub struct LowRankCurvature {
    values: Vec<f64>,
    vectors: Matrix,
    /// How the iteration ended.
    pub report: EigenReport,
}

/// Residual of an eigenpair relative to its eigenvalue, which is then right to about 1e-3: the eigenvalues that are left
/// out matter far more to a draw.
const RESIDUAL: f64 = 1e-2;
/// Start vectors where eigenvalues are not repeated: with more of them the iteration takes more products.
const FEW: usize = 4;
/// Products beyond the rank before a restart, which slows the iteration down.
const ROOM: usize = 40;

/// The iteration for eigenvalues that are repeated so many times.
pub(super) fn krylov(rank: usize, multiplicity: usize) -> Krylov {
    Krylov { own: RESIDUAL, room: ROOM, ..Krylov::new(rank, multiplicity.clamp(2, 10)) }
}

/// How often eigenvalues are repeated, or a few: a Gaussian likelihood repeats them once per output.
fn multiplicity(loss: &NetworkLoss) -> usize {
    let outputs = loss.network().outputs();
    match loss.likelihood() {
        Likelihood::Gaussian { .. } | Likelihood::GaussianPerOutput { .. } => outputs,
        _ => outputs.min(FEW),
    }
}

impl LowRankCurvature {
    /// The `rank` largest eigenpairs at `theta` of the GGN or the empirical Fisher over the
    /// subset, scaled like the loss, without the prior.
    pub fn new(
        loss: &NetworkLoss,
        theta: &[f64],
        curvature: Curvature,
        subset: &SubsetRanges,
        rank: usize,
    ) -> Result<Self> {
        if rank == 0 {
            return Err(Error::range("rank of the low-rank structure", rank, "at least 1"));
        }
        let product = CurvatureProduct::new(loss, theta, curvature, subset)?;
        let krylov = krylov(rank.min(subset.len()), multiplicity(loss));
        let TopEigen { values, vectors, residual, converged, products } =
            krylov.top_eigenpairs(subset.len(), |v, out| product.apply_many(v, out))?;
        let report = EigenReport { rank: values.len(), residual, converged, products };
        Ok(Self { values, vectors, report })
    }

    /// All eigenvalues, the unknown ones as 0.
    pub fn eigenvalues(&self) -> Vec<f64> {
        let mut all = self.values.clone();
        all.resize(self.vectors.rows(), 0.0);
        all
    }

    /// The eigenpairs, to see how they couple layers.
    pub(super) fn layered(&self) -> LayeredCurvature<'_> {
        LayeredCurvature::LowRank(&self.values, &self.vectors)
    }

    /// Multiplies the curvature by a factor.
    pub fn scale(&mut self, factor: f64) {
        scale(factor, &mut self.values);
    }

    /// Curvature + diag(prior).
    pub fn precision(&self, prior: &[f64]) -> Result<LowRankPrecision> {
        LowRankPrecision::new(&self.values, &self.vectors, prior)
    }
}
