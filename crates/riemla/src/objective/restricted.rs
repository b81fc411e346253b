//! An objective on some of the parameters, the others held fixed.

use super::{Objective, TwiceDifferentiable};

/// φ(s) = L(θ with its chosen entries replaced by s).
pub struct Restricted<'a, O: ?Sized> {
    objective: &'a O,
    fixed: &'a [f64],
    indices: Vec<usize>,
}

impl<'a, O: Objective + ?Sized> Restricted<'a, O> {
    /// Frees the entries `indices` of `fixed`.
    pub fn new(objective: &'a O, fixed: &'a [f64], indices: Vec<usize>) -> Self {
        Self { objective, fixed, indices }
    }

    /// The full vector for chosen entries `s`.
    pub fn embed(&self, s: &[f64]) -> Vec<f64> {
        let mut full = self.fixed.to_vec();
        for (&k, v) in self.indices.iter().zip(s) {
            full[k] = *v;
        }
        full
    }

    fn embed_direction(&self, v: &[f64]) -> Vec<f64> {
        let mut full = vec![0.0; self.fixed.len()];
        for (&k, v) in self.indices.iter().zip(v) {
            full[k] = *v;
        }
        full
    }

    fn gather(&self, full: &[f64], out: &mut [f64]) {
        for (o, &k) in out.iter_mut().zip(&self.indices) {
            *o = full[k];
        }
    }
}

impl<O: Objective + ?Sized> Objective for Restricted<'_, O> {
    fn dim(&self) -> usize {
        self.indices.len()
    }

    fn value(&self, s: &[f64]) -> f64 {
        self.objective.value(&self.embed(s))
    }

    fn value_and_gradient(&self, s: &[f64], gradient: &mut [f64]) -> f64 {
        let mut full = vec![0.0; self.fixed.len()];
        let value = self.objective.value_and_gradient(&self.embed(s), &mut full);
        self.gather(&full, gradient);
        value
    }
}

impl<O: TwiceDifferentiable + ?Sized> TwiceDifferentiable for Restricted<'_, O> {
    fn curvature_along(&self, s: &[f64], v: &[f64]) -> f64 {
        self.objective.curvature_along(&self.embed(s), &self.embed_direction(v))
    }

    fn hvp(&self, s: &[f64], v: &[f64], out: &mut [f64]) {
        let mut full = vec![0.0; self.fixed.len()];
        self.objective.hvp(&self.embed(s), &self.embed_direction(v), &mut full);
        self.gather(&full, out);
    }
}
