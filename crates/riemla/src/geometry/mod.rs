//! Riemannian geometry of the loss: metric, geodesics, exponential map.
//!
//! The metric M(θ) = I + a²∇L∇Lᵀ (a = strength) is that of the graph z = aL(θ) in ℝᴷ⁺¹. The
//! exponential map follows the geodesic c̈ = −a²∇L⟨ċ, Hċ⟩/(1 + a²‖∇L‖²) from θ* with velocity v
//! to t = 1 (paper, eq. of the geodesic; docs/notation.md). Alternatives: the
//! loss metric with the Laplace precision in place of I, and the Fisher metric.

mod constraint;
mod exponential;
mod fisher;
mod leapfrog;
mod metric;
mod normal;
mod particle;
mod path;
mod preconditioned;

pub use exponential::{Integrator, exponential_map, geodesic_of_metric};
pub use fisher::{FisherMetric, FisherSolve};
pub use leapfrog::ConstrainedLeapfrog;
pub use metric::{LossMetric, Metric};
pub(crate) use preconditioned::check_strength;
pub use preconditioned::{LossGeometry, arc_length_factor};

use serde::{Deserialize, Serialize};

pub use crate::ode::Status;

/// Work done: evaluations of the objective and steps of the integrator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Values on their own (a forward pass each).
    pub values: usize,
    /// Gradients (a forward and a reverse pass, or a reverse pass after a value).
    pub gradients: usize,
    /// Second directional derivatives vᵀHv.
    pub curvatures: usize,
    /// Accepted steps.
    pub steps: usize,
    /// Rejected steps.
    pub rejections: usize,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.values += other.values;
        self.gradients += other.gradients;
        self.curvatures += other.curvatures;
        self.steps += other.steps;
        self.rejections += other.rejections;
    }
}

/// The two invariants of a geodesic, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// √⟨v, Mv⟩ at the start: the length of the geodesic, constant along it.
    pub speed: f64,
    /// Relative change of the speed at the end of the curve. The constrained leapfrog restores the
    /// speed after every step, so that this is rounding there: see `speed_correction`.
    pub speed_drift: f64,
    /// Largest relative correction of the speed in one step; 0 for integrators that do not correct.
    #[serde(default)]
    pub speed_correction: f64,
    /// Loss at the start.
    pub loss_start: f64,
    /// Loss at the end.
    pub loss_end: f64,
    /// Largest possible |loss_end − loss_start| for the exact geodesic: speed / strength.
    pub loss_bound: f64,
}

/// A point on a geodesic.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPoint {
    /// Time in [0, 1].
    pub t: f64,
    /// Position.
    pub theta: Vec<f64>,
}

/// A geodesic from θ* with its end, what it cost and how far it can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Geodesic {
    /// Position at the end (at `t`).
    pub end: Vec<f64>,
    /// Velocity at the end.
    pub velocity: Vec<f64>,
    /// Time reached: 1 exactly when `status` is [`Status::Reached`].
    pub t: f64,
    /// How the integration ended.
    pub status: Status,
    /// What it cost.
    pub counters: Counters,
    /// Its invariants.
    pub diagnostics: Diagnostics,
    /// Evenly spaced points, if asked for.
    pub path: Vec<PathPoint>,
}
