//! Categorical likelihood: loss log Σ exp f − f_y, p = softmax(f), Λ = diag(p) − ppᵀ.

use super::{BlockTargets, OutputLoss};
use crate::linalg::elementwise::softmax_rows;
use crate::linalg::vector::{dot, sum};

pub(super) struct Categorical;

impl OutputLoss for Categorical {
    fn loss(
        &self,
        n: usize,
        f: &[f64],
        targets: &BlockTargets,
        weights: &[f64],
        residual: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        let log_normalizer = &mut scratch[..n];
        softmax_rows(f, n, f.len() / n, residual, log_normalizer);
        let mut total = if weights.is_empty() { sum(log_normalizer) } else { dot(weights, log_normalizer) };
        if let BlockTargets::Classes(labels) = targets {
            for (i, &label) in labels.iter().enumerate() {
                let weight = weights.get(i).copied().unwrap_or(1.0);
                total -= weight * f[label * n + i];
                residual[label * n + i] -= 1.0;
            }
        }
        total
    }

    fn fisher_product(&self, n: usize, f: &[f64], d: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (mean, probabilities) = scratch[..n + f.len()].split_at_mut(n);
        softmax_rows(f, n, f.len() / n, probabilities, mean);
        mean.fill(0.0);
        for (p, d) in probabilities.chunks_exact(n).zip(d.chunks_exact(n)) {
            for ((m, p), d) in mean.iter_mut().zip(p).zip(d) {
                *m += p * d;
            }
        }
        for ((out, p), d) in out.chunks_exact_mut(n).zip(probabilities.chunks_exact(n)).zip(d.chunks_exact(n))
        {
            for (((o, p), d), m) in out.iter_mut().zip(p).zip(d).zip(&*mean) {
                *o = p * (d - m);
            }
        }
    }

    /// ½ p⊙[(d − p·d)² − Var_p d].
    fn christoffel(&self, n: usize, f: &[f64], d: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        softmax_rows(f, n, f.len() / n, out, &mut scratch[..n]);
        for i in 0..n {
            let sample = || (i..f.len()).step_by(n);
            let mean: f64 = sample().map(|k| out[k] * d[k]).sum();
            let variance: f64 = sample().map(|k| out[k] * (d[k] - mean).powi(2)).sum();
            sample().for_each(|k| out[k] *= 0.5 * ((d[k] - mean).powi(2) - variance));
        }
    }

    /// S = diag(√p) − p√pᵀ: since the p sum to one, SSᵀ = diag(p) − ppᵀ.
    fn factor(&self, n: usize, f: &[f64], j: usize, out: &mut [f64], scratch: &mut [f64]) {
        softmax_rows(f, n, f.len() / n, out, &mut scratch[..n]);
        let root = &mut scratch[..n];
        for (r, p) in root.iter_mut().zip(&out[j * n..(j + 1) * n]) {
            *r = p.sqrt();
        }
        for (c, column) in out.chunks_exact_mut(n).enumerate() {
            for (o, r) in column.iter_mut().zip(&*root) {
                *o = if c == j { r - *o * r } else { -*o * r };
            }
        }
    }
}
