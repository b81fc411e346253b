//! Gaussian likelihood: loss Σ(f − y)²/(2σ²) without its constant, Λ = 1/σ², with one σ for all outputs.

use super::{BlockTargets, OutputLoss, weight_of};

pub(super) struct Gaussian {
    /// 1/σ².
    pub precision: f64,
}

impl OutputLoss for Gaussian {
    fn loss(
        &self,
        n: usize,
        f: &[f64],
        targets: &BlockTargets,
        weights: &[f64],
        residual: &mut [f64],
        _scratch: &mut [f64],
    ) -> f64 {
        let mut total = 0.0;
        if let BlockTargets::Values(values) = targets {
            for (i, ((r, f), y)) in residual.iter_mut().zip(f).zip(values).enumerate() {
                let e = f - y;
                total += if weights.is_empty() { e * e } else { weights[i % n] * (e * e) };
                *r = self.precision * e;
            }
        }
        0.5 * self.precision * total
    }

    fn constant(&self, n: usize, targets: &BlockTargets, weights: &[f64]) -> f64 {
        0.5 * weight_of(n, weights) * targets.per_sample(n) as f64 * log_two_pi_over(self.precision)
    }

    fn fisher_product(&self, _n: usize, _f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        for (o, d) in out.iter_mut().zip(d) {
            *o = self.precision * d;
        }
    }

    fn christoffel(&self, _n: usize, _f: &[f64], _d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        out.fill(0.0);
    }

    fn factor(&self, n: usize, _f: &[f64], j: usize, out: &mut [f64], _scratch: &mut [f64]) {
        out.fill(0.0);
        out[j * n..(j + 1) * n].fill(self.precision.sqrt());
    }
}

/// log(2πσ²) for the precision 1/σ².
pub(super) fn log_two_pi_over(precision: f64) -> f64 {
    (2.0 * std::f64::consts::PI / precision).ln()
}
