//! The scalar equation of one constrained step: stay on the graph z = aL(θ).

use crate::linalg::vector::{dot, scale};
use crate::objective::Probe;

/// One step's constraint φ(λ) = rise + (h²/2)λ − aL(base + λ·direction), and how well to solve it. The direction
/// is −(h²/2)·normal, so that φ has the slope (h²/2)(1 + a∇L·normal).
pub(super) struct Constraint<'a> {
    /// a.
    pub strength: f64,
    /// z + hż.
    pub rise: f64,
    /// h²/2.
    pub half_square: f64,
    /// P⁻¹g at the start of the step.
    pub normal: &'a [f64],
    /// 1 + g·P⁻¹g there.
    pub flat: f64,
    /// Make no further trial once |φ| times the relative change of the slope is at most this.
    pub accept: f64,
    /// Nor once |φ| no longer falls and is at most this: the rounding of its terms.
    pub rounding: f64,
    /// Largest number of trials.
    pub max_trials: usize,
}

/// A solved constraint.
pub(super) struct Solution {
    /// The multiplier, after a last Newton step from the last trial: there φ is 0 to first order.
    pub lambda: f64,
    /// |(1 + g₁·P⁻¹g)/(1 + g·P⁻¹g) − 1|, g₁ at the last trial: how far the normal turned.
    pub turn: f64,
}

/// Why a constraint could not be solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsolved {
    /// The loss was not finite at a trial.
    NonFinite,
    /// No root was found: the step is too long.
    NoRoot,
}

impl Constraint<'_> {
    /// Newton's method. The probe's line must be set; `gradient` is a∇L at the last trial afterwards.
    ///
    /// There is no root if |φ| does not fall by half, or the trials are used up.
    pub(super) fn solve(
        &self,
        start: f64,
        probe: &mut dyn Probe,
        gradient: &mut [f64],
        trials: &mut usize,
    ) -> Result<Solution, Unsolved> {
        let mut lambda = start;
        let mut last = f64::INFINITY;
        for _ in 0..self.max_trials {
            let value = probe.value_and_gradient_on_line(lambda, gradient);
            *trials += 1;
            scale(self.strength, gradient);
            let phi = self.rise + self.half_square * lambda - self.strength * value;
            let slope = 1.0 + dot(gradient, self.normal);
            if !phi.is_finite() || !slope.is_finite() {
                return Err(Unsolved::NonFinite);
            }
            let stalled = phi.abs() > 0.5 * last;
            let at_rounding = stalled && phi.abs() <= self.rounding;
            if slope <= 0.0 || (stalled && !at_rounding) {
                return Err(Unsolved::NoRoot);
            }
            let turn = (slope / self.flat - 1.0).abs();
            let newton = lambda - phi / (self.half_square * slope);
            if phi.abs() * turn <= self.accept || at_rounding {
                return Ok(Solution { lambda: newton, turn });
            }
            last = phi.abs();
            lambda = newton;
        }
        Err(Unsolved::NoRoot)
    }
}
