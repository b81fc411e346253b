//! Problems with known solutions.

use crate::linalg::vector::{axpy, dot};
use crate::objective::Objective;
use crate::random::{Purpose, fill_normal, stream};
use crate::train::Stochastic;

pub(super) fn normals(n: usize, index: u64) -> Vec<f64> {
    let mut out = vec![0.0; n];
    fill_normal(&mut stream(7, Purpose::Data, index), &mut out);
    out
}

/// Σ hⱼ(θⱼ − cⱼ)²/2.
pub(super) struct Quadratic {
    pub(super) curvatures: Vec<f64>,
    pub(super) centre: Vec<f64>,
}

impl Quadratic {
    pub(super) fn new(curvatures: &[f64], centre: &[f64]) -> Self {
        Self { curvatures: curvatures.to_vec(), centre: centre.to_vec() }
    }
}

/// A function from (θ, gradient to write) to the value, as an objective.
pub(super) struct Function<F>(pub(super) usize, pub(super) F);

impl<F: Fn(&[f64], &mut [f64]) -> f64 + Send + Sync> Objective for Function<F> {
    fn dim(&self) -> usize {
        self.0
    }
    fn value(&self, theta: &[f64]) -> f64 {
        (self.1)(theta, &mut vec![0.0; self.0])
    }
    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        (self.1)(theta, gradient)
    }
}

impl Objective for Quadratic {
    fn dim(&self) -> usize {
        self.centre.len()
    }
    fn value(&self, theta: &[f64]) -> f64 {
        self.value_and_gradient(theta, &mut vec![0.0; theta.len()])
    }
    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for j in 0..theta.len() {
            let x = theta[j] - self.centre[j];
            gradient[j] = self.curvatures[j] * x;
            sum += 0.5 * self.curvatures[j] * x * x;
        }
        sum
    }
}

/// Σ 100(θⱼ₊₁ − θⱼ²)² + (1 − θⱼ)², with its minimum 0 at (1, …, 1).
pub(super) fn rosenbrock(theta: &[f64], gradient: &mut [f64]) -> f64 {
    let mut value = 0.0;
    for j in 0..theta.len() - 1 {
        let (a, b) = (theta[j + 1] - theta[j] * theta[j], 1.0 - theta[j]);
        value += 100.0 * a * a + b * b;
        gradient[j] += -400.0 * a * theta[j] - 2.0 * b;
        gradient[j + 1] += 200.0 * a;
    }
    value
}

/// log(1 + exp(z)) and its derivative.
fn softplus(z: f64) -> (f64, f64) {
    (z.max(0.0) + (-z.abs()).exp().ln_1p(), 1.0 / (1.0 + (-z).exp()))
}

/// Logistic regression on 200 noisy points in `dim` dimensions with prior precision 0.1.
pub(super) fn logistic(dim: usize) -> impl Objective {
    let (x, noise, truth) = (normals(200 * dim, 1), normals(200, 2), normals(dim, 3));
    Function(dim, move |theta: &[f64], gradient: &mut [f64]| {
        let mut value = 0.05 * dot(theta, theta);
        axpy(0.1, theta, gradient);
        for (row, e) in x.chunks(dim).zip(&noise) {
            let y = if dot(row, &truth) + e > 0.0 { 1.0 } else { 0.0 };
            let (loss, p) = softplus(dot(row, theta));
            value += loss - y * dot(row, theta);
            axpy(p - y, row, gradient);
        }
        value
    })
}

/// A tanh network 2-88-1 (K = 352) on 265 noisy labels with prior precision 0.01: many minima
/// with losses about 50, flat and steep directions, as in the paper's experiments.
pub(super) fn network() -> impl Objective {
    const HIDDEN: usize = 88;
    let (x, noise) = (normals(2 * 265, 4), normals(265, 5));
    Function(4 * HIDDEN, move |theta: &[f64], gradient: &mut [f64]| {
        let mut value = 0.005 * dot(theta, theta);
        axpy(0.01, theta, gradient);
        for (x, e) in x.chunks(2).zip(&noise) {
            let y = if x[0] * x[1] + 0.5 * x[0] + 0.7 * e > 0.0 { 1.0 } else { 0.0 };
            let mut hidden = [0.0; HIDDEN];
            let mut f = 0.0;
            for (h, w) in hidden.iter_mut().zip(theta.chunks(4)) {
                *h = (w[0] * x[0] + w[1] * x[1] + w[2]).tanh();
                f += w[3] * *h;
            }
            let (loss, p) = softplus(f);
            value += loss - y * f;
            for ((w, g), h) in theta.chunks(4).zip(gradient.chunks_mut(4)).zip(hidden) {
                let back = (p - y) * w[3] * (1.0 - h * h);
                axpy(back, &[x[0], x[1], 1.0, 0.0], g);
                g[3] += (p - y) * h;
            }
        }
        value
    })
}

/// Σ (xᵢ·θ − yᵢ)²/2 + (δ/2)‖θ‖² with δ = 0.5.
pub(super) struct LeastSquares {
    pub(super) x: Vec<[f64; 3]>,
    pub(super) y: Vec<f64>,
}

impl LeastSquares {
    pub(super) fn new(n: usize, noise: f64) -> Self {
        let x: Vec<[f64; 3]> = normals(3 * n, 6).as_chunks().0.to_vec();
        let errors = normals(n, 8);
        let y = x.iter().zip(errors).map(|(x, e)| dot(x, &[1.0, -2.0, 0.5]) + noise * e).collect();
        Self { x, y }
    }
}

impl Stochastic for LeastSquares {
    fn len(&self) -> usize {
        self.y.len()
    }
    fn weights(&self) -> usize {
        3
    }
    fn batch_value_and_gradient(&self, indices: &[usize], theta: &[f64], gradient: &mut [f64]) -> f64 {
        let scale = self.len() as f64 / indices.len() as f64;
        let mut value = 0.25 * dot(theta, theta);
        gradient.fill(0.0);
        axpy(0.5, theta, gradient);
        for &i in indices {
            let residual = dot(&self.x[i], theta) - self.y[i];
            value += 0.5 * scale * residual * residual;
            axpy(scale * residual, &self.x[i], gradient);
        }
        value
    }
}

impl Objective for LeastSquares {
    fn dim(&self) -> usize {
        3
    }
    fn value(&self, theta: &[f64]) -> f64 {
        self.value_and_gradient(theta, &mut [0.0; 3])
    }
    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let all: Vec<usize> = (0..self.len()).collect();
        self.batch_value_and_gradient(&all, theta, gradient)
    }
}
