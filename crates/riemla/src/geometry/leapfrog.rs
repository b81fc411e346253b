//! The constrained leapfrog (RATTLE): geodesics by gradients only, on the graph of the loss.
//!
//! A geodesic of I + a²∇L∇Lᵀ is a free particle (θ, z) held on the graph z = aL(θ): q̈ = λ(−a∇L, 1).
//! Each step finds the scalar λ that ends on the graph (values only, along a line), then projects
//! the velocity onto the tangent plane there (one gradient). Symmetric, second order. A small
//! residual of the constraint is carried along and made good in the next step, so that it does not
//! add up; steps are limited by the error and by how far the normal turns. Measurements and refused
//! variants: docs/decisions/0004-constrained-leapfrog.md.

use serde::{Deserialize, Serialize};

use super::constraint::{Constraint, Solution, Unsolved};
use super::exponential::check_start;
use super::path::PathRecorder;
use super::{Counters, Diagnostics, Geodesic, Status};
use crate::linalg::vector::{axpy, dot, scale};
use crate::objective::{Objective, Probe};
use crate::{Control, Error, Result};

/// Settings of the constrained leapfrog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConstrainedLeapfrog {
    /// Local error allowed per step, relative to the speed.
    pub tolerance: f64,
    /// Largest number of steps tried.
    pub max_steps: usize,
    /// Take exactly this many equal steps instead, with the constraint solved to rounding and
    /// without rescaling the speed: the plain symmetric method, for measuring it.
    pub fixed_steps: Option<usize>,
}

impl Default for ConstrainedLeapfrog {
    fn default() -> Self {
        Self { tolerance: 1e-5, max_steps: 100_000, fixed_steps: None }
    }
}

/// Growth and shrinkage of the step.
const SAFETY: f64 = 0.9;
const LARGEST_GROWTH: f64 = 2.0;
const LARGEST_SHRINK: f64 = 0.2;
/// Step after a constraint that could not be solved.
const CONSTRAINT_SHRINK: f64 = 0.4;
/// Reject a step whose error is above this many tolerances.
const REJECT: f64 = 1.5;
/// First step: turn by about this angle.
const FIRST_ANGLE: f64 = 0.1;
/// Residual of the constraint that is accepted, relative to tolerance, step, speed and slope.
const ACCEPT: f64 = 50.0;
/// Largest contraction of the constraint's first correction that the next step should have: the
/// normal of the graph may turn only so far within a step.
const CONTRACTION: f64 = 0.15;
/// Rounding of a loss (a sum over many data), relative to its size.
const ROUNDING: f64 = 256.0 * f64::EPSILON;
const MAX_TRIALS: usize = 6;
const MAX_TRIALS_TIGHT: usize = 60;

impl ConstrainedLeapfrog {
    /// With the given tolerance, otherwise the defaults.
    pub fn with_tolerance(tolerance: f64) -> Self {
        Self { tolerance, ..Self::default() }
    }

    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        crate::error::check_positive("tolerance of the constrained leapfrog", self.tolerance)?;
        if self.max_steps == 0 || self.fixed_steps == Some(0) {
            return Err(Error::range("number of steps", 0, "at least 1"));
        }
        Ok(())
    }

    /// The exponential map of any objective; see [`super::exponential_map`].
    pub fn exponential_map(
        &self,
        objective: &dyn Objective,
        strength: f64,
        theta: &[f64],
        v: &[f64],
        path_points: usize,
        control: Control<'_>,
    ) -> Result<Geodesic> {
        check_start(objective.dim(), strength, theta, v)?;
        self.validate()?;
        let mut probe = objective.probe();
        let mut path = PathRecorder::new(path_points);
        let mut run = Run::start(self, strength, theta, v, &mut *probe);
        run.control = control;
        path.push(0.0, &run.theta, &run.v);
        let (loss_start, start_finite) = (run.loss, run.is_finite());
        let status = if !start_finite {
            Status::NonFinite
        } else if run.speed == 0.0 {
            run.rest(&mut path)
        } else if let Some(n) = self.fixed_steps {
            run.fixed(n, &mut *probe, &mut path)
        } else {
            run.adaptive(&mut *probe, &mut path)
        };
        let end_speed = (dot(&run.v, &run.v) + dot(&run.g, &run.v).powi(2)).sqrt();
        let loss_bound = if run.speed > 0.0 { run.speed / strength } else { 0.0 };
        let mut diagnostics = Diagnostics::new(loss_bound, run.speed, end_speed, loss_start, run.loss);
        diagnostics.speed_correction = run.correction;
        Ok(Geodesic {
            t: run.t,
            status,
            counters: run.counters,
            diagnostics,
            path: path.finish(),
            end: run.theta,
            velocity: run.v,
        })
    }
}

/// A step, or why there is none.
type Attempt<T> = std::result::Result<T, Unsolved>;

/// The moving particle. Heights and gradients are those of aL.
struct Run<'a> {
    settings: &'a ConstrainedLeapfrog,
    control: Control<'a>,
    strength: f64,
    speed: f64,
    t: f64,
    theta: Vec<f64>,
    v: Vec<f64>,
    g: Vec<f64>,
    gg: f64,
    loss: f64,
    z: f64,
    z_dot: f64,
    /// Multiplier at the end of the last step: where the next search starts.
    lambda: f64,
    /// The same for the step being tried.
    next_lambda: f64,
    /// Factor on the step after a rejection.
    shrink: f64,
    /// Largest relative correction of the speed so far.
    correction: f64,
    counters: Counters,
    base: Vec<f64>,
    direction: Vec<f64>,
    next_v: Vec<f64>,
    next_g: Vec<f64>,
}

impl<'a> Run<'a> {
    fn start(
        settings: &'a ConstrainedLeapfrog,
        strength: f64,
        theta: &[f64],
        v: &[f64],
        probe: &mut dyn Probe,
    ) -> Self {
        let zeros = vec![0.0; theta.len()];
        let mut run = Self {
            settings,
            control: Control::default(),
            strength,
            speed: 0.0,
            t: 0.0,
            theta: theta.to_vec(),
            v: v.to_vec(),
            g: zeros.clone(),
            gg: 0.0,
            loss: 0.0,
            z: 0.0,
            z_dot: 0.0,
            lambda: 0.0,
            next_lambda: 0.0,
            shrink: CONSTRAINT_SHRINK,
            correction: 0.0,
            counters: Counters::default(),
            base: zeros.clone(),
            direction: zeros.clone(),
            next_v: zeros.clone(),
            next_g: zeros,
        };
        run.loss = probe.value(theta);
        run.z = strength * run.loss;
        probe.gradient(&mut run.g);
        scale(strength, &mut run.g);
        run.gg = dot(&run.g, &run.g);
        run.z_dot = dot(&run.g, v);
        run.speed = (dot(v, v) + run.z_dot * run.z_dot).sqrt();
        run.lambda = run.first_multiplier(probe);
        run.counters.gradients = 2;
        run
    }

    /// λ = vᵀHv/(1 + g·g) at the start, by a difference of two gradients.
    fn first_multiplier(&mut self, probe: &mut dyn Probe) -> f64 {
        let length = dot(&self.v, &self.v).sqrt();
        if length == 0.0 {
            return 0.0;
        }
        let epsilon =
            1e-4 * (1.0 + dot(&self.theta, &self.theta).sqrt() / (self.theta.len() as f64).sqrt()) / length;
        self.base.copy_from_slice(&self.theta);
        axpy(epsilon, &self.v, &mut self.base);
        probe.value(&self.base);
        probe.gradient(&mut self.next_g);
        let curvature = (self.strength * dot(&self.next_g, &self.v) - self.z_dot) / epsilon;
        let lambda = curvature / (1.0 + self.gg);
        if lambda.is_finite() { lambda } else { 0.0 }
    }

    fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.speed.is_finite()
    }

    /// Without velocity the particle stays where it is.
    fn rest(&mut self, path: &mut PathRecorder) -> Status {
        self.t = 1.0;
        path.push(1.0, &self.theta, &self.v);
        Status::Reached
    }

    fn fixed(&mut self, n: usize, probe: &mut dyn Probe, path: &mut PathRecorder) -> Status {
        let h = 1.0 / n as f64;
        for i in 0..n {
            if self.control.is_stopped() {
                return Status::Stopped;
            }
            let solution = match self.position(h, 0.0, MAX_TRIALS_TIGHT, probe) {
                Ok(solution) => solution,
                Err(Unsolved::NonFinite) => return Status::NonFinite,
                Err(Unsolved::NoRoot) => return Status::StepTooSmall,
            };
            let error = self.velocity(h, &solution, probe);
            if !error.is_finite() {
                return Status::NonFinite;
            }
            self.accept(h, solution, false);
            self.t = (i + 1) as f64 / n as f64;
            path.push(self.t, &self.theta, &self.v);
        }
        Status::Reached
    }

    fn adaptive(&mut self, probe: &mut dyn Probe, path: &mut PathRecorder) -> Status {
        let turning = self.lambda.abs() * (1.0 + self.gg).sqrt();
        let mut h = (FIRST_ANGLE * self.speed / turning).min(0.1);
        let mut may_grow = true;
        let mut finite = true;
        for _ in 0..self.settings.max_steps {
            if self.control.is_stopped() {
                return Status::Stopped;
            }
            h = self.fit_to_end(h);
            if h < f64::EPSILON {
                return if finite { Status::StepTooSmall } else { Status::NonFinite };
            }
            let attempt = self.try_step(h, probe);
            finite = match &attempt {
                Ok((_, error)) => error.is_finite(),
                Err(why) => *why != Unsolved::NonFinite,
            };
            let Some((solution, factor)) = self.judge(attempt.ok()) else {
                h *= self.shrink;
                may_grow = false;
                continue;
            };
            let steepest = CONTRACTION / solution.contraction;
            self.accept(h, solution, true);
            path.push(self.t, &self.theta, &self.v);
            if self.t >= 1.0 {
                return Status::Reached;
            }
            let growth = if may_grow { LARGEST_GROWTH } else { 1.0 };
            h *= factor.min(steepest).clamp(LARGEST_SHRINK, growth);
            may_grow = true;
        }
        Status::StepLimit
    }

    /// Shortens a step so that the end is met without a tiny last step.
    fn fit_to_end(&self, h: f64) -> f64 {
        let rest = 1.0 - self.t;
        if h >= rest * (1.0 - 1e-9) {
            rest
        } else if 2.0 * h > rest {
            0.5 * rest
        } else {
            h
        }
    }

    /// An accepted attempt with the factor its error suggests for the next step; or `None`, and the
    /// factor for the next attempt in `shrink`.
    fn judge(&mut self, attempt: Option<(Solution, f64)>) -> Option<(Solution, f64)> {
        let tolerance = self.settings.tolerance;
        self.shrink = CONSTRAINT_SHRINK;
        if let Some((solution, error)) = attempt {
            let factor = SAFETY * (tolerance / error).cbrt();
            if error <= REJECT * tolerance {
                return Some((solution, factor));
            }
            self.shrink =
                if error.is_finite() { factor.clamp(LARGEST_SHRINK, SAFETY) } else { LARGEST_SHRINK };
        }
        self.counters.rejections += 1;
        // Back onto the graph: in a short step, undoing the leftover distance would be a kick.
        self.z = self.strength * self.loss;
        None
    }

    /// A step without committing to it; the error is relative to the speed.
    fn try_step(&mut self, h: f64, probe: &mut dyn Probe) -> Attempt<(Solution, f64)> {
        let accept = ACCEPT * self.settings.tolerance * h * self.speed * (1.0 + self.gg).sqrt();
        let solution = self.position(h, accept, MAX_TRIALS, probe)?;
        let error = self.velocity(h, &solution, probe);
        Ok((solution, error))
    }

    /// Finds the end position of a step: the probe's current point afterwards.
    fn position(
        &mut self,
        h: f64,
        accept: f64,
        max_trials: usize,
        probe: &mut dyn Probe,
    ) -> Attempt<Solution> {
        self.base.copy_from_slice(&self.theta);
        axpy(h, &self.v, &mut self.base);
        let half_square = 0.5 * h * h;
        for (d, g) in self.direction.iter_mut().zip(&self.g) {
            *d = -half_square * g;
        }
        probe.set_line(&self.base, &self.direction);
        let constraint = Constraint {
            strength: self.strength,
            rise: self.z + h * self.z_dot,
            half_square,
            slope: half_square * (1.0 + self.gg),
            accept,
            rounding: ROUNDING * (self.z.abs() + h * self.z_dot.abs() + half_square * self.lambda.abs()),
            max_trials,
        };
        constraint.solve(self.lambda, probe, &mut self.counters.values)
    }

    /// Gradient at the new position and the projected velocity there; returns the local error.
    fn velocity(&mut self, h: f64, solution: &Solution, probe: &mut dyn Probe) -> f64 {
        probe.gradient(&mut self.next_g);
        self.counters.gradients += 1;
        scale(self.strength, &mut self.next_g);
        let lambda = solution.lambda;
        self.next_v.copy_from_slice(&self.v);
        axpy(-0.5 * h * lambda, &self.g, &mut self.next_v);
        let z_dot = self.z_dot + 0.5 * h * lambda;
        let gg = dot(&self.next_g, &self.next_g);
        let mu = (dot(&self.next_g, &self.next_v) - z_dot) / (1.0 + gg);
        axpy(-mu, &self.next_g, &mut self.next_v);
        // q̈ at both ends: their difference, times h²/12, is the error of the trapezoidal rule.
        let lambda_end = 2.0 * mu / h;
        self.next_lambda = lambda_end;
        let difference: f64 =
            self.g.iter().zip(&self.next_g).map(|(g, g1)| (lambda_end * g1 - lambda * g).powi(2)).sum();
        let turn = (difference + (lambda - lambda_end).powi(2)).sqrt();
        h * h * turn / (12.0 * self.speed)
    }

    /// Moves to the end of the step that `position` and `velocity` computed.
    fn accept(&mut self, h: f64, solution: Solution, rescale: bool) {
        axpy(solution.lambda, &self.direction, &mut self.base);
        std::mem::swap(&mut self.theta, &mut self.base);
        std::mem::swap(&mut self.v, &mut self.next_v);
        std::mem::swap(&mut self.g, &mut self.next_g);
        self.gg = dot(&self.g, &self.g);
        self.loss = solution.value;
        self.z += h * self.z_dot + 0.5 * h * h * solution.lambda;
        self.z_dot = dot(&self.g, &self.v);
        if rescale {
            let factor = self.speed / (dot(&self.v, &self.v) + self.z_dot * self.z_dot).sqrt();
            scale(factor, &mut self.v);
            self.z_dot *= factor;
            self.correction = self.correction.max((factor - 1.0).abs());
        }
        self.lambda = self.next_lambda;
        let rest = 1.0 - self.t;
        self.t = if h >= rest { 1.0 } else { self.t + h };
        self.counters.steps += 1;
    }
}
