//! Curvature of the loss at the trained weights and the Gaussian it defines.
//!
//! Three independent choices: which [`Curvature`] (GGN or exact Hessian), in which [`Structure`]
//! (full or diagonal), over which [`Subset`] of the weights.

mod evidence;
mod ggn;
mod hessian;
mod laplace;
mod structure;
mod subset;

pub use evidence::{Evidence, EvidenceOptimum};
pub use ggn::{for_each_factor, ggn_diagonal, ggn_full};
pub use hessian::{hessian_diagonal, hessian_full};
pub use laplace::{Laplace, LaplaceConfig, PriorChoice, Refit};
pub use structure::{DiagonalPrecision, FullPrecision, NamedArray, Precision, PrecisionParts};
pub use subset::{Subset, SubsetRanges};

use serde::{Deserialize, Serialize};

/// Which second derivative of the negative log-likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curvature {
    /// Generalised Gauss-Newton Σ JᵀΛJ: positive semi-definite everywhere.
    #[default]
    Ggn,
    /// The exact Hessian: may be indefinite away from a minimum.
    Hessian,
}

/// How much of the curvature matrix is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// All of it: K² numbers.
    #[default]
    Full,
    /// Its diagonal: K numbers.
    Diagonal,
}
