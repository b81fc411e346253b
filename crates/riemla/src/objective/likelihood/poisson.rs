//! Poisson likelihood of counts with the log link: loss eᶠ − y·f, rate eᶠ, Λ = eᶠ.

use super::{BlockTargets, OutputLoss};
use crate::score::ln_gamma;

pub(super) struct Poisson;

impl OutputLoss for Poisson {
    fn loss(
        &self,
        n: usize,
        f: &[f64],
        targets: &BlockTargets,
        weights: &[f64],
        residual: &mut [f64],
        _scratch: &mut [f64],
    ) -> f64 {
        let BlockTargets::Values(counts) = targets else { return 0.0 };
        let mut total = 0.0;
        for (i, ((r, f), y)) in residual.iter_mut().zip(f).zip(counts).enumerate() {
            let rate = f.exp();
            let loss = rate - y * f;
            total += if weights.is_empty() { loss } else { weights[i % n] * loss };
            *r = rate - y;
        }
        total
    }

    /// Σ log y!.
    fn constant(&self, n: usize, targets: &BlockTargets, weights: &[f64]) -> f64 {
        let BlockTargets::Values(counts) = targets else { return 0.0 };
        let weight = |i: usize| weights.get(i % n).copied().unwrap_or(1.0);
        counts.iter().enumerate().map(|(i, y)| weight(i) * ln_gamma(y + 1.0)).sum()
    }

    fn fisher_product(&self, _n: usize, f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        for ((o, f), d) in out.iter_mut().zip(f).zip(d) {
            *o = f.exp() * d;
        }
    }

    fn christoffel(&self, _n: usize, f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        for ((o, f), d) in out.iter_mut().zip(f).zip(d) {
            *o = 0.5 * f.exp() * d * d;
        }
    }

    fn factor(&self, n: usize, f: &[f64], j: usize, out: &mut [f64], _scratch: &mut [f64]) {
        out.fill(0.0);
        for (o, f) in out[j * n..(j + 1) * n].iter_mut().zip(&f[j * n..(j + 1) * n]) {
            *o = (0.5 * f).exp();
        }
    }
}
