//! Dense linear algebra on slices: the only place that knows faer and CPU features.
//!
//! Matrices are column-major. Activations are stored with *samples contiguous*: a batch of `n`
//! samples with `d` features is an `n × d` column-major matrix, so feature `j` is the slice
//! `[j*n .. (j+1)*n]`.

mod cholesky;
pub mod correlate;
pub mod dense;
mod eigenvalues;
pub mod elementwise;
pub mod factor;
pub mod krylov;
mod processor;
pub mod simd;
pub mod single;
mod symmetric;
pub mod triangular;
pub mod vector;

pub use dense::Matrix;
pub use factor::Cholesky;
pub use processor::processor;
pub use symmetric::Symmetric;
