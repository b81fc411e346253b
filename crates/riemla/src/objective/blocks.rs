//! Data cut into blocks that fit the cache, packed with samples contiguous.

use super::likelihood::{BlockTargets, Likelihood};
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

fn pack_block(data: &Dataset, rows: &[usize]) -> Block {
    let targets = match data.targets() {
        Targets::Classes(labels) => BlockTargets::Classes(rows.iter().map(|&r| labels[r]).collect()),
        Targets::Values { values, outputs } => BlockTargets::Values(pack(values, *outputs, rows)),
    };
    Block { n: rows.len(), x: pack(data.inputs(), data.features(), rows), targets }
}
