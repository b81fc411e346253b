//! The free particle on the graph of the loss, and its steps.
//!
//! Position q = (θ, z) with z = aL(θ), normal n = (−w, 1) with w = P⁻¹g and g = a∇L, acceleration q̈ = λn. All
//! inner products are those of P and come from products g·w: ⟨nᵢ, nⱼ⟩ = 1 + gᵢ·wⱼ, one P⁻¹g per gradient.
//!
//! A step of RATTLE is q₁ = q + hq̇ + (h²/2)λn with λ such that q₁ is on the graph, then q̇₁ = q̇ + (h/2)λn + μn₁
//! with μ such that q̇₁ is tangent there. It is symmetric and of second order. Two things are added:
//!
//! - The gradient is taken at the first trial of λ that is close enough, and the point moved on by Newton's
//!   step with the slope that this gradient gives. What the constraint is missed by then is not known until
//!   the next step, which makes it good: the particle keeps its own z.
//! - The local errors of second-order steps are known, −(h³/6)|λn|ν̇ in position and (h³/12)|λn|ν̈ in velocity
//!   with ν = n/|n| (only their tangential parts: the constraint removes the others), and [`Particle::curve`]
//!   takes them off by differences of the normals of this step and the last: third order for no evaluation.

use super::constraint::{Constraint, Solution, Unsolved};
use super::normal::Normal;
use super::{Counters, LossGeometry};
use crate::linalg::vector::{axpy, dot, scale};
use crate::objective::Probe;

/// Rounding of a loss (a sum over many data), relative to its size.
const ROUNDING: f64 = 256.0 * f64::EPSILON;

/// The moving particle.
pub(super) struct Particle<'a> {
    pub geometry: LossGeometry<'a>,
    pub probe: Box<dyn Probe + 'a>,
    /// Speed at the start, which is kept.
    pub speed: f64,
    pub theta: Vec<f64>,
    pub v: Vec<f64>,
    /// Loss at θ when `is_settled`.
    pub loss: f64,
    /// Whether z and the normal are those at θ, and not to first order from the last trial.
    is_settled: bool,
    z: f64,
    z_dot: f64,
    /// vᵀPv, which follows from products g·w and g·v: no product with P.
    vv: f64,
    /// Multiplier at the end of the last step: where the next search starts.
    lambda: f64,
    /// Largest relative correction of the speed so far.
    pub correction: f64,
    pub counters: Counters,
    /// Normals at the start of the last step, here, and at the end of the step being tried.
    last: Normal,
    here: Normal,
    next: Normal,
    /// Length of the last step; 0 before the first.
    last_h: f64,
    base: Vec<f64>,
    direction: Vec<f64>,
    /// The end of the step being tried: velocity, vᵀPv, ż, multiplier there, and what is added to z.
    next_v: Vec<f64>,
    next_vv: f64,
    next_z_dot: f64,
    next_lambda: f64,
    lift: f64,
}

impl<'a> Particle<'a> {
    /// At `theta` with velocity `v`.
    pub(super) fn start(
        geometry: LossGeometry<'a>,
        theta: &[f64],
        v: &[f64],
        mut probe: Box<dyn Probe + 'a>,
    ) -> Self {
        let dim = theta.len();
        let mut here = Normal::zeros(dim);
        probe.set_line(theta, v);
        let loss = probe.value_and_gradient_on_line(0.0, &mut here.g);
        scale(geometry.strength, &mut here.g);
        here.settle(&geometry);
        let (vv, z_dot) = (geometry.inner(v, v), dot(&here.g, v));
        let mut particle = Self {
            geometry,
            probe,
            speed: (vv + z_dot * z_dot).sqrt(),
            theta: theta.to_vec(),
            v: v.to_vec(),
            loss,
            is_settled: true,
            z: geometry.strength * loss,
            z_dot,
            vv,
            lambda: 0.0,
            correction: 0.0,
            counters: Counters { values: 2, gradients: 2, ..Counters::default() },
            last: Normal::zeros(dim),
            here,
            next: Normal::zeros(dim),
            last_h: 0.0,
            base: vec![0.0; dim],
            direction: vec![0.0; dim],
            next_v: vec![0.0; dim],
            next_vv: 0.0,
            next_z_dot: 0.0,
            next_lambda: 0.0,
            lift: 0.0,
        };
        particle.lambda = particle.first_multiplier();
        particle
    }

    /// λ = vᵀHv/⟨n, n⟩ at the start, by a difference of two gradients on the line θ + tv.
    fn first_multiplier(&mut self) -> f64 {
        let length = dot(&self.v, &self.v).sqrt();
        if length == 0.0 {
            return 0.0;
        }
        let size = dot(&self.theta, &self.theta).sqrt() / (self.theta.len() as f64).sqrt();
        let epsilon = 1e-4 * (1.0 + size) / length;
        self.probe.value_and_gradient_on_line(epsilon, &mut self.next.g);
        let curvature = (self.geometry.strength * dot(&self.next.g, &self.v) - self.z_dot) / epsilon;
        let lambda = curvature / self.here.square();
        if lambda.is_finite() { lambda } else { 0.0 }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.speed.is_finite()
    }

    /// Angle by which the velocity turns per unit of time.
    pub(super) fn turning(&self) -> f64 {
        self.lambda.abs() * self.here.square().sqrt() / self.speed
    }

    /// The speed by its definition.
    pub(super) fn measured_speed(&self) -> f64 {
        (self.geometry.inner(&self.v, &self.v) + dot(&self.here.g, &self.v).powi(2)).sqrt()
    }

    /// Finds the end position of a step and the gradient there, with an error of the velocity of at most
    /// `accept`, relative to the speed.
    ///
    /// A trial that misses the graph by φ moves the particle on by φ/⟨n, n⟩ along n, which changes g·v by as
    /// much as the slope of the constraint changed on the way here: about φ·turn/h.
    pub(super) fn position(&mut self, h: f64, accept: f64, max_trials: usize) -> Result<Solution, Unsolved> {
        self.base.copy_from_slice(&self.theta);
        axpy(h, &self.v, &mut self.base);
        let half_square = 0.5 * h * h;
        for (d, w) in self.direction.iter_mut().zip(&self.here.w) {
            *d = -half_square * w;
        }
        self.probe.set_line(&self.base, &self.direction);
        let constraint = Constraint {
            strength: self.geometry.strength,
            rise: self.z + h * self.z_dot,
            half_square,
            normal: &self.here.w,
            flat: self.here.square(),
            accept: accept * h * self.speed * self.here.square().sqrt(),
            rounding: ROUNDING * (self.z.abs() + h * self.z_dot.abs() + half_square * self.lambda.abs()),
            max_trials,
        };
        let mut trials = 0;
        let solution = constraint.solve(self.lambda, &mut *self.probe, &mut self.next.g, &mut trials);
        self.counters.values += trials;
        self.counters.gradients += trials;
        solution
    }

    /// The projected velocity at the new position; returns the local error relative to the speed.
    pub(super) fn velocity(&mut self, h: f64, solution: &Solution) -> f64 {
        let (lambda, here, next) = (solution.lambda, &self.here, &mut self.next);
        next.settle(&self.geometry);
        self.next_v.copy_from_slice(&self.v);
        let kick = 0.5 * h * lambda;
        axpy(-kick, &here.w, &mut self.next_v);
        let slope = dot(&next.g, &self.next_v);
        let mu = (slope - self.z_dot - kick) / next.square();
        axpy(-mu, &next.w, &mut self.next_v);
        self.next_z_dot = slope - mu * next.gw;
        let half = self.vv - 2.0 * kick * self.z_dot + kick * kick * here.gw;
        self.next_vv = half - 2.0 * mu * slope + mu * mu * next.gw;
        self.next_lambda = 2.0 * mu / h;
        self.lift = 0.0;
        // q̈ at both ends: their difference, times h²/12, is the error of the trapezoidal rule. (Most of it is
        // taken off by `curve`; what is left is of the next order and not known.)
        let end = self.next_lambda;
        let difference: f64 = (here.g.iter().zip(&here.w))
            .zip(next.g.iter().zip(&next.w))
            .map(|((g, w), (g1, w1))| (end * g1 - lambda * g) * (end * w1 - lambda * w))
            .sum();
        h * h * (difference.max(0.0) + (lambda - end).powi(2)).sqrt() / (12.0 * self.speed)
    }

    /// Takes the errors of second order off the step that `position` and `velocity` computed.
    pub(super) fn curve(&mut self, h: f64, solution: &Solution) {
        let (last, here, next) = (&self.last, &self.here, &self.next);
        let here_next = dot(&next.g, &here.w);
        // Position: (h²/6)λ(n₁ − n), and along n₁ back onto the tangent plane.
        let along = h * h / 6.0 * self.next_lambda;
        self.lift = along * (here_next - next.gw) / next.square();
        axpy(along, &here.w, &mut self.base);
        axpy(-along - self.lift, &next.w, &mut self.base);
        if self.last_h == 0.0 {
            return;
        }
        // Velocity: −(h³/12)|λn|ν̈ by the divided difference of three unit normals, tangent at the end.
        let (last_next, last_here) = (dot(&next.g, &last.w), dot(&here.g, &last.w));
        let lengths = [last, here, next].map(|normal| normal.square().sqrt());
        let force = 0.5 * (solution.lambda * lengths[1] + self.next_lambda * lengths[2]);
        let amount = h * h * h / 6.0 * force / (h + self.last_h);
        let on_last = -amount / (self.last_h * lengths[0]);
        let on_here = amount * (1.0 / h + 1.0 / self.last_h) / lengths[1];
        let on_next = -(on_last * (1.0 + last_next) + on_here * (1.0 + here_next)) / next.square();
        let (v_last, v_here) = (dot(&last.g, &self.next_v), dot(&here.g, &self.next_v));
        let squares = on_last * on_last * last.gw + on_here * on_here * here.gw + on_next * on_next * next.gw;
        let mixed =
            on_last * on_here * last_here + on_last * on_next * last_next + on_here * on_next * here_next;
        self.next_vv +=
            squares + 2.0 * mixed - 2.0 * (on_last * v_last + on_here * v_here + on_next * self.next_z_dot);
        self.next_z_dot -= on_last * last_next + on_here * here_next + on_next * next.gw;
        for (on, normal) in [(on_last, last), (on_here, here), (on_next, next)] {
            axpy(-on, &normal.w, &mut self.next_v);
        }
    }

    /// Moves to the end of the step.
    pub(super) fn accept(&mut self, h: f64, solution: &Solution) {
        axpy(solution.lambda, &self.direction, &mut self.base);
        std::mem::swap(&mut self.theta, &mut self.base);
        std::mem::swap(&mut self.v, &mut self.next_v);
        std::mem::swap(&mut self.last, &mut self.here);
        std::mem::swap(&mut self.here, &mut self.next);
        self.z += h * self.z_dot + 0.5 * h * h * solution.lambda + self.lift;
        (self.z_dot, self.vv, self.lambda) = (self.next_z_dot, self.next_vv, self.next_lambda);
        self.last_h = h;
        self.is_settled = false;
        self.counters.steps += 1;
    }

    /// Relative change of the speed in the step being tried.
    pub(super) fn speed_error(&self) -> f64 {
        ((self.next_vv + self.next_z_dot * self.next_z_dot).sqrt() / self.speed - 1.0).abs()
    }

    /// Scales the velocity to the speed of the start.
    pub(super) fn restore_speed(&mut self) {
        let factor = self.speed / (self.vv + self.z_dot * self.z_dot).sqrt();
        scale(factor, &mut self.v);
        self.z_dot *= factor;
        self.vv *= factor * factor;
        self.correction = self.correction.max((factor - 1.0).abs());
    }

    /// Stays, settled: in a short step, undoing what is left of the last trial would be a kick.
    pub(super) fn reject(&mut self) {
        self.counters.rejections += 1;
        self.settle();
    }

    /// Takes loss and gradient where the particle is, onto the graph there and tangent to it, at the same speed.
    pub(super) fn settle(&mut self) {
        if self.is_settled {
            return;
        }
        self.settle_loss();
        self.probe.gradient(&mut self.here.g);
        self.counters.gradients += 1;
        scale(self.geometry.strength, &mut self.here.g);
        self.here.settle(&self.geometry);
        let slope = dot(&self.here.g, &self.v);
        let mu = (slope - self.z_dot) / self.here.square();
        axpy(-mu, &self.here.w, &mut self.v);
        self.vv += mu * mu * self.here.gw - 2.0 * mu * slope;
        self.z_dot = slope - mu * self.here.gw;
        self.z = self.geometry.strength * self.loss;
        self.restore_speed();
        self.is_settled = true;
    }

    /// Takes the loss where the particle is.
    pub(super) fn settle_loss(&mut self) {
        if !self.is_settled {
            self.loss = self.probe.value(&self.theta);
            self.counters.values += 1;
        }
    }
}

/// Faults that no curve shows, since the next step makes up for them at some cost: what a step leaves behind.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::Objective;

    const TRIALS: usize = 60;

    /// L = θ₀² + θ₀⁴ + ½θ₁²: bends everywhere.
    struct Bowl;

    impl Objective for Bowl {
        fn dim(&self) -> usize {
            2
        }

        fn value(&self, theta: &[f64]) -> f64 {
            theta[0].powi(2) + theta[0].powi(4) + 0.5 * theta[1].powi(2)
        }

        fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
            gradient[0] = 2.0 * theta[0] + 4.0 * theta[0].powi(3);
            gradient[1] = theta[1];
            self.value(theta)
        }
    }

    fn particle(strength: f64) -> Particle<'static> {
        Particle::start(strength.into(), &[0.4, -0.3], &[1.0, 2.0], Bowl.probe())
    }

    fn step(particle: &mut Particle<'_>, h: f64, accept: f64) {
        let Ok(solution) = particle.position(h, accept, TRIALS) else { panic!("no root") };
        particle.velocity(h, &solution);
        particle.accept(h, &solution);
    }

    /// The fault: the height is put back onto the graph after every step, so that what the constraint was missed by
    /// is not made good in the next.
    #[test]
    fn the_height_is_kept_and_the_next_step_is_on_the_graph() {
        let mut particle = particle(1.0);
        let missed = |particle: &Particle<'_>| particle.z - Bowl.value(&particle.theta);
        particle.lambda *= 1.5;
        step(&mut particle, 0.2, f64::INFINITY);
        let first = missed(&particle);
        assert!(first.abs() > 1e-6, "a single trial misses the graph, by {first}");
        step(&mut particle, 0.2, 0.0);
        assert!(missed(&particle).abs() < 1e-12, "{}", missed(&particle));
    }

    /// The fault: the next search starts from the multiplier of the step. That is λ + hλ̇/3 to first order, the one at
    /// the step's end, found with the velocity, λ + 2hλ̇/3: half as far from what the next step begins with, vᵀHv/⟨n, n⟩.
    #[test]
    fn the_next_search_starts_from_the_multiplier_at_the_end_of_the_step() {
        let mut particle = particle(1.0);
        let h = 0.02;
        let Ok(solution) = particle.position(h, 0.0, TRIALS) else { panic!("no root") };
        particle.velocity(h, &solution);
        particle.accept(h, &solution);
        let (theta, v) = (&particle.theta, &particle.v);
        let curvature = (2.0 + 12.0 * theta[0].powi(2)) * v[0].powi(2) + v[1].powi(2);
        let mut g = [0.0; 2];
        Bowl.value_and_gradient(theta, &mut g);
        let end = curvature / (1.0 + dot(&g, &g));
        let [found, of_step] = [particle.lambda, solution.lambda].map(|lambda| (lambda - end).abs());
        assert!(found < 0.6 * of_step, "{found} from the end, the step's {of_step}");
    }

    /// The fault: after a rejected step the particle keeps the gradient of the last trial.
    #[test]
    fn after_a_rejection_loss_and_normal_are_those_here() {
        let mut particle = particle(0.7);
        particle.lambda *= 1.5;
        step(&mut particle, 0.2, f64::INFINITY);
        particle.reject();
        let mut g = [0.0; 2];
        let loss = Bowl.value_and_gradient(&particle.theta, &mut g);
        scale(0.7, &mut g);
        assert_eq!((particle.loss, particle.z, &particle.here.g[..]), (loss, 0.7 * loss, &g[..]));
        assert!((dot(&g, &particle.v) - particle.z_dot).abs() < 1e-14, "the velocity is tangent");
        assert!((particle.measured_speed() / particle.speed - 1.0).abs() < 1e-14, "the speed is kept");
    }
}
