//! Data sets in memory: inputs, targets, checks, selections, and small generated ones.

mod dataset;
mod sampling;
pub mod toy;

pub use dataset::{Dataset, Targets};
pub use sampling::{draw_batch, draw_by_probability, inclusion_probabilities, split};
