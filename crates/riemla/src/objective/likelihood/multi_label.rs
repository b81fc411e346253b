//! Several yes/no labels at once: independent Bernoulli likelihoods, loss Σ_c log(1 + e^{f_c}) − y_c·f_c, Λ = diag(p(1 − p)).

use super::{BlockTargets, OutputLoss};
use crate::linalg::elementwise::sigmoid;

pub(super) struct MultiLabel;

impl OutputLoss for MultiLabel {
    fn loss(
        &self,
        n: usize,
        f: &[f64],
        targets: &BlockTargets,
        weights: &[f64],
        residual: &mut [f64],
        _scratch: &mut [f64],
    ) -> f64 {
        let BlockTargets::Values(labels) = targets else { return 0.0 };
        sigmoid(f, residual);
        let mut total = 0.0;
        for (i, ((r, f), y)) in residual.iter_mut().zip(f).zip(labels).enumerate() {
            let loss = f.max(0.0) - y * f + (-f.abs()).exp().ln_1p();
            total += if weights.is_empty() { loss } else { weights[i % n] * loss };
            *r -= y;
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

    fn factor(&self, n: usize, f: &[f64], j: usize, out: &mut [f64], _scratch: &mut [f64]) {
        out.fill(0.0);
        let out = &mut out[j * n..(j + 1) * n];
        sigmoid(&f[j * n..(j + 1) * n], out);
        out.iter_mut().for_each(|o| *o = (*o * (1.0 - *o)).sqrt());
    }
}
