//! riemla turns a trained neural network into a Bayesian one.
pub mod data;
pub mod error;
pub mod geometry;
pub mod linalg;
pub mod nn;
pub mod objective;
pub mod ode;
pub mod random;
pub mod score;
pub mod train;

pub use error::{Error, Result};
