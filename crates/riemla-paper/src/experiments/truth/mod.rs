//! Every method against the truth: exact draws of densities in the plane, Markov chains for networks.
//!
//! An experiment with a `[truth]` is run by the same engine as the others ([`super::run`]); only what its
//! cells are judged by is here.

mod against;
mod chains;
mod density;
mod distance;
mod figures;
mod network;
mod plan;
mod plane;
mod polish;
mod report;
mod target;
#[cfg(test)]
mod tests;

pub use against::{Against, PolishNumbers, TruthNumbers};
pub use chains::ChainVerdict;
pub use density::Density;
pub use distance::Distances;
pub use plan::{ChainPlan, TruthPlan};
pub use plane::Plane;
pub use report::{sections, truth_csv};
