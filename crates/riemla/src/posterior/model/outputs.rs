//! Network outputs for many draws of the weights, in parallel over draws.

use rayon::prelude::*;

use crate::error::{check_finite, check_len};
use crate::nn::{Network, Trace, pack, unpack};
use crate::{Error, Result};

/// Samples per block.
const BLOCK: usize = 256;

/// Checks row-major inputs and returns the number of rows.
pub(super) fn check_inputs(network: &Network, inputs: &[f64]) -> Result<usize> {
    let d = network.inputs();
    if !inputs.len().is_multiple_of(d) {
        return Err(Error::shape("inputs", format!("a multiple of the network's {d} inputs"), inputs.len()));
    }
    check_finite("inputs", inputs)?;
    Ok(inputs.len() / d)
}

/// The inputs in packed blocks: (number of samples, features × n).
pub(super) fn blocks(network: &Network, inputs: &[f64], rows: usize) -> Vec<(usize, Vec<f64>)> {
    blocks_of(BLOCK, network, inputs, rows)
}

/// The inputs in packed blocks of at most `size` samples.
pub(super) fn blocks_of(
    size: usize,
    network: &Network,
    inputs: &[f64],
    rows: usize,
) -> Vec<(usize, Vec<f64>)> {
    let size = size.min(BLOCK);
    let pack_rows = |start: usize| {
        let rows: Vec<usize> = (start..(start + size).min(rows)).collect();
        (rows.len(), pack(inputs, network.inputs(), &rows))
    };
    (0..rows).step_by(size).map(pack_rows).collect()
}

fn check_thetas(network: &Network, thetas: &[&[f64]]) -> Result<()> {
    thetas.iter().try_for_each(|theta| check_len("weights", network.dim(), theta.len()))
}

/// Outputs of every draw: per draw a row-major rows × outputs array.
pub(super) fn outputs(network: &Network, thetas: &[&[f64]], inputs: &[f64]) -> Result<Vec<Vec<f64>>> {
    check_thetas(network, thetas)?;
    let rows = check_inputs(network, inputs)?;
    let blocks = blocks(network, inputs, rows);
    let run = |theta: &&[f64]| {
        let mut out = Vec::with_capacity(rows * network.outputs());
        let mut values = Trace::of_output(network, BLOCK.min(rows));
        for (n, x) in &blocks {
            values.resize(*n);
            network.forward(theta, x, &mut values);
            unpack(values.output(), *n, network.outputs(), &mut out);
        }
        out
    };
    Ok(thetas.par_iter().map(run).collect())
}

/// Outputs f(x; θ*) + J(x)(θ − θ*) of every draw, in the same layout.
pub(super) fn linearized_outputs(
    network: &Network,
    center: &[f64],
    thetas: &[&[f64]],
    inputs: &[f64],
) -> Result<Vec<Vec<f64>>> {
    check_thetas(network, thetas)?;
    check_len("centre of the linearisation", network.dim(), center.len())?;
    let rows = check_inputs(network, inputs)?;
    let blocks = blocks(network, inputs, rows);
    let directions: Vec<Vec<f64>> =
        thetas.iter().map(|theta| theta.iter().zip(center).map(|(t, c)| t - c).collect()).collect();
    let mut all = vec![Vec::with_capacity(rows * network.outputs()); thetas.len()];
    for (n, x) in &blocks {
        let mut values = Trace::of_values(network, *n);
        network.forward(center, x, &mut values);
        all.par_iter_mut().zip(&directions).for_each(|(out, direction)| {
            let mut tangents = Trace::new(network, *n);
            network.tangent(center, direction, x, &values, &mut tangents);
            let sum: Vec<f64> = values.output().iter().zip(tangents.output()).map(|(f, d)| f + d).collect();
            unpack(&sum, *n, network.outputs(), out);
        });
    }
    Ok(all)
}
