//! How much memory a structure will take, before any of it is allocated.

use super::Structure;
use super::gram::PANEL_ROWS;
use super::kronecker::block_shapes;
use super::low_rank::krylov;
use super::outer::rows_at_once;
use super::product::GROUPS;
use super::subset::SubsetRanges;
use crate::Result;
use crate::nn::Network;

/// Bytes that fitting a [`super::Laplace`] with this structure needs at its peak, beyond data and
/// loss: matrices, their factors and copies, and per-sample gradients. Right within a factor of 2
/// where it is above a few megabytes.
pub fn memory_estimate(structure: Structure, network: &Network, subset: &SubsetRanges) -> Result<usize> {
    let k = subset.len();
    let numbers = match structure {
        // The curvature and a copy that is reduced to a band, for its eigenvalues; before that, the
        // curvature with a panel and the gradients of some blocks of samples.
        Structure::Full => {
            let square = k.saturating_mul(k);
            let sums = square.saturating_add(PANEL_ROWS * k + gradients(network, subset));
            sums.max(square.saturating_mul(2))
        }
        Structure::Diagonal => gradients(network, subset) + 3 * k,
        Structure::Kronecker => kronecker(network, subset)?,
        // The Krylov basis and a block of products, or its result and the precision's copy; full
        // vectors of the products.
        Structure::LowRank { rank } => {
            let krylov = krylov(rank.min(k), network.outputs());
            let held = krylov.vectors(k) + krylov.block;
            let basis = held.max(2 * rank.min(k)).saturating_mul(k);
            basis.saturating_add((GROUPS + 2) * network.dim() + 2 * k)
        }
    };
    Ok(numbers.saturating_mul(size_of::<f64>()))
}

/// Numbers of the per-sample gradients that are made at once, and of the largest layer's once more.
fn gradients(network: &Network, subset: &SubsetRanges) -> usize {
    let lowest = subset.as_slice().first().map_or(0, |range| range.start);
    let passed = network.layer_ranges().into_iter().filter(|range| range.end > lowest);
    let largest = passed.map(|range| range.len()).max().unwrap_or(0);
    let n = crate::objective::block_samples(network);
    n.saturating_mul(subset.len() + largest).saturating_mul(rows_at_once(n, subset.len()))
}

/// Sums with their panels, then factors and eigenvectors (twice while they are copied, with the
/// workspace of the decomposition); all eigenvalues for the evidence.
fn kronecker(network: &Network, subset: &SubsetRanges) -> Result<usize> {
    let (mut squares, mut panels) = (0usize, 0);
    for block in block_shapes(network, subset) {
        let (a, b) = (block.shape.inputs(), block.shape.outputs);
        squares = squares.saturating_add(a * a + b * b);
        panels += PANEL_ROWS * (a + b);
    }
    // The adjoints of a block of samples, for all columns of the factor.
    let adjoints = network.outputs() * network.trace_len() * crate::objective::block_samples(network);
    let sums = squares + panels + adjoints;
    Ok(sums.saturating_add(squares).max(squares.saturating_mul(3)).saturating_add(2 * subset.len()))
}
