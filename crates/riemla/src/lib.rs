//! riemla turns a trained neural network into a Bayesian one.
pub mod error;
pub mod linalg;
pub mod objective;
pub mod ode;
pub mod random;
pub mod score;
pub mod train;

pub use error::{Error, Result};
