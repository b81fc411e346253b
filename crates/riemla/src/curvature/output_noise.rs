//! Noise of every output by the evidence: MacKay's fixed point, one step at a time.
//!
//! The evidence is stationary in log σ_c where Σ(f_c − y_c)²/σ_c² = N − γ_c. γ_c is the number of weights that output c
//! determines: the sum over the data of the variance of that output under the Gaussian, divided by σ_c². Unlike one noise
//! for all outputs, these change the curvature's eigenvectors, so that every step needs the curvature anew.

use super::outer::OuterProduct;
use super::{Gaussian, PriorChoice};
use crate::nn::{Trace, unpack};
use crate::objective::{Likelihood, NetworkLoss, OutputNoise};
use crate::{Result, curvature::Curvature};

/// Share of the numbers of an output that are left to determine its noise, at least.
const LEAST_LEFT: f64 = 1e-3;
/// Settled when log σ changes by less.
pub(super) const SETTLED: f64 = 1e-3;
/// Most steps.
pub(super) const STEPS: usize = 30;

/// The noise of each output, where it has its own.
pub(super) fn of(likelihood: Likelihood) -> Option<OutputNoise> {
    match likelihood {
        Likelihood::GaussianPerOutput { sigma_noise } => Some(sigma_noise),
        _ => None,
    }
}

/// Whether a fit chooses it.
pub(super) fn is_chosen(likelihood: Likelihood, prior: &PriorChoice, curvature: Curvature) -> bool {
    let optimized = matches!(prior, PriorChoice::Optimize | PriorChoice::OptimizePerLayer);
    of(likelihood).is_some() && optimized && curvature == Curvature::Ggn
}

/// Largest change of log σ between two noises.
pub(super) fn change(a: &OutputNoise, b: &OutputNoise) -> f64 {
    let changes = a.sigmas().iter().zip(b.sigmas()).map(|(a, b)| (a / b).ln().abs());
    changes.fold(0.0, f64::max)
}

/// The next noise at the weights and curvature of a Gaussian, which is the GGN of this loss.
///
/// The prior is held fixed, or (`with_prior`) moves with the noise, so that δ times the mean of σ² in logarithms stays.
pub(super) fn next(
    loss: &NetworkLoss,
    noise: &OutputNoise,
    gaussian: &Gaussian,
    with_prior: bool,
) -> Result<OutputNoise> {
    let outputs = loss.network().outputs();
    let (squares, determined) = (residual_squares(loss, gaussian), determined(loss, gaussian, outputs));
    let numbers = loss.total_weight() * loss.scale();
    let theta = gaussian.theta();
    let shared = if with_prior {
        let shrunk = 2.0 * loss.prior().value(theta);
        (determined.iter().sum::<f64>() - shrunk) / outputs as f64
    } else {
        0.0
    };
    let sigma = |c: usize| {
        let left = (numbers - determined[c] + shared).max(LEAST_LEFT * numbers);
        let variance = squares[c] / left;
        if variance > 0.0 { variance.sqrt() } else { noise.sigmas()[c] }
    };
    OutputNoise::new(&(0..outputs).map(sigma).collect::<Vec<_>>())
}

/// Σ(f_c − y_c)² of every output, weighted and scaled like the loss.
fn residual_squares(loss: &NetworkLoss, gaussian: &Gaussian) -> Vec<f64> {
    let network = loss.network();
    let mut squares = vec![0.0; network.outputs()];
    let unit = Likelihood::Gaussian { sigma_noise: 1.0 }.rule();
    for block in loss.blocks() {
        let n = block.n;
        let mut values = Trace::new(network, n);
        network.forward(gaussian.theta(), &block.x, &mut values);
        let mut residual = vec![0.0; network.outputs() * n];
        unit.loss(n, values.output(), &block.targets, &[], &mut residual, &mut []);
        block.weigh(&mut residual, f64::sqrt);
        for (sum, residual) in squares.iter_mut().zip(residual.chunks_exact(n)) {
            *sum += loss.scale() * residual.iter().map(|r| r * r).sum::<f64>();
        }
    }
    squares
}

/// γ of every output.
fn determined(loss: &NetworkLoss, gaussian: &Gaussian, outputs: usize) -> Vec<f64> {
    let (theta, subset) = (gaussian.theta(), gaussian.subset());
    let mut determined = vec![0.0; outputs];
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    OuterProduct::Ggn.for_each_seed(loss, theta, |c, block, values, adjoint| {
        let (n, k) = (values.n(), subset.len());
        columns.resize(n * k, 0.0);
        let ranges = subset.as_slice();
        loss.network().per_sample_gradient(theta, &block.x, values, adjoint, ranges, &mut columns);
        rows.clear();
        unpack(&columns, n, k, &mut rows);
        let sum: f64 = gaussian.precision().inverse_quadratic(&mut rows, n).iter().sum();
        determined[c] += loss.scale() * sum;
    });
    determined
}
