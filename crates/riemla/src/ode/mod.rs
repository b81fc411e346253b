//! Solvers for ordinary differential equations y' = f(t, y) on slices. A leaf: knows no networks.
//!
//! A solver never fails: it returns an [`OdeReport`] whose [`Status`] says how far it came, and
//! leaves `y` at the last good point.

mod dormand_prince;
mod fixed;
mod initial_step;
mod tableau;

pub use dormand_prince::DormandPrince;
pub use fixed::fixed_steps;

use serde::{Deserialize, Serialize};

/// Right-hand side `f(t, y, dy)`: writes y' at (t, y) into `dy`, as long as `y`.
pub type Rhs<'a> = dyn FnMut(f64, &[f64], &mut [f64]) + 'a;

/// Listener `f(t, y, dy)`: sees the points of a solution and the derivatives there.
pub type Observer<'a> = dyn FnMut(f64, &[f64], &[f64]) + 'a;

/// How an integration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The end of the interval was reached.
    Reached,
    /// The allowed number of steps was used up before the end.
    StepLimit,
    /// The error could not be kept below the tolerance even by the smallest step that still
    /// changes t.
    StepTooSmall,
    /// The right-hand side or the state was not finite, however small the step.
    NonFinite,
    /// A stop was requested from outside.
    Stopped,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Reached => "reached the end",
            Self::StepLimit => "step limit",
            Self::StepTooSmall => "step too small",
            Self::NonFinite => "non-finite values",
            Self::Stopped => "stopped",
        })
    }
}

/// What an integration did. The state itself is in the caller's `y`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OdeReport {
    /// How it ended.
    pub status: Status,
    /// Calls of the right-hand side.
    pub evaluations: usize,
    /// Accepted steps.
    pub steps: usize,
    /// Steps thrown away because of the error estimate or a non-finite value.
    pub rejections: usize,
    /// The time that `y` belongs to: the end of the interval exactly when `status` is `Reached`.
    pub t: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_read_as_words_and_survive_serde() {
        for (status, words, json) in [
            (Status::Reached, "reached the end", "\"reached\""),
            (Status::StepLimit, "step limit", "\"step_limit\""),
            (Status::StepTooSmall, "step too small", "\"step_too_small\""),
            (Status::NonFinite, "non-finite values", "\"non_finite\""),
            (Status::Stopped, "stopped", "\"stopped\""),
        ] {
            assert_eq!(status.to_string(), words);
            assert_eq!(serde_json::to_string(&status).unwrap(), json);
            assert_eq!(serde_json::from_str::<Status>(json).unwrap(), status);
        }
    }
}
