//! Gaussian likelihood with a noise of its own for every output: loss Σ_c (f_c − y_c)²/(2σ_c²), Λ = diag(1/σ_c²).

use super::gaussian::log_two_pi_over;
use super::{BlockTargets, OutputLoss, weight_of};

pub(super) struct GaussianPerOutput {
    /// 1/σ_c².
    pub precisions: Vec<f64>,
}

impl OutputLoss for GaussianPerOutput {
    fn loss(
        &self,
        n: usize,
        f: &[f64],
        targets: &BlockTargets,
        weights: &[f64],
        residual: &mut [f64],
        _scratch: &mut [f64],
    ) -> f64 {
        let BlockTargets::Values(values) = targets else { return 0.0 };
        let mut total = 0.0;
        let outputs = residual.chunks_exact_mut(n).zip(f.chunks_exact(n)).zip(values.chunks_exact(n));
        for (((residual, f), values), precision) in outputs.zip(&self.precisions) {
            let mut squares = 0.0;
            for (i, ((r, f), y)) in residual.iter_mut().zip(f).zip(values).enumerate() {
                let e = f - y;
                squares += if weights.is_empty() { e * e } else { weights[i] * (e * e) };
                *r = precision * e;
            }
            total += precision * squares;
        }
        0.5 * total
    }

    fn constant(&self, n: usize, _targets: &BlockTargets, weights: &[f64]) -> f64 {
        let logs: f64 = self.precisions.iter().map(|precision| log_two_pi_over(*precision)).sum();
        0.5 * weight_of(n, weights) * logs
    }

    fn fisher_product(&self, n: usize, _f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        for ((out, d), precision) in out.chunks_exact_mut(n).zip(d.chunks_exact(n)).zip(&self.precisions) {
            out.iter_mut().zip(d).for_each(|(o, d)| *o = precision * d);
        }
    }

    fn christoffel(&self, _n: usize, _f: &[f64], _d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        out.fill(0.0);
    }

    fn factor(&self, n: usize, _f: &[f64], j: usize, out: &mut [f64], _scratch: &mut [f64]) {
        out.fill(0.0);
        out[j * n..(j + 1) * n].fill(self.precisions[j].sqrt());
    }
}
