//! Posteriors over the weights, and draws from them.
//!
//! | method | draw |
//! |---|---|
//! | `map` | the trained weights themselves |
//! | `la`, `lin-la` | θ* + v, v from the Laplace approximation; `lin-` predicts with the linearised network |
//! | `riem-la` | the end of the geodesic of the loss from θ* with velocity v |
//! | `lin-riem-la` | the same with the loss of the linearised network, which also predicts |
//!
//! The Riemannian ones also run on a fresh batch of the data per draw ([`BatchPlan`]). The [`Strength`] of
//! their metric is a number or a rule, for example the virial identity, that is applied once per seed.

mod batch;
mod calibrate;
mod config;
mod draw;
mod geodesics;
mod heights;
mod length;
mod levels;
mod misplaced;
mod model;
mod moving;
mod pilots;
mod polish;
mod ratio;
mod root;
mod sampler;
mod samples;
mod search;
mod shorten;
mod strength;
mod verdict;
mod warnings;

pub use batch::{AUTO_SHARE, BatchDesign, BatchPlan, BatchSize};
pub use calibrate::{Calibration, Trial};
pub use config::{Method, MetricChoice, PosteriorConfig, Unfinished};
pub use draw::{Draw, GeodesicSummary};
pub use heights::virial_ratio;
pub use length::BatchLength;
pub use misplaced::Misplaced;
pub use model::{Model, NetworkOutputs, OutputMoments, Outputs, Tail};
pub use moving::Moving;
pub use polish::{
    HamiltonianChain, Leapfrog, LossLevel, Mass, Polish, PolishFound, PolishLength, PolishReport,
    PolishSummary, Transition,
};
pub use ratio::Height;
pub use sampler::{Posterior, Validation};
pub use samples::SampleSet;
pub use search::SearchStatus;
pub use strength::{Statistic, Strength, growth_factor};
pub use verdict::{CONTRADICTION, CONTRADICTION_ERRORS, JUDGES, Verdict};
pub use warnings::{
    CORRECTION_LIMIT, DrawsMade, FEW_DRAWS, NEWTON_SHARE, REDRAWN_SHARE, SPEED_LIMIT, VIRIAL_ERRORS,
    VIRIAL_SLACK, VIRIAL_SLACK_FOUND, Warning, warnings,
};
