//! The Dormand-Prince 5(4) pair: coefficients, stage buffers, and one trial step.
//!
//! Dormand and Prince, "A family of embedded Runge-Kutta formulae", J. Comp. Appl. Math. 6 (1980).

use super::Rhs;
use crate::linalg::vector::axpy;

/// Number of stages; the last is the derivative at the new point (first same as last).
pub(super) const STAGES: usize = 7;

/// Times of the stages, in units of the step.
const C: [f64; STAGES] = [0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0];

/// Row s combines the stages before s into the argument of stage s; the last row is the new point.
const A: [&[f64]; STAGES] = [
    &[],
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];

/// Combines all stages into the difference of the embedded fourth-order result and the new point.
const E: [f64; STAGES] =
    [-71.0 / 57600.0, 0.0, 71.0 / 16695.0, -71.0 / 1920.0, 17253.0 / 339200.0, -22.0 / 525.0, 1.0 / 40.0];

/// Buffers of one integration of n variables, allocated once.
pub(super) struct Workspace {
    n: usize,
    /// Stage derivatives, STAGES × n.
    stages: Vec<f64>,
    /// Argument of the current stage; after a trial, the new point.
    point: Vec<f64>,
    /// The combination of stages that is being formed.
    sum: Vec<f64>,
    /// Calls of the right-hand side so far.
    pub evaluations: usize,
}

impl Workspace {
    pub fn new(n: usize) -> Self {
        Self { n, stages: vec![0.0; STAGES * n], point: vec![0.0; n], sum: vec![0.0; n], evaluations: 0 }
    }

    /// Derivative at the start of the step.
    pub fn derivative(&self) -> &[f64] {
        &self.stages[..self.n]
    }

    /// Evaluates the derivative at the start of the first step. False if it is not finite.
    pub fn start(&mut self, rhs: &mut Rhs<'_>, t: f64, y: &[f64]) -> bool {
        let first = &mut self.stages[..self.n];
        rhs(t, y, first);
        self.evaluations += 1;
        first.iter().all(|v| v.is_finite())
    }

    /// Euler step of signed size `h`: returns the derivatives at its start and at its end.
    pub fn euler(&mut self, rhs: &mut Rhs<'_>, t: f64, y: &[f64], h: f64) -> (&[f64], &[f64]) {
        let (first, rest) = self.stages.split_at_mut(self.n);
        let second = &mut rest[..self.n];
        self.point.copy_from_slice(y);
        axpy(h, first, &mut self.point);
        rhs(t + h, &self.point, second);
        self.evaluations += 1;
        (first, second)
    }

    /// One trial step of signed size `h` from (t, y). Six evaluations, or fewer if a stage is not
    /// finite; returns whether stages and new point are finite.
    pub fn trial(&mut self, rhs: &mut Rhs<'_>, t: f64, y: &[f64], h: f64) -> bool {
        for s in 1..STAGES {
            let (done, rest) = self.stages.split_at_mut(s * self.n);
            combine(A[s], done, &mut self.sum);
            for ((p, y), d) in self.point.iter_mut().zip(y).zip(&self.sum) {
                *p = y + h * d;
            }
            let stage = &mut rest[..self.n];
            rhs(t + C[s] * h, &self.point, stage);
            self.evaluations += 1;
            if !stage.iter().all(|v| v.is_finite()) {
                return false;
            }
        }
        self.point.iter().all(|v| v.is_finite())
    }

    /// Root mean square of the estimated error of the last trial in units of
    /// `atol + rtol·max(|y|, |new|)`.
    pub fn error_norm(&mut self, y: &[f64], h: f64, rtol: f64, atol: f64) -> f64 {
        combine(&E, &self.stages, &mut self.sum);
        let terms = self.sum.iter().zip(y.iter().zip(&self.point));
        let squares = terms.map(|(e, (a, b))| {
            let scaled = e * h / (atol + a.abs().max(b.abs()) * rtol);
            scaled * scaled
        });
        (squares.sum::<f64>() / self.n as f64).sqrt()
    }

    /// Makes the last trial the start of the next step: copies the new point into `y`.
    pub fn accept(&mut self, y: &mut [f64]) {
        y.copy_from_slice(&self.point);
        self.stages.copy_within((STAGES - 1) * self.n.., 0);
    }
}

/// out ← Σ_j weights[j]·stages[j], stages of out.len() entries each.
fn combine(weights: &[f64], stages: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (weight, stage) in weights.iter().zip(stages.chunks_exact(out.len().max(1))) {
        if *weight != 0.0 {
            axpy(*weight, stage, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_sum_to_their_times_and_the_error_weights_to_zero() {
        for (row, c) in A.iter().zip(C) {
            assert!((row.iter().sum::<f64>() - c).abs() < 1e-14);
        }
        assert!(E.iter().sum::<f64>().abs() < 1e-16);
    }

    #[test]
    fn quadrature_conditions_hold_to_order_five_and_the_error_starts_at_five() {
        for q in 1..=5 {
            let b: f64 = A[6].iter().zip(C).map(|(b, c)| b * c.powi(q - 1)).sum();
            assert!((b - 1.0 / f64::from(q)).abs() < 1e-14, "order {q}");
            let e: f64 = E.iter().zip(C).map(|(e, c)| e * c.powi(q - 1)).sum();
            assert_eq!(e.abs() < 1e-15, q < 5, "error weights at order {q}: {e}");
        }
    }
}
