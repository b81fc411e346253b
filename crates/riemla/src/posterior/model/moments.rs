//! Means and variances of the linearised network's outputs under a Gaussian over the weights.

use rayon::prelude::*;

use super::OutputMoments;
use super::outputs::{blocks_of, check_inputs};
use crate::Result;
use crate::curvature::Gaussian;
use crate::nn::{Adjoint, Network, Trace, unpack};

/// Numbers that one block's Jacobian may take (64 MB): large networks go in small blocks.
const JACOBIAN_NUMBERS: usize = 8 * 1024 * 1024;

/// The Gaussian over outputs that a Gaussian over the weights and the linearised network define.
pub(super) fn linearized_moments(
    network: &Network,
    gaussian: &Gaussian,
    inputs: &[f64],
) -> Result<OutputMoments> {
    crate::error::check_len("weights", network.dim(), gaussian.theta().len())?;
    let rows = check_inputs(network, inputs)?;
    let size = (JACOBIAN_NUMBERS / gaussian.subset().len().max(1)).max(1);
    let parts: Vec<(Vec<f64>, Vec<f64>)> = blocks_of(size, network, inputs, rows)
        .par_iter()
        .map(|(n, x)| block_outputs(network, gaussian, *n, x))
        .collect();
    let (mut mean, mut variance) = (Vec::new(), Vec::new());
    for (m, v) in parts {
        mean.extend(m);
        variance.extend(v);
    }
    Ok(OutputMoments { mean, variance })
}

fn block_outputs(network: &Network, gaussian: &Gaussian, n: usize, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (outputs, k) = (network.outputs(), gaussian.subset().len());
    let mut values = Trace::new(network, n);
    network.forward(gaussian.theta(), x, &mut values);
    let mut mean = Vec::with_capacity(n * outputs);
    unpack(values.output(), n, outputs, &mut mean);
    let mut variance = vec![0.0; n * outputs];
    let mut adjoint = Adjoint::new(network, n);
    let mut jacobian = vec![0.0; n * k];
    let mut rows = Vec::with_capacity(n * k);
    for c in 0..outputs {
        let seed = adjoint.seed(network, n);
        seed.fill(0.0);
        seed[c * n..(c + 1) * n].fill(1.0);
        let subset = gaussian.subset().as_slice();
        network.per_sample_gradient(gaussian.theta(), x, &values, &mut adjoint, subset, &mut jacobian);
        rows.clear();
        unpack(&jacobian, n, k, &mut rows);
        for (i, v) in gaussian.precision().inverse_quadratic(&mut rows, n).into_iter().enumerate() {
            variance[i * outputs + c] = v;
        }
    }
    (mean, variance)
}
