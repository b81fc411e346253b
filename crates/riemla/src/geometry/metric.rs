//! Riemannian metrics: an inner product at every point and the acceleration of geodesics.

use crate::linalg::vector::dot;
use crate::objective::TwiceDifferentiable;

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

/// M = I + a²∇L∇Lᵀ for an objective L and a strength a; a = 1 is the paper's metric.
pub struct LossMetric<'a, O: ?Sized> {
    objective: &'a O,
    strength: f64,
}

impl<'a, O: TwiceDifferentiable + ?Sized> LossMetric<'a, O> {
    /// The metric of `objective` with the given strength.
    pub fn new(objective: &'a O, strength: f64) -> crate::Result<Self> {
        check_strength(strength)?;
        Ok(Self { objective, strength })
    }
}

pub(crate) fn check_strength(strength: f64) -> crate::Result<()> {
    if strength.is_finite() && strength >= 0.0 {
        Ok(())
    } else {
        Err(crate::Error::range("strength of the metric", strength, "finite and at least 0"))
    }
}

impl<O: TwiceDifferentiable + ?Sized> Metric for LossMetric<'_, O> {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn inner(&self, theta: &[f64], v: &[f64], w: &[f64]) -> f64 {
        let mut gradient = vec![0.0; theta.len()];
        self.objective.value_and_gradient(theta, &mut gradient);
        dot(v, w) + self.strength * self.strength * dot(&gradient, v) * dot(&gradient, w)
    }

    fn acceleration(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let curvature = self.objective.gradient_and_curvature(theta, v, out);
        let a2 = self.strength * self.strength;
        let factor = -a2 * curvature / (1.0 + a2 * dot(out, out));
        crate::linalg::vector::scale(factor, out);
    }

    fn loss(&self, theta: &[f64]) -> f64 {
        self.objective.value(theta)
    }

    fn loss_bound(&self, speed: f64) -> f64 {
        if speed > 0.0 { speed / self.strength } else { 0.0 }
    }
}
