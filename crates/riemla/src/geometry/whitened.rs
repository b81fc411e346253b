//! An objective in the coordinates in which a Gaussian is white.

use crate::curvature::Precision;
use crate::error::Failure;
use crate::objective::{Objective, Pool, Probe, TwiceDifferentiable};

/// φ(u) = L(θ* + Su) with SSᵀ = P⁻¹: the metric P + a²∇L∇Lᵀ of L is I + a²∇φ∇φᵀ here.
pub struct Whitened<'a> {
    objective: &'a dyn Objective,
    origin: &'a [f64],
    precision: &'a dyn Precision,
    pool: Pool<Scratch>,
}

/// A point and a direction in the coordinates of L.
struct Scratch {
    point: Vec<f64>,
    direction: Vec<f64>,
}

impl<'a> Whitened<'a> {
    /// L around `origin` = θ*, where u = 0.
    pub fn new(
        objective: &'a dyn Objective,
        origin: &'a [f64],
        precision: &'a dyn Precision,
    ) -> crate::Result<Self> {
        crate::error::check_len("origin", objective.dim(), origin.len())?;
        crate::error::check_len("precision", objective.dim(), precision.dim())?;
        Ok(Self { objective, origin, precision, pool: Pool::default() })
    }

    fn scratch(&self) -> Scratch {
        Scratch { point: self.origin.to_vec(), direction: vec![0.0; self.origin.len()] }
    }

    /// point ← θ* + Su.
    fn place(&self, u: &[f64], point: &mut [f64]) {
        point.copy_from_slice(u);
        self.place_in_place(point);
    }

    /// u ← θ* + Su.
    pub(super) fn place_in_place(&self, u: &mut [f64]) {
        self.turn_in_place(u);
        crate::linalg::vector::axpy(1.0, self.origin, u);
    }

    /// direction ← Su.
    fn turn(&self, u: &[f64], direction: &mut [f64]) {
        direction.copy_from_slice(u);
        self.turn_in_place(direction);
    }

    /// u ← Su.
    pub(super) fn turn_in_place(&self, u: &mut [f64]) {
        self.precision.sqrt_solve(u);
    }

    fn at<R>(&self, u: &[f64], f: impl FnOnce(&mut Scratch) -> R) -> R {
        self.pool.with(
            || self.scratch(),
            |scratch| {
                self.place(u, &mut scratch.point);
                f(scratch)
            },
        )
    }
}

impl Objective for Whitened<'_> {
    fn dim(&self) -> usize {
        self.origin.len()
    }

    fn value(&self, u: &[f64]) -> f64 {
        self.at(u, |scratch| self.objective.value(&scratch.point))
    }

    fn value_and_gradient(&self, u: &[f64], gradient: &mut [f64]) -> f64 {
        let value = self.at(u, |scratch| self.objective.value_and_gradient(&scratch.point, gradient));
        self.precision.sqrt_solve_transpose(gradient);
        value
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        Box::new(WhitenedProbe { inner: self.objective.probe(), whitened: self, scratch: self.scratch() })
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        self.objective.second_derivatives().map(|_| self as _)
    }

    fn failure(&self) -> Option<Failure> {
        self.objective.failure()
    }
}

/// NaN where the objective has no second derivatives: [`Objective::second_derivatives`] says so first.
impl TwiceDifferentiable for Whitened<'_> {
    fn curvature_along(&self, u: &[f64], v: &[f64]) -> f64 {
        let Some(objective) = self.objective.second_derivatives() else { return f64::NAN };
        self.at(u, |scratch| {
            self.turn(v, &mut scratch.direction);
            objective.curvature_along(&scratch.point, &scratch.direction)
        })
    }

    fn hvp(&self, u: &[f64], v: &[f64], out: &mut [f64]) {
        let Some(objective) = self.objective.second_derivatives() else { return out.fill(f64::NAN) };
        self.at(u, |scratch| {
            self.turn(v, &mut scratch.direction);
            objective.hvp(&scratch.point, &scratch.direction, out);
        });
        self.precision.sqrt_solve_transpose(out);
    }

    fn gradient_and_curvature(&self, u: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        let Some(objective) = self.objective.second_derivatives() else { return f64::NAN };
        let curvature = self.at(u, |scratch| {
            self.turn(v, &mut scratch.direction);
            objective.gradient_and_curvature(&scratch.point, &scratch.direction, gradient)
        });
        self.precision.sqrt_solve_transpose(gradient);
        curvature
    }
}

/// The probe of L: a line in u is a line in θ.
struct WhitenedProbe<'a, 'b> {
    inner: Box<dyn Probe + 'b>,
    whitened: &'b Whitened<'a>,
    scratch: Scratch,
}

impl Probe for WhitenedProbe<'_, '_> {
    fn value(&mut self, u: &[f64]) -> f64 {
        self.whitened.place(u, &mut self.scratch.point);
        self.inner.value(&self.scratch.point)
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        self.whitened.place(base, &mut self.scratch.point);
        self.whitened.turn(direction, &mut self.scratch.direction);
        self.inner.set_line(&self.scratch.point, &self.scratch.direction);
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        self.inner.value_on_line(t)
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        self.inner.gradient(gradient);
        self.whitened.precision.sqrt_solve_transpose(gradient);
    }

    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        let value = self.inner.value_and_gradient_on_line(t, gradient);
        self.whitened.precision.sqrt_solve_transpose(gradient);
        value
    }
}
