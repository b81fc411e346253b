//! The exponential map: which integrator, and the one place that calls them.

use serde::{Deserialize, Serialize};

use super::leapfrog::ConstrainedLeapfrog;
use super::metric::{LossMetric, Metric};
use super::path::PathRecorder;
use super::{Counters, Diagnostics, Geodesic, LossGeometry};
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
    let geometry = geometry.into();
    geometry.check(objective.dim())?;
    check_ends(objective.dim(), theta, v)?;
    let v = geometry.lengthened(v);
    let geodesic = match integrator {
        Integrator::ConstrainedLeapfrog(leapfrog) => {
            leapfrog.follow(objective, geometry, theta, &v, path_points, control)?
        }
        Integrator::DormandPrince(solver) => {
            let metric = LossMetric::new(second_derivatives(objective, "Dormand-Prince")?, geometry)?;
            geodesic_of_metric(&metric, solver, theta, &v, path_points, control)?
        }
    };
    check_failure(objective)?;
    Ok(geodesic)
}

/// Checks a start point and velocity against the dimension.
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
