//! Posteriors over the weights, and draws from them.
//!
//! | method | draw |
//! |---|---|
//! | `map` | the trained weights themselves |
//! | `la`, `lin-la` | θ* + v, v from the Laplace approximation; `lin-` predicts with the linearised network |
//! | `riem-la` | the end of the geodesic of the loss from θ* with velocity v |
//! | `lin-riem-la` | the same with the loss of the linearised network, which also predicts |
//!
//! The Riemannian ones also run on a fresh random batch of the data per draw.

mod config;
mod draw;
mod sampler;
mod samples;

pub use config::{BatchPlan, Method, PosteriorConfig, Unfinished};
pub use draw::{Draw, GeodesicSummary};
pub use sampler::{Control, Posterior};
pub use samples::{SampleSet, virial_ratio};
