//! Data cut into blocks that fit the cache, packed with samples contiguous.

use super::likelihood::{BlockTargets, Likelihood, OutputLoss};
use crate::data::{Dataset, Targets};
use crate::nn::{Network, pack};
use crate::{Error, Result};

/// Consecutive samples, packed.
#[derive(Debug, Clone)]
pub struct Block {
    /// Number of samples.
    pub n: usize,
    /// Inputs, features × n.
    pub x: Vec<f64>,
    /// Their targets.
    pub targets: BlockTargets,
    /// Their weights; empty if all are 1.
    pub weights: Vec<f64>,
}

/// The functions of a likelihood on a block, with the weights of its samples.
impl Block {
    /// The loss, and ∂loss/∂f.
    pub fn loss(&self, rule: &dyn OutputLoss, f: &[f64], residual: &mut [f64], scratch: &mut [f64]) -> f64 {
        let total = rule.loss(self.n, f, &self.targets, &self.weights, residual, scratch);
        self.weigh(residual, |weight| weight);
        total
    }

    /// What must be added to the loss to get −log p(y | f).
    pub fn constant(&self, rule: &dyn OutputLoss) -> f64 {
        rule.constant(self.n, &self.targets, &self.weights)
    }

    /// The product of the loss's Hessian in the outputs with d.
    pub fn hessian_product(
        &self,
        rule: &dyn OutputLoss,
        f: &[f64],
        d: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        rule.hessian_product(self.n, f, &self.targets, d, out, scratch);
        self.weigh(out, |weight| weight);
    }

    /// Λd.
    pub fn fisher_product(
        &self,
        rule: &dyn OutputLoss,
        f: &[f64],
        d: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        rule.fisher_product(self.n, f, d, out, scratch);
        self.weigh(out, |weight| weight);
    }

    /// The force that bends geodesics of the metric Λ moving along d.
    pub fn christoffel(
        &self,
        rule: &dyn OutputLoss,
        f: &[f64],
        d: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        rule.christoffel(self.n, f, d, out, scratch);
        self.weigh(out, |weight| weight);
    }

    /// Column `j` of S in Λ = SSᵀ.
    pub fn factor(&self, rule: &dyn OutputLoss, f: &[f64], j: usize, out: &mut [f64], scratch: &mut [f64]) {
        rule.factor(self.n, f, j, out, scratch);
        self.weigh(out, f64::sqrt);
    }

    /// Multiplies outputs × n numbers by a function of the weight of their sample.
    pub fn weigh(&self, out: &mut [f64], factor: impl Fn(f64) -> f64) {
        if self.weights.is_empty() {
            return;
        }
        for row in out.chunks_exact_mut(self.n) {
            row.iter_mut().zip(&self.weights).for_each(|(o, weight)| *o *= factor(*weight));
        }
    }
}

/// Numbers of a trace that one block may take: about half a second-level cache.
const TRACE_NUMBERS: usize = 64 * 1024;
/// Below this many samples the loops over samples are too short to be fast.
const MIN_SAMPLES: usize = 32;

/// Checks the data against network and likelihood.
pub(super) fn check(network: &Network, data: &Dataset, likelihood: &Likelihood) -> Result<()> {
    if data.features() != network.inputs() {
        return Err(Error::shape(
            "features per sample",
            format!("{} network inputs", network.inputs()),
            data.features(),
        ));
    }
    likelihood.check(network.outputs(), data.targets())
}

/// Largest number of samples in one block.
pub(crate) fn block_samples(network: &Network) -> usize {
    (TRACE_NUMBERS / network.trace_len().max(1)).max(MIN_SAMPLES)
}

/// Packs the given rows into blocks of nearly equal size.
pub(super) fn pack_blocks(network: &Network, data: &Dataset, rows: &[usize]) -> Vec<Block> {
    let largest = block_samples(network);
    let count = rows.len().div_ceil(largest).max(1);
    (0..count)
        .map(|b| pack_block(data, &rows[b * rows.len() / count..(b + 1) * rows.len() / count]))
        .collect()
}

/// Multiplies the weights of the samples, in the order of the rows, by a factor each.
pub(super) fn multiply_weights(blocks: &mut [Block], mut factors: &[f64]) {
    for block in blocks {
        let (of_block, rest) = factors.split_at(block.n);
        if block.weights.is_empty() {
            block.weights = of_block.to_vec();
        } else {
            block.weights.iter_mut().zip(of_block).for_each(|(weight, factor)| *weight *= factor);
        }
        factors = rest;
    }
}

fn pack_block(data: &Dataset, rows: &[usize]) -> Block {
    let targets = match data.targets() {
        Targets::Classes(labels) => BlockTargets::Classes(rows.iter().map(|&r| labels[r]).collect()),
        Targets::Values { values, outputs } => BlockTargets::Values(pack(values, *outputs, rows)),
    };
    let weights = data.weights().map_or(Vec::new(), |weights| rows.iter().map(|&r| weights[r]).collect());
    Block { n: rows.len(), x: pack(data.inputs(), data.features(), rows), targets, weights }
}
