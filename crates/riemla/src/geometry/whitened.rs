//! An objective in the coordinates in which a Gaussian is white.

use crate::curvature::Precision;
use crate::objective::{Objective, Pool, Probe, TwiceDifferentiable};

/// φ(u) = L(θ* + Su) with SSᵀ = P⁻¹: the metric P + a²∇L∇Lᵀ of L is I + a²∇φ∇φᵀ here.
pub struct Whitened<'a, O: ?Sized> {
    objective: &'a O,
    origin: &'a [f64],
    precision: &'a dyn Precision,
    pool: Pool<Scratch>,
}

/// A point and a direction in the coordinates of L.
struct Scratch {
    point: Vec<f64>,
    direction: Vec<f64>,
}

impl<'a, O: Objective + ?Sized> Whitened<'a, O> {
    /// L around `origin` = θ*, where u = 0.
    pub fn new(objective: &'a O, origin: &'a [f64], precision: &'a dyn Precision) -> crate::Result<Self> {
        crate::error::check_len("origin", objective.dim(), origin.len())?;
        crate::error::check_len("precision", objective.dim(), precision.dim())?;
        Ok(Self { objective, origin, precision, pool: Pool::default() })
    }

    fn scratch(&self) -> Scratch {
        Scratch { point: self.origin.to_vec(), direction: vec![0.0; self.origin.len()] }
    }

    /// point ← θ* + Su.
    fn place(&self, u: &[f64], point: &mut [f64]) {
        self.turn(u, point);
        crate::linalg::vector::axpy(1.0, self.origin, point);
    }

    /// direction ← Su.
    fn turn(&self, u: &[f64], direction: &mut [f64]) {
        direction.copy_from_slice(u);
        self.precision.sqrt_solve(direction);
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

impl<O: Objective + ?Sized> Objective for Whitened<'_, O> {
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
}

impl<O: TwiceDifferentiable + ?Sized> TwiceDifferentiable for Whitened<'_, O> {
    fn curvature_along(&self, u: &[f64], v: &[f64]) -> f64 {
        self.at(u, |scratch| {
            self.turn(v, &mut scratch.direction);
            self.objective.curvature_along(&scratch.point, &scratch.direction)
        })
    }

    fn hvp(&self, u: &[f64], v: &[f64], out: &mut [f64]) {
        self.at(u, |scratch| {
            self.turn(v, &mut scratch.direction);
            self.objective.hvp(&scratch.point, &scratch.direction, out);
        });
        self.precision.sqrt_solve_transpose(out);
    }

    fn gradient_and_curvature(&self, u: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        let curvature = self.at(u, |scratch| {
            self.turn(v, &mut scratch.direction);
            self.objective.gradient_and_curvature(&scratch.point, &scratch.direction, gradient)
        });
        self.precision.sqrt_solve_transpose(gradient);
        curvature
    }
}

/// The probe of L: a line in u is a line in θ.
struct WhitenedProbe<'a, 'b, O: ?Sized> {
    inner: Box<dyn Probe + 'b>,
    whitened: &'b Whitened<'a, O>,
    scratch: Scratch,
}

impl<O: Objective + ?Sized> Probe for WhitenedProbe<'_, '_, O> {
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
}
