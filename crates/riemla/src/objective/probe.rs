//! Stateful evaluation of an objective: values at points or along a line, then the gradient there.

use super::Objective;

/// An evaluator that remembers its last point.
///
/// A line search wants the gradient only at its last point, the constrained integrator a value and a gradient
/// together at points of a line; a probe lets an objective exploit either.
pub trait Probe {
    /// The value at `theta`, which becomes the current point.
    fn value(&mut self, theta: &[f64]) -> f64;

    /// Chooses the line base + t·direction for [`Probe::value_on_line`].
    fn set_line(&mut self, base: &[f64], direction: &[f64]);

    /// The value at base + t·direction, which becomes the current point.
    fn value_on_line(&mut self, t: f64) -> f64;

    /// Writes the gradient at the current point.
    fn gradient(&mut self, gradient: &mut [f64]);

    /// The value at base + t·direction, which becomes the current point, and the gradient there. Override it
    /// where both together cost less than one after the other.
    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        let value = self.value_on_line(t);
        self.gradient(gradient);
        value
    }
}

/// The plain probe: every call goes to the objective.
pub struct DirectProbe<'a, O: Objective + ?Sized> {
    objective: &'a O,
    base: Vec<f64>,
    direction: Vec<f64>,
    point: Vec<f64>,
}

impl<'a, O: Objective + ?Sized> DirectProbe<'a, O> {
    /// A probe of `objective`.
    pub fn new(objective: &'a O) -> Self {
        let zeros = vec![0.0; objective.dim()];
        Self { objective, base: zeros.clone(), direction: zeros.clone(), point: zeros }
    }
}

impl<O: Objective + ?Sized> Probe for DirectProbe<'_, O> {
    fn value(&mut self, theta: &[f64]) -> f64 {
        self.point.copy_from_slice(theta);
        self.objective.value(theta)
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        self.base.copy_from_slice(base);
        self.direction.copy_from_slice(direction);
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        point_on_line(&self.base, &self.direction, t, &mut self.point);
        self.objective.value(&self.point)
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        self.objective.value_and_gradient(&self.point, gradient);
    }

    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        point_on_line(&self.base, &self.direction, t, &mut self.point);
        self.objective.value_and_gradient(&self.point, gradient)
    }
}

/// point ← base + t·direction.
pub(super) fn point_on_line(base: &[f64], direction: &[f64], t: f64, point: &mut [f64]) {
    for ((p, b), d) in point.iter_mut().zip(base).zip(direction) {
        *p = b + t * d;
    }
}
