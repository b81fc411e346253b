//! A loss in coordinates in which its curvature is about the identity.

use crate::curvature::Precision;
use crate::error::Failure;
use crate::linalg::vector::axpy;
use crate::objective::{Objective, Pool};

/// L(θ₀ + Sz) as a function of z, with SSᵀ = P⁻¹: where P is the curvature, half the square of the gradient's norm is the
/// decrease of the loss that is left.
pub(super) struct Whitened<'a> {
    loss: &'a dyn Objective,
    origin: &'a [f64],
    precision: &'a dyn Precision,
    points: Pool<Vec<f64>>,
}

impl<'a> Whitened<'a> {
    pub(super) fn new(loss: &'a dyn Objective, origin: &'a [f64], precision: &'a dyn Precision) -> Self {
        Self { loss, origin, precision, points: Pool::default() }
    }

    /// Writes θ₀ + Sz.
    pub(super) fn weights(&self, z: &[f64], theta: &mut [f64]) {
        theta.copy_from_slice(z);
        self.precision.sqrt_solve(theta);
        axpy(1.0, self.origin, theta);
    }

    fn at<R>(&self, z: &[f64], f: impl FnOnce(&[f64]) -> R) -> R {
        let zeros = || vec![0.0; z.len()];
        self.points.with(zeros, |theta| {
            self.weights(z, theta);
            f(theta)
        })
    }
}

impl Objective for Whitened<'_> {
    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn value(&self, z: &[f64]) -> f64 {
        self.at(z, |theta| self.loss.value(theta))
    }

    fn value_and_gradient(&self, z: &[f64], gradient: &mut [f64]) -> f64 {
        let value = self.at(z, |theta| self.loss.value_and_gradient(theta, gradient));
        self.precision.sqrt_solve_transpose(gradient);
        value
    }

    fn failure(&self) -> Option<Failure> {
        self.loss.failure()
    }
}
