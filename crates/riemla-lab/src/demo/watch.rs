//! What a caller can see of a running demonstration.

use riemla::posterior::Method;

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Minimising the loss.
    Training,
    /// Fitting the Gaussian and its prior precision.
    Laplace,
    /// Drawing from a posterior.
    Drawing(Method),
    /// Predicting with the draws of a posterior.
    Predicting(Method),
}

/// Told of progress, from any thread.
pub trait Watch: Sync {
    /// A stage begins; `total` steps of it can be expected, or 0 if that is unknown.
    fn begin(&self, stage: Stage, total: u64);
    /// One step of the stage is done.
    fn step(&self);
}

/// Looks away.
pub struct Silent;

impl Watch for Silent {
    fn begin(&self, _: Stage, _: u64) {}
    fn step(&self) {}
}
