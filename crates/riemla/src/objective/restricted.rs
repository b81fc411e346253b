//! An objective on some of the parameters, the others held fixed.

use super::pool::Pool;
use super::{Objective, Probe, TwiceDifferentiable};
use crate::error::Failure;

/// φ(s) = L(θ with its chosen entries replaced by s).
pub struct Restricted<'a> {
    objective: &'a dyn Objective,
    fixed: &'a [f64],
    indices: Vec<usize>,
    pool: Pool<Full>,
}

/// Full-length vectors for one evaluation.
struct Full {
    point: Vec<f64>,
    direction: Vec<f64>,
    result: Vec<f64>,
}

impl<'a> Restricted<'a> {
    /// Frees the entries `indices` of `fixed`.
    pub fn new(objective: &'a dyn Objective, fixed: &'a [f64], indices: Vec<usize>) -> Self {
        Self { objective, fixed, indices, pool: Pool::default() }
    }

    /// The full vector for chosen entries `s`.
    pub fn embed(&self, s: &[f64]) -> Vec<f64> {
        let mut full = self.fixed.to_vec();
        self.scatter(s, &mut full);
        full
    }

    fn full(&self) -> Full {
        let zeros = vec![0.0; self.fixed.len()];
        Full { point: self.fixed.to_vec(), direction: zeros.clone(), result: zeros }
    }

    fn scatter(&self, s: &[f64], full: &mut [f64]) {
        for (&k, v) in self.indices.iter().zip(s) {
            full[k] = *v;
        }
    }

    fn gather(&self, full: &[f64], out: &mut [f64]) {
        for (o, &k) in out.iter_mut().zip(&self.indices) {
            *o = full[k];
        }
    }

    fn with_full<R>(&self, s: &[f64], f: impl FnOnce(&mut Full) -> R) -> R {
        self.pool.with(
            || self.full(),
            |full| {
                self.scatter(s, &mut full.point);
                f(full)
            },
        )
    }
}

impl Objective for Restricted<'_> {
    fn dim(&self) -> usize {
        self.indices.len()
    }

    fn value(&self, s: &[f64]) -> f64 {
        self.with_full(s, |full| self.objective.value(&full.point))
    }

    fn value_and_gradient(&self, s: &[f64], gradient: &mut [f64]) -> f64 {
        self.with_full(s, |full| {
            let value = self.objective.value_and_gradient(&full.point, &mut full.result);
            self.gather(&full.result, gradient);
            value
        })
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        let scatter = |s: &[f64], full: &mut [f64]| self.scatter(s, full);
        let gather = |full: &[f64], out: &mut [f64]| self.gather(full, out);
        Box::new(RestrictedProbe { inner: self.objective.probe(), full: self.full(), scatter, gather })
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        self.objective.second_derivatives().map(|_| self as _)
    }

    fn failure(&self) -> Option<Failure> {
        self.objective.failure()
    }
}

/// NaN where the objective has no second derivatives: [`Objective::second_derivatives`] says so first.
impl TwiceDifferentiable for Restricted<'_> {
    fn curvature_along(&self, s: &[f64], v: &[f64]) -> f64 {
        let Some(objective) = self.objective.second_derivatives() else { return f64::NAN };
        self.with_full(s, |full| {
            self.scatter(v, &mut full.direction);
            objective.curvature_along(&full.point, &full.direction)
        })
    }

    fn hvp(&self, s: &[f64], v: &[f64], out: &mut [f64]) {
        let Some(objective) = self.objective.second_derivatives() else { return out.fill(f64::NAN) };
        self.with_full(s, |full| {
            self.scatter(v, &mut full.direction);
            objective.hvp(&full.point, &full.direction, &mut full.result);
            self.gather(&full.result, out);
        });
    }

    fn gradient_and_curvature(&self, s: &[f64], v: &[f64], gradient: &mut [f64]) -> f64 {
        let Some(objective) = self.objective.second_derivatives() else { return f64::NAN };
        self.with_full(s, |full| {
            self.scatter(v, &mut full.direction);
            let curvature = objective.gradient_and_curvature(&full.point, &full.direction, &mut full.result);
            self.gather(&full.result, gradient);
            curvature
        })
    }
}

/// The probe of the whole objective, seen through the chosen entries.
struct RestrictedProbe<'a, S, G> {
    inner: Box<dyn Probe + 'a>,
    full: Full,
    scatter: S,
    gather: G,
}

impl<S: Fn(&[f64], &mut [f64]), G: Fn(&[f64], &mut [f64])> Probe for RestrictedProbe<'_, S, G> {
    fn value(&mut self, s: &[f64]) -> f64 {
        (self.scatter)(s, &mut self.full.point);
        self.inner.value(&self.full.point)
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        (self.scatter)(base, &mut self.full.point);
        (self.scatter)(direction, &mut self.full.direction);
        self.inner.set_line(&self.full.point, &self.full.direction);
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        self.inner.value_on_line(t)
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        self.inner.gradient(&mut self.full.result);
        (self.gather)(&self.full.result, gradient);
    }

    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        let value = self.inner.value_and_gradient_on_line(t, &mut self.full.result);
        (self.gather)(&self.full.result, gradient);
        value
    }
}
