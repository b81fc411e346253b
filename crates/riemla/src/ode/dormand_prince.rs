//! Dormand-Prince 5(4) with the step control of scipy's RK45, so that evaluation counts and end
//! points can be compared with scipy's.

use super::initial_step::{Setting, initial_step};
use super::tableau::Workspace;
use super::{Observer, OdeReport, Rhs, Status};
use crate::error::{Error, check_positive};
use crate::{Control, Result};
use serde::{Deserialize, Serialize};

const SAFETY: f64 = 0.9;
const MIN_FACTOR: f64 = 0.2;
const MAX_FACTOR: f64 = 10.0;
/// −1 / (order of the error estimate + 1).
const ERROR_EXPONENT: f64 = -0.2;

/// Explicit Runge-Kutta of order 5 with a fourth-order error estimate and variable steps.
///
/// A step is accepted when the root mean square over the variables of
/// error / (atol + rtol·max(|y|, |y_new|)) is below 1.
///
/// ```
/// use riemla::Control;
/// use riemla::ode::{DormandPrince, Status};
/// let mut y = [1.0];
/// let solver = DormandPrince { rtol: 1e-8, atol: 1e-10, ..Default::default() };
/// let mut decay = |_t: f64, y: &[f64], dy: &mut [f64]| dy[0] = -y[0];
/// let report = solver.solve(&mut decay, 0.0, 1.0, &mut y, &mut |_, _, _| {}, Control::default());
/// assert_eq!(report.status, Status::Reached);
/// assert!((y[0] - (-1.0f64).exp()).abs() < 1e-8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DormandPrince {
    /// Relative tolerance; below 100 machine epsilons it is raised to that.
    pub rtol: f64,
    /// Absolute tolerance, not negative.
    pub atol: f64,
    /// Largest number of steps tried, accepted or not: at most 2 + 6·max_steps evaluations.
    pub max_steps: usize,
    /// Size (above zero) of the first step tried; chosen from the problem if `None`.
    pub first_step: Option<f64>,
}

impl Default for DormandPrince {
    /// scipy's tolerances 1e-3 and 1e-6, and at most 100 000 steps.
    fn default() -> Self {
        Self { rtol: 1e-3, atol: 1e-6, max_steps: 100_000, first_step: None }
    }
}

/// What a step attempt led to.
enum Attempt {
    Accepted { t: f64, next: f64 },
    Stopped(Status),
}

/// The interval and the running numbers of one integration.
struct Run {
    t: f64,
    end: f64,
    direction: f64,
    rtol: f64,
    atol: f64,
    trials_left: usize,
    rejections: usize,
}

impl DormandPrince {
    /// Checks the settings: `rtol` and `atol` finite and not negative, `first_step` above zero.
    pub fn validate(&self) -> Result<()> {
        for (what, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::range(what, value, "finite and not negative"));
            }
        }
        self.first_step.map_or(Ok(()), |h| check_positive("first_step", h))
    }

    /// Integrates y' = f(t, y) from `t0` to `t1` (either order).
    ///
    /// `rhs(t, y, dy)` writes f into `dy`; `y` holds the state at `t0` on entry and at the
    /// report's `t` on return. `observer(t, y, dy)` is called at the start and after each accepted
    /// step, only with finite values. A trial with a non-finite stage is cut short and repeated
    /// with a fifth of the step (scipy evaluates the remaining stages first). After a stop the
    /// integration ends with [`Status::Stopped`].
    pub fn solve(
        &self,
        rhs: &mut Rhs<'_>,
        t0: f64,
        t1: f64,
        y: &mut [f64],
        observer: &mut Observer<'_>,
        control: Control<'_>,
    ) -> OdeReport {
        let mut work = Workspace::new(y.len());
        let mut run = Run::new(self, t0, t1);
        let mut steps = 0;
        let status = if !work.start(rhs, t0, y) || !y.iter().chain([&t0, &t1]).all(|v| v.is_finite()) {
            Status::NonFinite
        } else {
            observer(t0, y, work.derivative());
            let mut h = self.first(&mut work, rhs, y, &run);
            loop {
                if y.is_empty() || run.t == t1 {
                    run.t = t1;
                    break Status::Reached;
                }
                if control.is_stopped() {
                    break Status::Stopped;
                }
                match run.attempt(&mut work, rhs, y, h) {
                    Attempt::Stopped(status) => break status,
                    Attempt::Accepted { t, next } => (run.t, h) = (t, next),
                }
                work.accept(y);
                steps += 1;
                observer(run.t, y, work.derivative());
            }
        };
        OdeReport { status, evaluations: work.evaluations, steps, rejections: run.rejections, t: run.t }
    }

    /// Unsigned size of the first step.
    fn first(&self, work: &mut Workspace, rhs: &mut Rhs<'_>, y: &[f64], run: &Run) -> f64 {
        let length = (run.end - run.t).abs();
        match self.first_step {
            Some(h) => h.min(length),
            None if length == 0.0 || y.is_empty() => length,
            None => {
                let Run { t, direction, rtol, atol, .. } = *run;
                initial_step(work, rhs, y, &Setting { t, length, direction, rtol, atol })
            }
        }
    }
}

impl Run {
    fn new(settings: &DormandPrince, t0: f64, t1: f64) -> Self {
        Self {
            t: t0,
            end: t1,
            direction: if t1 < t0 { -1.0 } else { 1.0 },
            rtol: settings.rtol.max(100.0 * f64::EPSILON),
            atol: settings.atol,
            trials_left: settings.max_steps,
            rejections: 0,
        }
    }

    /// Ten times the distance to the next representable time.
    fn smallest_step(&self) -> f64 {
        let next = if self.direction > 0.0 { self.t.next_up() } else { self.t.next_down() };
        10.0 * (next - self.t).abs()
    }

    /// Tries steps of unsigned size `h`, then smaller ones, until one is accepted.
    fn attempt(&mut self, work: &mut Workspace, rhs: &mut Rhs<'_>, y: &[f64], h: f64) -> Attempt {
        let smallest = self.smallest_step();
        let mut size = h.max(smallest);
        let mut largest_factor = MAX_FACTOR;
        let mut failure = Status::StepTooSmall;
        while size >= smallest {
            if self.trials_left == 0 {
                return Attempt::Stopped(Status::StepLimit);
            }
            self.trials_left -= 1;
            let target = self.t + size * self.direction;
            let t = if self.direction * (target - self.end) > 0.0 { self.end } else { target };
            let step = t - self.t;
            let finite = work.trial(rhs, self.t, y, step);
            let error = if finite { work.error_norm(y, step, self.rtol, self.atol) } else { f64::NAN };
            // error = 0 gives an infinite factor, NaN one that min and max ignore.
            let factor = SAFETY * error.powf(ERROR_EXPONENT);
            if error < 1.0 {
                return Attempt::Accepted { t, next: step.abs() * factor.min(largest_factor) };
            }
            failure = if error.is_finite() { Status::StepTooSmall } else { Status::NonFinite };
            size = step.abs() * factor.max(MIN_FACTOR);
            largest_factor = 1.0;
            self.rejections += 1;
        }
        Attempt::Stopped(failure)
    }
}

#[cfg(test)]
#[path = "dormand_prince_tests.rs"]
mod tests;
