//! The exponential map: which integrator, and the one place that calls them.

use serde::{Deserialize, Serialize};

use super::leapfrog::ConstrainedLeapfrog;
use super::metric::{LossMetric, Metric, check_strength};
use super::path::PathRecorder;
use super::preconditioned::corrected_tangent;
use super::{Counters, Diagnostics, Geodesic, Whitened};
use crate::curvature::Precision;
use crate::objective::{Objective, check_failure, second_derivatives};
use crate::ode::DormandPrince;
use crate::{Control, Result};

/// How a geodesic is integrated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Integrator {
    /// The default: gradients only, exact speed, on the graph of the loss.
    ConstrainedLeapfrog(ConstrainedLeapfrog),
    /// The paper's solver, on the first-order system in position and velocity.
    DormandPrince(DormandPrince),
}

impl Integrator {
    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        match self {
            Integrator::ConstrainedLeapfrog(leapfrog) => leapfrog.validate(),
            Integrator::DormandPrince(solver) => solver.validate(),
        }
    }
}

impl Default for Integrator {
    fn default() -> Self {
        Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::default())
    }
}

/// The metric that a loss L defines: I + a²∇L∇Lᵀ, or P + a²∇L∇Lᵀ with a precision P.
///
/// A plain number is the first with that strength a.
#[derive(Debug, Clone, Copy)]
pub struct LossGeometry<'a> {
    /// a; 1 is the paper's.
    pub strength: f64,
    /// P. Tangents are then lengthened so that on a Gaussian target with precision P the geodesic from
    /// the mode with velocity v ends at θ* + v.
    pub preconditioner: Option<&'a dyn Precision>,
}

impl From<f64> for LossGeometry<'_> {
    fn from(strength: f64) -> Self {
        Self { strength, preconditioner: None }
    }
}

/// Follows the geodesic of a loss metric from `theta` with velocity `v` to t = 1.
///
/// `path_points` evenly spaced points are recorded for plots (0 for none). A geodesic that could
/// not be finished is a result with its status, not an error; after a stop the status is
/// [`Status::Stopped`](super::Status::Stopped). The error of an objective that failed comes out.
pub fn exponential_map<'a>(
    objective: &dyn Objective,
    geometry: impl Into<LossGeometry<'a>>,
    integrator: &Integrator,
    theta: &[f64],
    v: &[f64],
    path_points: usize,
    control: Control<'_>,
) -> Result<Geodesic> {
    let LossGeometry { strength, preconditioner } = geometry.into();
    let geodesic = match preconditioner {
        None => plain(objective, strength, integrator, theta, v, path_points, control)?,
        Some(precision) => {
            check_ends(objective.dim(), theta, v)?;
            let whitened = Whitened::new(objective, theta, precision)?;
            let z = corrected_tangent(strength, precision, v)?;
            let origin = vec![0.0; theta.len()];
            let mut geodesic = plain(&whitened, strength, integrator, &origin, &z, path_points, control)?;
            whitened.back(&mut geodesic);
            geodesic
        }
    };
    check_failure(objective)?;
    Ok(geodesic)
}

fn plain(
    objective: &dyn Objective,
    strength: f64,
    integrator: &Integrator,
    theta: &[f64],
    v: &[f64],
    path_points: usize,
    control: Control<'_>,
) -> Result<Geodesic> {
    match integrator {
        Integrator::ConstrainedLeapfrog(leapfrog) => {
            leapfrog.exponential_map(objective, strength, theta, v, path_points, control)
        }
        Integrator::DormandPrince(solver) => {
            let metric = LossMetric::new(second_derivatives(objective, "Dormand-Prince")?, strength)?;
            geodesic_of_metric(&metric, solver, theta, v, path_points, control)
        }
    }
}

/// Checks a start point and velocity against the objective.
pub(super) fn check_start(dim: usize, strength: f64, theta: &[f64], v: &[f64]) -> Result<()> {
    check_strength(strength)?;
    check_ends(dim, theta, v)
}

fn check_ends(dim: usize, theta: &[f64], v: &[f64]) -> Result<()> {
    for (what, values) in [("start of the geodesic", theta), ("initial velocity", v)] {
        crate::error::check_len(what, dim, values.len())?;
        crate::error::check_finite(what, values)?;
    }
    Ok(())
}

/// Follows the geodesic of any metric from `theta` with velocity `v` to t = 1.
///
/// The counters call every acceleration a gradient and a curvature.
pub fn geodesic_of_metric(
    metric: &dyn Metric,
    solver: &DormandPrince,
    theta: &[f64],
    v: &[f64],
    path_points: usize,
    control: Control<'_>,
) -> Result<Geodesic> {
    check_ends(metric.dim(), theta, v)?;
    solver.validate()?;
    let k = theta.len();
    let mut state: Vec<f64> = theta.iter().chain(v).copied().collect();
    let mut path = PathRecorder::new(path_points);
    let mut right_hand_side = |_t: f64, y: &[f64], dy: &mut [f64]| {
        let (position, velocity) = y.split_at(k);
        let (d_position, d_velocity) = dy.split_at_mut(k);
        d_position.copy_from_slice(velocity);
        metric.acceleration(position, velocity, d_velocity);
    };
    let mut observer = |t: f64, y: &[f64], _: &[f64]| path.push(t, &y[..k], &y[k..]);
    let report = solver.solve(&mut right_hand_side, 0.0, 1.0, &mut state, &mut observer, control);
    let velocity = state.split_off(k);
    let counters = Counters {
        gradients: report.evaluations,
        curvatures: report.evaluations,
        steps: report.steps,
        rejections: report.rejections,
        values: 0,
    };
    let speed = |theta: &[f64], v: &[f64]| metric.inner(theta, v, v).sqrt();
    let (start, end) = (speed(theta, v), speed(&state, &velocity));
    let losses = (metric.loss(theta), metric.loss(&state));
    let diagnostics = Diagnostics::new(metric.loss_bound(start), start, end, losses.0, losses.1);
    let path = path.finish();
    Ok(Geodesic { end: state, velocity, t: report.t, status: report.status, counters, diagnostics, path })
}

impl Diagnostics {
    pub(super) fn new(loss_bound: f64, speed: f64, end_speed: f64, loss_start: f64, loss_end: f64) -> Self {
        let speed_drift = if speed > 0.0 { (end_speed / speed - 1.0).abs() } else { 0.0 };
        Self { speed, speed_drift, speed_correction: 0.0, loss_start, loss_end, loss_bound }
    }
}
