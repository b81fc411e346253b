//! The constrained leapfrog: geodesics by gradients only, on the graph of the loss.
//!
//! A geodesic of P + a²∇L∇Lᵀ is a free particle (θ, z) held on the graph z = aL(θ): q̈ = λ(−P⁻¹a∇L, 1), with
//! vᵀPw for the inner product of the θ. Each step (`particle.rs`) costs little more than one value with its
//! gradient; here is how long the steps are: limited by their error and by how far the normal of the graph
//! turns. Measurements and refused variants: docs/decisions/0004-constrained-leapfrog.md and
//! 0024-one-gradient-per-step.md.

use serde::{Deserialize, Serialize};

use super::constraint::{Solution, Unsolved};
use super::particle::Particle;
use super::path::PathRecorder;
use super::{Diagnostics, Geodesic, LossGeometry, Status};
use crate::objective::Objective;
use crate::{Control, Error, Result};

/// Settings of the constrained leapfrog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConstrainedLeapfrog {
    /// Local error allowed per step, relative to the speed; three times this in the preconditioned metric.
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
const LARGEST_GROWTH: f64 = 1.5;
const LARGEST_SHRINK: f64 = 0.2;
/// Step after a constraint that could not be solved.
const CONSTRAINT_SHRINK: f64 = 0.4;
/// Reject a step whose error is above this many tolerances.
const REJECT: f64 = 3.0;
/// Reject a step that changes the speed by more than this many tolerances, and halve it: a difference of normals
/// that are too far apart.
const SPEED: f64 = 100.0;
const SPEED_SHRINK: f64 = 0.5;
/// First step: turn by about this angle.
const FIRST_ANGLE: f64 = 0.1;
/// Relative change of the constraint's slope that the next step should have: the normal of the graph may turn
/// only so far within a step.
const TURN: f64 = 0.15;
/// Error of the velocity that a trial off the graph may cause, in tolerances.
const ACCEPT: f64 = 75.0;
/// Tolerances of the preconditioned metric, whose geodesics turn more gently: the end loss is still right to 1e-3,
/// while in the plain metric errors excite oscillations across the valley.
const PRECONDITIONED: f64 = 3.0;
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

    /// The geodesic from `theta` with velocity `v`, both checked by [`super::exponential_map`].
    pub(super) fn follow(
        &self,
        objective: &dyn Objective,
        geometry: LossGeometry<'_>,
        theta: &[f64],
        v: &[f64],
        path_points: usize,
        control: Control<'_>,
    ) -> Result<Geodesic> {
        self.validate()?;
        let mut path = PathRecorder::new(path_points);
        let particle = Particle::start(geometry, theta, v, objective.probe());
        path.push(0.0, &particle.theta, &particle.v);
        let (loss_start, finite) = (particle.loss, particle.is_finite());
        let slack = if geometry.preconditioner.is_some() { PRECONDITIONED } else { 1.0 };
        let mut run =
            Run { tolerance: slack * self.tolerance, settings: self, control, particle, t: 0.0, path };
        let status = if !finite {
            Status::NonFinite
        } else if run.particle.speed == 0.0 {
            run.rest()
        } else if let Some(n) = self.fixed_steps {
            run.fixed(n)
        } else {
            run.adaptive()
        };
        let mut particle = run.particle;
        let speed = particle.speed;
        match self.fixed_steps {
            None => particle.settle(),
            Some(_) => particle.settle_loss(),
        }
        // The last move after a trial may have left the domain.
        let left = status == Status::Reached && !particle.loss.is_finite();
        let status = if left { Status::NonFinite } else { status };
        let loss_bound = if speed > 0.0 { speed / geometry.strength } else { 0.0 };
        let mut diagnostics =
            Diagnostics::new(loss_bound, speed, particle.measured_speed(), loss_start, particle.loss);
        diagnostics.speed_correction = particle.correction;
        Ok(Geodesic {
            t: run.t,
            status,
            counters: particle.counters,
            diagnostics,
            path: run.path.finish(),
            end: particle.theta,
            velocity: particle.v,
        })
    }
}

/// One curve being followed.
struct Run<'a> {
    settings: &'a ConstrainedLeapfrog,
    tolerance: f64,
    control: Control<'a>,
    particle: Particle<'a>,
    t: f64,
    path: PathRecorder,
}

impl Run<'_> {
    /// Without velocity the particle stays where it is.
    fn rest(&mut self) -> Status {
        self.arrive(1.0);
        Status::Reached
    }

    fn arrive(&mut self, t: f64) {
        self.t = t;
        self.path.push(t, &self.particle.theta, &self.particle.v);
    }

    fn fixed(&mut self, n: usize) -> Status {
        let h = 1.0 / n as f64;
        for i in 0..n {
            if self.control.is_stopped() {
                return Status::Stopped;
            }
            let solution = match self.particle.position(h, 0.0, MAX_TRIALS_TIGHT) {
                Ok(solution) => solution,
                Err(Unsolved::NonFinite) => return Status::NonFinite,
                Err(Unsolved::NoRoot) => return Status::StepTooSmall,
            };
            if !self.particle.velocity(h, &solution).is_finite() {
                return Status::NonFinite;
            }
            self.particle.accept(h, &solution);
            self.arrive((i + 1) as f64 / n as f64);
        }
        Status::Reached
    }

    fn adaptive(&mut self) -> Status {
        let mut h = (FIRST_ANGLE / self.particle.turning()).min(0.1);
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
            let attempt = self.try_step(h);
            finite = match &attempt {
                Ok((_, error)) => error.is_finite(),
                Err(why) => *why != Unsolved::NonFinite,
            };
            let (solution, factor) = match self.judge(attempt.ok()) {
                Ok(accepted) => accepted,
                Err(shrink) => {
                    self.particle.reject();
                    h *= shrink;
                    may_grow = false;
                    continue;
                }
            };
            self.particle.accept(h, &solution);
            self.particle.restore_speed();
            let rest = 1.0 - self.t;
            self.arrive(if h >= rest { 1.0 } else { self.t + h });
            if self.t >= 1.0 {
                return Status::Reached;
            }
            let growth = if may_grow { LARGEST_GROWTH } else { 1.0 };
            h *= factor.min(TURN / solution.turn).clamp(LARGEST_SHRINK, growth);
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

    /// A step without committing to it, and its local error relative to the speed.
    fn try_step(&mut self, h: f64) -> std::result::Result<(Solution, f64), Unsolved> {
        let solution = self.particle.position(h, ACCEPT * self.tolerance, MAX_TRIALS)?;
        let error = self.particle.velocity(h, &solution);
        self.particle.curve(h, &solution);
        Ok((solution, error))
    }

    /// An accepted attempt with the factor its error suggests for the next step; or the factor for the
    /// next attempt.
    fn judge(&self, attempt: Option<(Solution, f64)>) -> std::result::Result<(Solution, f64), f64> {
        let tolerance = self.tolerance;
        let Some((solution, error)) = attempt else { return Err(CONSTRAINT_SHRINK) };
        let factor = SAFETY * (tolerance / error).cbrt();
        if !error.is_finite() {
            Err(LARGEST_SHRINK)
        } else if error > REJECT * tolerance {
            Err(factor.clamp(LARGEST_SHRINK, SAFETY))
        } else if self.particle.speed_error() > SPEED * tolerance {
            Err(SPEED_SHRINK)
        } else {
            Ok((solution, factor))
        }
    }
}
