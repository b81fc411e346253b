//! Training: from any start to a minimum of an objective, full batch or in mini-batches.
//!
//! | to get | use |
//! |---|---|
//! | the paper's θ* | [`gradient_descent`], [`adam`] or [`minibatch`] with its settings |
//! | a true minimum (MAP) | any of these, then [`lbfgs`] |
//! | the same without thinking about settings | [`Recipe`] |
//!
//! The update rules ([`Rule`]) and learning rates ([`Schedule`]) are shared by full batch and
//! mini-batch. A run that diverges or gets stuck is data: see [`TrainReport::status`]. `Err` is
//! for settings that make no sense.

mod full_batch;
mod lbfgs;
mod minibatch;
mod network;
mod recipe;
mod rule;
mod run;
mod schedule;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use full_batch::{Adam, GradientDescent, adam, gradient_descent};
pub use lbfgs::{Lbfgs, lbfgs};
pub(crate) use minibatch::minibatch_seen;
pub use minibatch::{BatchProbe, MiniBatch, Stochastic, minibatch};
pub use recipe::Recipe;
pub use rule::Rule;
pub use schedule::Schedule;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainStatus {
    /// The gradient norm fell to the tolerance.
    Converged,
    /// All iterations or epochs asked for were made.
    IterationLimit,
    /// The line search found no better point: usually the limit of the arithmetic is reached.
    NoProgress,
    /// A value or gradient was not finite; the parameters are back at the best finite point.
    NonFinite,
    /// A stop was requested; the parameters are where the observer saw them last.
    Stopped,
}

/// What a run did and where it ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainReport {
    /// Objective (over all data) at the returned parameters.
    pub value: f64,
    /// Norm of its gradient there, without `gradient_scale`.
    pub gradient_norm: f64,
    /// Evaluations of value and gradient; each mini-batch counts as one.
    pub evaluations: usize,
    /// Completed iterations, or epochs.
    pub iterations: usize,
    /// How the run ended.
    pub status: TrainStatus,
    /// The values the observer saw, thinned to every `history_stride`-th, and the last one.
    pub history: Vec<f64>,
    /// Observations from one entry of `history` to the next (the last gap may be shorter).
    pub history_stride: usize,
}

/// What the observer of a [`crate::Control`] sees after each iteration or epoch.
///
/// Full-batch methods report every point before they leave it, from iteration 0 at the start;
/// mini-batch training reports the means over the epoch just completed, from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Completed iterations, or epochs.
    pub iteration: usize,
    /// How many there can be.
    pub total: usize,
    /// Objective.
    pub value: f64,
    /// Norm of its gradient.
    pub gradient_norm: f64,
}
