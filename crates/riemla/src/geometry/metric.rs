//! Riemannian metrics: an inner product at every point and the acceleration of geodesics.

use super::LossGeometry;
use crate::linalg::vector::{dot, scale};
use crate::objective::{Pool, TwiceDifferentiable};

/// A Riemannian metric on the parameters.
///
/// Law ([`crate::testing::check_metric`]): along a curve with the given acceleration, the speed
/// √⟨ċ, Mċ⟩ is constant.
pub trait Metric: Sync {
    /// Number of parameters.
    fn dim(&self) -> usize;

    /// ⟨v, M(θ)w⟩.
    fn inner(&self, theta: &[f64], v: &[f64], w: &[f64]) -> f64;

    /// Writes c̈ of the geodesic through θ with velocity v; NaN outside the domain.
    fn acceleration(&self, theta: &[f64], v: &[f64], out: &mut [f64]);

    /// The loss to report at the ends of a geodesic; 0 for metrics that do not use the loss.
    fn loss(&self, _theta: &[f64]) -> f64 {
        0.0
    }

    /// Largest change of the loss along a geodesic of this speed; infinite if there is no bound.
    fn loss_bound(&self, _speed: f64) -> f64 {
        f64::INFINITY
    }
}

/// M = P + a²∇L∇Lᵀ for an objective L; P = I and a = 1 is the paper's metric.
pub struct LossMetric<'a, O: ?Sized> {
    objective: &'a O,
    geometry: LossGeometry<'a>,
    gradients: Pool<Vec<f64>>,
}

impl<'a, O: TwiceDifferentiable + ?Sized> LossMetric<'a, O> {
    /// The metric of `objective` with the given strength, and preconditioner if there is one.
    pub fn new(objective: &'a O, geometry: impl Into<LossGeometry<'a>>) -> crate::Result<Self> {
        let geometry = geometry.into();
        geometry.check(objective.dim())?;
        Ok(Self { objective, geometry, gradients: Pool::default() })
    }
}

impl<O: TwiceDifferentiable + ?Sized> Metric for LossMetric<'_, O> {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn inner(&self, theta: &[f64], v: &[f64], w: &[f64]) -> f64 {
        let mut gradient = vec![0.0; theta.len()];
        self.objective.value_and_gradient(theta, &mut gradient);
        let slopes = dot(&gradient, v) * dot(&gradient, w);
        self.geometry.inner(v, w) + self.geometry.strength.powi(2) * slopes
    }

    fn acceleration(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let a2 = self.geometry.strength.powi(2);
        self.gradients.with(
            || vec![0.0; theta.len()],
            |gradient| {
                let curvature = self.objective.gradient_and_curvature(theta, v, gradient);
                self.geometry.steepest(gradient, out);
                scale(-a2 * curvature / (1.0 + a2 * dot(gradient, out)), out);
            },
        );
    }

    fn loss(&self, theta: &[f64]) -> f64 {
        self.objective.value(theta)
    }

    fn loss_bound(&self, speed: f64) -> f64 {
        if speed > 0.0 { speed / self.geometry.strength } else { 0.0 }
    }
}
