//! Gaussian likelihood whose noise depends on the input: the outputs are the means μ of all targets, then the
//! logarithms s = log σ² of their variances. Loss Σ ½[(y − μ)²e^{−s} + s].
//!
//! Its Hessian in (μ, s) depends on the target and is indefinite wherever |y − μ| > 0: its determinant is
//! −½(y − μ)²e^{−2s}. Λ is the Fisher information instead, the expectation of the Hessian over y: diag(e^{−s}, ½). So the
//! GGN is always positive semi-definite, and differs from the Hessian also for a linear network.

use super::gaussian::log_two_pi_over;
use super::{BlockTargets, OutputLoss, weight_of};

pub(super) struct Heteroscedastic;

/// Means and log-variances of a block.
fn halves(f: &[f64]) -> (&[f64], &[f64]) {
    f.split_at(f.len() / 2)
}

impl OutputLoss for Heteroscedastic {
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
        let (means, logs) = halves(f);
        let (of_means, of_logs) = residual.split_at_mut(means.len());
        let mut total = 0.0;
        for (i, y) in values.iter().enumerate() {
            let (e, precision) = (means[i] - y, (-logs[i]).exp());
            let loss = 0.5 * (e * e * precision + logs[i]);
            total += if weights.is_empty() { loss } else { weights[i % n] * loss };
            of_means[i] = precision * e;
            of_logs[i] = 0.5 * (1.0 - e * e * precision);
        }
        total
    }

    fn constant(&self, n: usize, targets: &BlockTargets, weights: &[f64]) -> f64 {
        0.5 * weight_of(n, weights) * targets.per_sample(n) as f64 * log_two_pi_over(1.0)
    }

    fn fisher_product(&self, _n: usize, f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        let (means, logs) = halves(f);
        let (of_means, of_logs) = out.split_at_mut(means.len());
        for i in 0..means.len() {
            of_means[i] = (-logs[i]).exp() * d[i];
            of_logs[i] = 0.5 * d[means.len() + i];
        }
    }

    fn hessian_product(
        &self,
        _n: usize,
        f: &[f64],
        targets: &BlockTargets,
        d: &[f64],
        out: &mut [f64],
        _scratch: &mut [f64],
    ) {
        let BlockTargets::Values(values) = targets else { return };
        let (means, logs) = halves(f);
        let (of_means, of_logs) = out.split_at_mut(means.len());
        for (i, y) in values.iter().enumerate() {
            let (e, precision) = (means[i] - y, (-logs[i]).exp());
            let (d_mean, d_log) = (d[i], d[means.len() + i]);
            of_means[i] = precision * (d_mean - e * d_log);
            of_logs[i] = precision * e * (0.5 * e * d_log - d_mean);
        }
    }

    /// The metric e^{−s}dμ² + ½ds² of normal distributions.
    fn christoffel(&self, _n: usize, f: &[f64], d: &[f64], out: &mut [f64], _scratch: &mut [f64]) {
        let (means, logs) = halves(f);
        let (of_means, of_logs) = out.split_at_mut(means.len());
        for i in 0..means.len() {
            let (precision, d_mean, d_log) = ((-logs[i]).exp(), d[i], d[means.len() + i]);
            of_means[i] = -precision * d_mean * d_log;
            of_logs[i] = 0.5 * precision * d_mean * d_mean;
        }
    }

    fn factor(&self, n: usize, f: &[f64], j: usize, out: &mut [f64], _scratch: &mut [f64]) {
        out.fill(0.0);
        let (means, logs) = halves(f);
        let column = &mut out[j * n..(j + 1) * n];
        match (j * n).checked_sub(means.len()) {
            Some(_) => column.fill(0.5f64.sqrt()),
            None => column.iter_mut().zip(&logs[j * n..]).for_each(|(o, s)| *o = (-0.5 * s).exp()),
        }
    }
}
