//! The scalar equation of one constrained step: stay on the graph z = aL(θ).

use crate::objective::Probe;

/// One step's constraint φ(λ) = rise + (h²/2)λ − aL(base + λ·direction), and how well to solve it.
pub(super) struct Constraint {
    /// a.
    pub strength: f64,
    /// z + hż.
    pub rise: f64,
    /// h²/2.
    pub half_square: f64,
    /// Slope of φ to begin with: (h²/2)(1 + g·g).
    pub slope: f64,
    /// Accept |φ| up to this.
    pub accept: f64,
    /// Accept |φ| up to this once it no longer falls: the rounding of its terms.
    pub rounding: f64,
    /// Largest number of trials.
    pub max_trials: usize,
}

/// A solved constraint: the multiplier and the loss there.
pub(super) struct Solution {
    pub lambda: f64,
    pub value: f64,
    /// |φ| of the second trial over that of the first: how far the graph is from its tangent plane.
    pub contraction: f64,
}

/// Why a constraint could not be solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsolved {
    /// The loss was not finite at a trial.
    NonFinite,
    /// No root was found: the step is too long.
    NoRoot,
}

impl Constraint {
    /// Newton with the initial slope, then secant. The probe's line must be set.
    ///
    /// There is no root if |φ| does not fall by half, or the trials are used up.
    pub(super) fn solve(
        &self,
        start: f64,
        probe: &mut dyn Probe,
        trials: &mut usize,
    ) -> Result<Solution, Unsolved> {
        let mut lambda = start;
        let mut slope = self.slope;
        let mut previous: Option<(f64, f64)> = None;
        let mut contraction = 0.0;
        for trial in 0..self.max_trials {
            let value = probe.value_on_line(lambda);
            *trials += 1;
            let phi = self.rise + self.half_square * lambda - self.strength * value;
            if !phi.is_finite() {
                return Err(Unsolved::NonFinite);
            }
            if let (1, Some((_, first))) = (trial, previous) {
                contraction = (phi / first).abs();
            }
            let stalled = previous.is_some_and(|(_, last)| phi.abs() > 0.5 * last.abs());
            if phi.abs() <= self.accept || (stalled && phi.abs() <= self.rounding) {
                return Ok(Solution { lambda, value, contraction });
            }
            if stalled {
                return Err(Unsolved::NoRoot);
            }
            if let Some((last_lambda, last_phi)) = previous {
                let secant = (phi - last_phi) / (lambda - last_lambda);
                if secant.is_finite() && secant > 0.0 {
                    slope = secant;
                }
            }
            previous = Some((lambda, phi));
            lambda -= phi / slope;
        }
        Err(Unsolved::NoRoot)
    }
}
