//! The exponential map: which integrator, and the one place that calls them.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::leapfrog::ConstrainedLeapfrog;
use super::metric::{LossMetric, Metric, check_strength};
use super::path::PathRecorder;
use super::{Counters, Diagnostics, Geodesic};
use crate::Result;
use crate::objective::TwiceDifferentiable;
use crate::ode::DormandPrince;

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

/// Follows the geodesic of I + a²∇L∇Lᵀ (a = `strength`) from `theta` with velocity `v` to t = 1.
///
/// `path_points` evenly spaced points are recorded for plots (0 for none). A geodesic that could
/// not be finished is a result with its status, not an error.
pub fn exponential_map<O: TwiceDifferentiable + ?Sized>(
    objective: &O,
    strength: f64,
    integrator: &Integrator,
    theta: &[f64],
    v: &[f64],
    path_points: usize,
) -> Result<Geodesic> {
    exponential_map_until(objective, strength, integrator, theta, v, path_points, None)
}

/// [`exponential_map`] with a flag that is looked at before every step: once set, the geodesic ends
/// where it is, with [`Status::Stopped`](super::Status::Stopped).
pub fn exponential_map_until<O: TwiceDifferentiable + ?Sized>(
    objective: &O,
    strength: f64,
    integrator: &Integrator,
    theta: &[f64],
    v: &[f64],
    path_points: usize,
    stop: Option<&AtomicBool>,
) -> Result<Geodesic> {
    match integrator {
        Integrator::ConstrainedLeapfrog(leapfrog) => {
            leapfrog.exponential_map_until(objective, strength, theta, v, path_points, stop)
        }
        Integrator::DormandPrince(solver) => {
            let metric = LossMetric::new(objective, strength)?;
            geodesic_of_metric_until(&metric, solver, theta, v, path_points, stop)
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
) -> Result<Geodesic> {
    geodesic_of_metric_until(metric, solver, theta, v, path_points, None)
}

/// [`geodesic_of_metric`] with a flag that is looked at before every step.
pub fn geodesic_of_metric_until(
    metric: &dyn Metric,
    solver: &DormandPrince,
    theta: &[f64],
    v: &[f64],
    path_points: usize,
    stop: Option<&AtomicBool>,
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
    let report = solver.solve_until(&mut right_hand_side, (0.0, 1.0), &mut state, &mut observer, stop);
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
