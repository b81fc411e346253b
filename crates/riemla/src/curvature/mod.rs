//! Curvature of the loss at the trained weights and the Gaussian it defines.
//!
//! Three independent choices: which [`Curvature`] (GGN, empirical Fisher or exact Hessian), in which
//! [`Structure`] (full, diagonal, Kronecker-factored or low-rank), over which [`Subset`] of the weights.

mod evidence;
mod fisher;
mod found;
mod gaussian;
mod ggn;
mod gram;
mod hessian;
mod hyperparameters;
mod kronecker;
mod laplace;
mod layer_evidence;
mod low_rank;
mod matrix;
mod memory;
mod one_layer;
mod outer;
mod output_noise;
mod prior_search;
mod product;
mod structure;
mod subset;

pub use evidence::{Evidence, EvidenceOptimum};
pub use fisher::{empirical_fisher_diagonal, empirical_fisher_full};
pub use found::HessianSearch;
pub use gaussian::Gaussian;
pub use ggn::{for_each_factor, ggn_diagonal, ggn_full};
pub use hessian::{hessian_diagonal, hessian_full};
pub use kronecker::KroneckerCurvature;
pub use laplace::{Laplace, LaplaceConfig, PriorChoice, Refit};
pub use layer_evidence::{LayerEvidence, LayerOptimum, LayeredCurvature};
pub use low_rank::{EigenReport, LowRankCurvature};
pub use memory::memory_estimate;
pub use prior_search::{PriorFound, PriorSearch, PriorTrial, SearchWay, TrialStart};
pub use product::{CurvatureProduct, ggn_vector_product};
pub use structure::{
    DiagonalPrecision, FullPrecision, KroneckerFactors, KroneckerPrecision, LowRankPrecision, NamedArray,
    Precision, PrecisionParts,
};
pub use subset::{Subset, SubsetRanges};

use serde::{Deserialize, Serialize};

/// Which second derivative of the negative log-likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curvature {
    /// Generalised Gauss-Newton Σ JᵀΛJ: positive semi-definite everywhere.
    #[default]
    Ggn,
    /// Empirical Fisher Σ ggᵀ of per-sample gradients: positive semi-definite, one reverse pass.
    #[serde(rename = "ef")]
    EmpiricalFisher,
    /// The exact Hessian: may be indefinite away from a minimum.
    Hessian,
}

impl Curvature {
    /// In regression the curvature is proportional to 1/σ to this power.
    fn noise_exponent(self) -> i32 {
        match self {
            Curvature::Ggn | Curvature::Hessian => 2,
            Curvature::EmpiricalFisher => 4,
        }
    }
}

/// How much of the curvature matrix is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Structure {
    /// All of it: K² numbers.
    #[default]
    Full,
    /// Its diagonal: K numbers.
    Diagonal,
    /// One Kronecker product per layer (KFAC): Σ inputs² + outputs² numbers.
    #[serde(rename = "kron")]
    Kronecker,
    /// Its largest eigenpairs: rank·K numbers.
    LowRank {
        /// How many.
        rank: usize,
    },
}
