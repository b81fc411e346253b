//! Layer normalisation: every sample to mean 0 and variance 1, then a factor and shift per number.
//!
//! With ⟨·⟩ the mean over a sample's numbers, c = x − ⟨x⟩ and r = (⟨c²⟩ + ε)^(−½) the normalised input is
//! x̂ = rc, and y = γx̂ + β. All derivatives follow from the Taylor coefficients of c and r.

use std::cell::RefCell;

use super::{At, Layer, Shape};
use crate::{Error, Result};

/// y = γ·(x − mean)/√(variance + ε) + β over all numbers of a sample.
#[derive(Debug)]
pub struct LayerNorm {
    shape: Shape,
    epsilon: f64,
    affine: bool,
}

/// Numbers per sample that the passes need, at most.
const STATISTICS: usize = 8;

thread_local! {
    /// Means and the like, one number per sample each; grows to the largest block and is used again.
    static SCRATCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

fn with_statistics(n: usize, f: impl FnOnce([&mut [f64]; STATISTICS])) {
    SCRATCH.with(|scratch| {
        let mut scratch = scratch.borrow_mut();
        if scratch.len() < STATISTICS * n {
            scratch.resize(STATISTICS * n, 0.0);
        }
        let mut parts = scratch.chunks_exact_mut(n.max(1));
        f(std::array::from_fn(|_| parts.next().unwrap_or_default()));
    });
}

/// out ← the mean over features j of `term(j·n + i, i)` for every sample i.
fn mean(out: &mut [f64], features: usize, term: impl Fn(usize, usize) -> f64) {
    let n = out.len();
    out.fill(0.0);
    for j in 0..features {
        out.iter_mut().enumerate().for_each(|(i, o)| *o += term(j * n + i, i));
    }
    out.iter_mut().for_each(|o| *o /= features as f64);
}

/// out ← `term(j, j·n + i, i)` for every feature j and sample i.
fn fill(out: &mut [f64], n: usize, term: impl Fn(usize, usize, usize) -> f64) {
    for (j, row) in out.chunks_exact_mut(n).enumerate() {
        row.iter_mut().enumerate().for_each(|(i, o)| *o = term(j, j * n + i, i));
    }
}

/// A tangent that may be absent, which means 0.
fn at(values: Option<&[f64]>, k: usize) -> f64 {
    values.map_or(0.0, |values| values[k])
}

impl LayerNorm {
    /// Normalises inputs of the given shape.
    pub fn new(shape: Shape, epsilon: f64, affine: bool) -> Result<Self> {
        crate::error::check_positive("epsilon of a normalisation", epsilon)?;
        if shape.len() < 2 {
            return Err(Error::shape("input of a normalisation", "at least 2 numbers per sample", shape));
        }
        Ok(Self { shape, epsilon, affine })
    }

    fn features(&self) -> usize {
        self.shape.len()
    }

    /// γ of feature j; `missing` without one.
    fn factor(&self, params: &[f64], j: usize, missing: f64) -> f64 {
        if self.affine { params[j] } else { missing }
    }

    fn shift(&self, params: &[f64], j: usize) -> f64 {
        if self.affine { params[self.features() + j] } else { 0.0 }
    }

    /// ⟨x⟩ and r.
    fn moments(&self, x: &[f64], center: &mut [f64], r: &mut [f64]) {
        mean(center, self.features(), |k, _| x[k]);
        mean(r, self.features(), |k, i| (x[k] - center[i]).powi(2));
        r.iter_mut().for_each(|v| *v = 1.0 / (*v + self.epsilon).sqrt());
    }

    /// ⟨ẋ⟩ and the first coefficient of r, −r³⟨cċ⟩.
    fn first(&self, x: &[f64], dx: Option<&[f64]>, [center, r, d_center, d_r]: [&mut [f64]; 4]) {
        mean(d_center, self.features(), |k, _| at(dx, k));
        mean(d_r, self.features(), |k, i| (x[k] - center[i]) * (at(dx, k) - d_center[i]));
        d_r.iter_mut().zip(&*r).for_each(|(v, r)| *v *= -r.powi(3));
    }
}

impl Layer for LayerNorm {
    fn output(&self) -> Shape {
        self.shape
    }

    fn parameters(&self) -> Vec<(&'static str, Vec<usize>)> {
        let dims = match self.shape {
            Shape::Features(n) => vec![n],
            Shape::Image { channels, height, width } => vec![channels, height, width],
        };
        if self.affine { vec![("weight", dims.clone()), ("bias", dims)] } else { Vec::new() }
    }

    fn start(&self) -> Option<Vec<f64>> {
        let mut start = vec![1.0; self.features()];
        start.resize(2 * self.features(), 0.0);
        self.affine.then_some(start)
    }

    fn forward(&self, n: usize, params: &[f64], x: &[f64], y: &mut [f64]) {
        with_statistics(n, |[center, r, ..]| {
            self.moments(x, center, r);
            fill(y, n, |j, k, i| {
                self.factor(params, j, 1.0) * ((x[k] - center[i]) * r[i]) + self.shift(params, j)
            });
        });
    }

    fn needs_output(&self) -> bool {
        false
    }

    fn tangent(
        &self,
        At { n, params, x, .. }: At<'_>,
        direction: &[f64],
        dx: Option<&[f64]>,
        dy: &mut [f64],
    ) {
        with_statistics(n, |[center, r, d_center, d_r, ..]| {
            self.moments(x, center, r);
            self.first(x, dx, [center, r, d_center, d_r]);
            fill(dy, n, |j, k, i| {
                let c = x[k] - center[i];
                let normal = (at(dx, k) - d_center[i]) * r[i] + c * d_r[i];
                self.factor(params, j, 1.0) * normal
                    + self.factor(direction, j, 0.0) * (c * r[i])
                    + self.shift(direction, j)
            });
        });
    }

    fn second(
        &self,
        At { n, params, x, .. }: At<'_>,
        direction: &[f64],
        dx: Option<&[f64]>,
        d2x: Option<&[f64]>,
        d2y: &mut [f64],
    ) {
        with_statistics(n, |[center, r, d_center, d_r, d2_center, d2_r, ..]| {
            self.moments(x, center, r);
            self.first(x, dx, [center, r, d_center, d_r]);
            mean(d2_center, self.features(), |k, _| at(d2x, k));
            // Coefficients v of the variance give those of r: −½r³v₂ + ⅜r⁵v₁², with v₁ = −2r₁/r³.
            mean(d2_r, self.features(), |k, i| {
                (at(dx, k) - d_center[i]).powi(2) + 2.0 * (x[k] - center[i]) * (at(d2x, k) - d2_center[i])
            });
            for ((v, r), d_r) in d2_r.iter_mut().zip(&*r).zip(&*d_r) {
                *v = -0.5 * r.powi(3) * *v + 1.5 * d_r * d_r / r;
            }
            fill(d2y, n, |j, k, i| {
                let (c, c1) = (x[k] - center[i], at(dx, k) - d_center[i]);
                let normal = (at(d2x, k) - d2_center[i]) * r[i] + c1 * d_r[i] + c * d2_r[i];
                let first = c1 * r[i] + c * d_r[i];
                self.factor(params, j, 1.0) * normal + self.factor(direction, j, 0.0) * first
            });
        });
    }

    fn backward(
        &self,
        At { n, params, x, .. }: At<'_>,
        y_adjoint: &[f64],
        x_adjoint: Option<&mut [f64]>,
        gradient: Option<&mut [f64]>,
    ) {
        with_statistics(n, |[center, r, even, along, ..]| {
            self.moments(x, center, r);
            let normal = |k: usize, i: usize| (x[k] - center[i]) * r[i];
            if let Some(gradient) = gradient.filter(|_| self.affine) {
                let (factors, shifts) = gradient.split_at_mut(self.features());
                for (j, u) in y_adjoint.chunks_exact(n).enumerate() {
                    factors[j] += u.iter().enumerate().map(|(i, u)| u * normal(j * n + i, i)).sum::<f64>();
                    shifts[j] += u.iter().sum::<f64>();
                }
            }
            let Some(x_adjoint) = x_adjoint else { return };
            // g = γȳ is the adjoint of x̂: x̄ = r(g − ⟨g⟩ − x̂⟨gx̂⟩).
            let g = |j: usize, k: usize| self.factor(params, j, 1.0) * y_adjoint[k];
            mean(even, self.features(), |k, _| g(k / n, k));
            mean(along, self.features(), |k, i| g(k / n, k) * normal(k, i));
            fill(x_adjoint, n, |j, k, i| r[i] * (g(j, k) - even[i] - normal(k, i) * along[i]));
        });
    }

    fn backward_tangent(
        &self,
        At { n, params, x, .. }: At<'_>,
        direction: &[f64],
        dx: Option<&[f64]>,
        y_adjoint: &[f64],
        dy_adjoint: &[f64],
        dx_adjoint: Option<&mut [f64]>,
        d_gradient: &mut [f64],
    ) {
        with_statistics(n, |[center, r, d_center, d_r, even, along, d_even, d_along]| {
            self.moments(x, center, r);
            self.first(x, dx, [center, r, d_center, d_r]);
            let normal = |k: usize, i: usize| (x[k] - center[i]) * r[i];
            let d_normal =
                |k: usize, i: usize| (at(dx, k) - d_center[i]) * r[i] + (x[k] - center[i]) * d_r[i];
            if self.affine {
                let (factors, shifts) = d_gradient.split_at_mut(self.features());
                for j in 0..self.features() {
                    for (i, k) in (j * n..(j + 1) * n).enumerate() {
                        factors[j] += dy_adjoint[k] * normal(k, i) + y_adjoint[k] * d_normal(k, i);
                        shifts[j] += dy_adjoint[k];
                    }
                }
            }
            let Some(dx_adjoint) = dx_adjoint else { return };
            let g = |j: usize, k: usize| self.factor(params, j, 1.0) * y_adjoint[k];
            let d_g = |j: usize, k: usize| {
                self.factor(params, j, 1.0) * dy_adjoint[k] + self.factor(direction, j, 0.0) * y_adjoint[k]
            };
            mean(even, self.features(), |k, _| g(k / n, k));
            mean(along, self.features(), |k, i| g(k / n, k) * normal(k, i));
            mean(d_even, self.features(), |k, _| d_g(k / n, k));
            mean(d_along, self.features(), |k, i| {
                d_g(k / n, k) * normal(k, i) + g(k / n, k) * d_normal(k, i)
            });
            fill(dx_adjoint, n, |j, k, i| {
                d_r[i] * (g(j, k) - even[i] - normal(k, i) * along[i])
                    + r[i] * (d_g(j, k) - d_even[i] - d_normal(k, i) * along[i] - normal(k, i) * d_along[i])
            });
        });
    }

    fn per_sample_gradient(&self, At { n, x, .. }: At<'_>, y_adjoint: &[f64], out: &mut [f64]) {
        if !self.affine {
            return;
        }
        let (factors, shifts) = out.split_at_mut(self.features() * n);
        with_statistics(n, |[center, r, ..]| {
            self.moments(x, center, r);
            fill(factors, n, |_, k, i| y_adjoint[k] * ((x[k] - center[i]) * r[i]));
        });
        shifts.copy_from_slice(y_adjoint);
    }
}
