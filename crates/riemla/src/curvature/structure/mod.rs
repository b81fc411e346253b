//! Precision matrices in different structures, one file each.

mod diagonal;
mod full;
mod kronecker;
mod kronecker_factors;
mod kronecker_parts;
mod low_rank;
mod parts;

pub use diagonal::DiagonalPrecision;
pub use full::FullPrecision;
pub use kronecker::KroneckerPrecision;
pub(super) use kronecker::{BlockShape, KroneckerBlock};
pub use kronecker_factors::KroneckerFactors;
pub use low_rank::LowRankPrecision;
pub use parts::{NamedArray, PrecisionParts};

/// A symmetric positive definite matrix P: the precision of a Gaussian.
///
/// Law ([`crate::testing::check_precision`]): with S the map of [`Precision::sqrt_solve`],
/// SSᵀP = I and `sqrt_solve_transpose` is its adjoint; `log_det` is that of the dense matrix; `solve` inverts `mul`.
pub trait Precision: Send + Sync + std::fmt::Debug {
    /// Number of rows.
    fn dim(&self) -> usize;

    /// out ← Px.
    fn mul(&self, x: &[f64], out: &mut [f64]);

    /// x ← P⁻¹x.
    fn solve(&self, x: &mut [f64]);

    /// x ← Sx with SSᵀ = P⁻¹: turns white noise into a draw.
    fn sqrt_solve(&self, x: &mut [f64]);

    /// x ← Sᵀx with the same S: turns gradients by the weights into gradients by the white noise.
    fn sqrt_solve_transpose(&self, x: &mut [f64]);

    /// log det P.
    fn log_det(&self) -> f64;

    /// xᵀP⁻¹x for `count` vectors stored one after the other: variances of linear functions.
    /// `x` is used as scratch.
    fn inverse_quadratic(&self, x: &mut [f64], count: usize) -> Vec<f64>;

    /// What it consists of, to be written to a file; none for precisions that cannot be saved.
    fn parts(&self) -> Option<PrecisionParts> {
        None
    }
}
