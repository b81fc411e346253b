//! Bernoulli likelihood of a single logit: loss log(1 + eᶠ) − y·f, p = sigmoid(f), Λ = p(1 − p).

use super::{BlockTargets, OutputLoss};
use crate::linalg::elementwise::sigmoid;

pub(super) struct Bernoulli;

impl OutputLoss for Bernoulli {
    fn loss(
        &self,
        _n: usize,
        f: &[f64],
        targets: &BlockTargets,
        weights: &[f64],
        residual: &mut [f64],
        _scratch: &mut [f64],
    ) -> f64 {
        sigmoid(f, residual);
        let mut total = 0.0;
        if let BlockTargets::Classes(labels) = targets {
            for (i, ((r, &f), &label)) in residual.iter_mut().zip(f).zip(labels).enumerate() {
                let (y, weight) = (label as f64, weights.get(i).copied().unwrap_or(1.0));
                total += weight * (f.max(0.0) - y * f + (-f.abs()).exp().ln_1p());
                *r -= y;
            }
        }
        total
    }

    fn fisher_product(&self, _n: usize, f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        sigmoid(f, out);
        for (o, d) in out.iter_mut().zip(d) {
            *o = *o * (1.0 - *o) * d;
        }
    }

    fn christoffel(&self, _n: usize, f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        sigmoid(f, out);
        for (o, d) in out.iter_mut().zip(d) {
            *o = 0.5 * *o * (1.0 - *o) * (1.0 - 2.0 * *o) * d * d;
        }
    }

    fn factor(&self, _n: usize, f: &[f64], _j: usize, out: &mut [f64], _scratch: &mut [f64]) {
        sigmoid(f, out);
        for o in out {
            *o = (*o * (1.0 - *o)).sqrt();
        }
    }
}
