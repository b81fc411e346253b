//! The inverse Hessian as L-BFGS remembers it: the last few steps and changes of the gradient.

use crate::linalg::vector::{axpy, dot, scale};

/// A ring of pairs (s, y) = (step, change of the gradient), all with s·y > 0.
pub(super) struct Memory {
    dim: usize,
    steps: Vec<f64>,
    changes: Vec<f64>,
    /// 1/(s·y) per pair.
    inverse: Vec<f64>,
    /// Room for the two loops of [`Memory::direction`].
    weights: Vec<f64>,
    /// s·y/(y·y) of the newest pair: the size of the inverse Hessian.
    size: f64,
    used: usize,
    next: usize,
}

impl Memory {
    pub(super) fn new(pairs: usize, dim: usize) -> Self {
        Self {
            dim,
            steps: vec![0.0; pairs * dim],
            changes: vec![0.0; pairs * dim],
            inverse: vec![0.0; pairs],
            weights: vec![0.0; pairs],
            size: 1.0,
            used: 0,
            next: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.size = 1.0;
    }

    /// Remembers the step between two points, unless rounding or negative curvature makes it
    /// useless.
    pub(super) fn push(&mut self, to: &[f64], from: &[f64], gradient_to: &[f64], gradient_from: &[f64]) {
        let slot = self.next * self.dim..(self.next + 1) * self.dim;
        let (s, y) = (&mut self.steps[slot.clone()], &mut self.changes[slot]);
        subtract(to, from, s);
        subtract(gradient_to, gradient_from, y);
        let (sy, ss, yy) = (dot(s, y), dot(s, s), dot(y, y));
        // The slot written is the oldest pair, or free: when it is refused, the oldest is lost.
        if !(sy > f64::EPSILON * (ss * yy).sqrt() && sy.recip().is_finite()) {
            self.used = self.used.min(self.inverse.len() - 1);
            return;
        }
        self.inverse[self.next] = 1.0 / sy;
        self.size = sy / yy;
        self.next = (self.next + 1) % self.inverse.len();
        self.used = (self.used + 1).min(self.inverse.len());
    }

    /// Writes minus the modelled inverse Hessian times the gradient (the two-loop recursion).
    pub(super) fn direction(&mut self, gradient: &[f64], direction: &mut [f64]) {
        direction.copy_from_slice(gradient);
        for age in 0..self.used {
            let (k, slot) = self.slot(age);
            self.weights[k] = self.inverse[k] * dot(&self.steps[slot.clone()], direction);
            axpy(-self.weights[k], &self.changes[slot], direction);
        }
        scale(self.size, direction);
        for age in (0..self.used).rev() {
            let (k, slot) = self.slot(age);
            let back = self.inverse[k] * dot(&self.changes[slot.clone()], direction);
            axpy(self.weights[k] - back, &self.steps[slot], direction);
        }
        scale(-1.0, direction);
    }

    /// Index and range of the pair that is `age` pairs older than the newest.
    fn slot(&self, age: usize) -> (usize, std::ops::Range<usize>) {
        let pairs = self.inverse.len();
        let k = (self.next + pairs - 1 - age) % pairs;
        (k, k * self.dim..(k + 1) * self.dim)
    }
}

fn subtract(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((o, x), y) in out.iter_mut().zip(a).zip(b) {
        *o = x - y;
    }
}
