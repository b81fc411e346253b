//! Kronecker-factored curvature (KFAC): one block A ⊗ B per layer.
//!
//! With the input of a layer extended by a 1 for its bias, p, and the adjoint of its output for
//! column j of the factor S, g_j, the exact block is Σₙ Σⱼ (ppᵀ) ⊗ (g_jg_jᵀ). It is replaced by
//! A ⊗ B with A the *mean* of ppᵀ and B the *sum* of g_jg_jᵀ over samples: exact for one sample, and
//! wherever one of the two is the same for all samples (a linear model with Gaussian noise).
//! Correlations between layers are left out.
//!
//! A convolution applies its weights at T positions. As in KFC (Grosse and Martens 2016, also called
//! "expand") A is the mean over samples and positions and B the sum over both: positions are
//! taken to be uncorrelated, and patches to be independent of adjoints. Exact at T = 1.
//!
//! With groups of channels each group's weights are such a block, and the biases of all groups another one.
//! Parameters that are no matrix (of normalisations) get their exact block: A = 1 and B the sum of outer
//! products of their gradients.
//!
//! Weights and bias of a layer share a block (Martens and Grosse 2015). laplace-torch gives the bias
//! a block of its own, which drops their correlation; a subset that names only one of the two gets
//! just that.

use std::sync::Arc;

use rayon::prelude::*;

use super::Curvature;
use super::gram::GramSum;
use super::outer::{OuterProduct, Outputs};
use super::structure::{BlockShape, KroneckerBlock, KroneckerPrecision};
use super::subset::SubsetRanges;
use crate::Result;
use crate::linalg::Matrix;
use crate::linalg::factor::SymmetricEigen;
use crate::linalg::vector::scale;
use crate::nn::{Adjoint, At, Layer, Network, Parameter, Patch, Positions, Trace};
use crate::objective::{Block, NetworkLoss};

/// A block of a subset: weights of one layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerBlock {
    /// Index of the layer.
    pub(super) layer: usize,
    pub(super) source: Source,
    pub(super) shape: BlockShape,
}

/// What a block's factors are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Inputs and adjoints at the positions of one linear map.
    Map {
        positions: usize,
        group: usize,
        /// First of the block's outputs in the layer.
        output: usize,
    },
    /// Gradients of the samples from the given parameter of the layer on: A is 1, B the exact block.
    Gradients { offset: usize },
}

impl LayerBlock {
    fn positions(&self) -> usize {
        match self.source {
            Source::Map { positions, .. } => positions,
            Source::Gradients { .. } => 1,
        }
    }
}

/// The blocks of a subset, in order.
pub(super) fn block_shapes(network: &Network, subset: &SubsetRanges) -> Vec<LayerBlock> {
    let chosen =
        |p: &&Parameter| subset.as_slice().iter().any(|r| r.start <= p.range.start && p.range.end <= r.end);
    let mut blocks: Vec<LayerBlock> = Vec::new();
    let mut start = 0;
    for parameter in network.parameters().iter().filter(chosen) {
        if let Some(layer) = network.layer(parameter.layer) {
            add_parameter(&mut blocks, layer, parameter, start, network);
        }
        start += parameter.range.len();
    }
    blocks
}

/// Adds the blocks of a parameter whose weights begin at `start` of the subset.
fn add_parameter(
    blocks: &mut Vec<LayerBlock>,
    layer: &dyn Layer,
    parameter: &Parameter,
    start: usize,
    network: &Network,
) {
    let last = blocks.last_mut().filter(|block| block.layer == parameter.layer);
    let (index, len, bias) = (parameter.layer, parameter.range.len(), parameter.dims.len() == 1);
    let Some(Positions { count: positions, groups }) = layer.positions() else {
        // All of the layer's parameters in one block.
        match last {
            Some(block) => block.shape.outputs += len,
            None => {
                let first = network.parameters().iter().find(|p| p.layer == index);
                let offset = parameter.range.start - first.map_or(0, |first| first.range.start);
                let shape = BlockShape { start, fan_in: 0, bias: true, outputs: len };
                blocks.push(LayerBlock { layer: index, source: Source::Gradients { offset }, shape });
            }
        }
        return;
    };
    match last {
        // Next to the weights of several groups the biases get a block of their own.
        Some(block) if bias && groups == 1 => block.shape.bias = true,
        _ => {
            let groups = if bias { 1 } else { groups };
            let fan_in = if bias { 0 } else { layer.fan_in() };
            let outputs = parameter.dims[0] / groups;
            for group in 0..groups {
                let source = Source::Map { positions, group, output: group * outputs };
                let shape = BlockShape { start: start + group * (len / groups), fan_in, bias, outputs };
                blocks.push(LayerBlock { layer: index, source, shape });
            }
        }
    }
}

/// Curvature of the likelihood as one Kronecker product per layer, by the factors' eigenpairs.
#[derive(Debug, Clone)]
pub struct KroneckerCurvature {
    blocks: Vec<KroneckerBlock>,
}

/// The reverse pass of one column of the factor, and the adjoints that it leaves at the outputs of some layers.
struct Column {
    adjoint: Adjoint,
    scratch: Vec<f64>,
    kept: Vec<(usize, Vec<f64>)>,
}

impl Column {
    /// Buffers for up to `n` samples, and for the given layers in ascending order.
    fn new(network: &Network, layers: &[usize], n: usize) -> Self {
        let mut kept: Vec<_> = layers.iter().map(|&layer| (layer, Vec::new())).collect();
        kept.dedup_by_key(|(layer, _)| *layer);
        let scratch = vec![0.0; (network.outputs() + 1) * n];
        Self { adjoint: Adjoint::new(network, n), scratch, kept }
    }

    /// Runs it, the seed being there.
    fn run(&mut self, network: &Network, theta: &[f64], x: &[f64], values: &Trace, lowest: usize) {
        let Self { adjoint, kept, .. } = self;
        network.visit_adjoints(theta, x, values, adjoint, lowest, |l, _, y_adjoint| {
            if let Some((_, own)) = kept.iter_mut().find(|(layer, _)| *layer == l) {
                own.clear();
                own.extend_from_slice(y_adjoint);
            }
        });
    }
}

/// Sums of one layer.
struct Sums {
    block: LayerBlock,
    a: GramSum,
    b: GramSum,
}

impl Sums {
    fn new(block: LayerBlock) -> Self {
        Self { block, a: GramSum::new(block.shape.inputs()), b: GramSum::new(block.shape.outputs) }
    }

    /// Adds one block of samples.
    fn add_block(&mut self, layer: &dyn Layer, at: At<'_>, block: &Block, columns: &[Column]) {
        let (mut patch, mut rows) = (Vec::new(), Vec::new());
        self.add_inputs(layer, at, block, &mut patch);
        for column in columns {
            let kept = column.kept.iter().find(|(layer, _)| *layer == self.block.layer);
            if let Some((_, y_adjoint)) = kept {
                self.add_adjoints(layer, at, y_adjoint, &mut rows);
            }
        }
    }

    /// Adds the extended inputs of one block of samples.
    fn add_inputs(&mut self, layer: &dyn Layer, at: At<'_>, block: &Block, patch: &mut Vec<f64>) {
        let n = at.n;
        let shape = self.block.shape;
        for position in 0..self.block.positions() {
            patch.clear();
            patch.resize(shape.inputs() * n, 1.0);
            if let Source::Map { group, .. } = self.block.source
                && shape.fan_in > 0
            {
                layer.patch(n, at.x, Patch { group, position }, &mut patch[..shape.fan_in * n]);
            }
            block.weigh(patch, f64::sqrt);
            self.a.push(n, patch);
        }
    }

    /// Adds the adjoints of one block of samples.
    fn add_adjoints(&mut self, layer: &dyn Layer, at: At<'_>, y_adjoint: &[f64], rows: &mut Vec<f64>) {
        let (n, outputs) = (at.n, self.block.shape.outputs);
        match self.block.source {
            Source::Map { positions, output, .. } => {
                let plane = positions * n;
                self.b.push(plane, &y_adjoint[output * plane..(output + outputs) * plane]);
            }
            Source::Gradients { offset } => {
                rows.resize(at.params.len() * n, 0.0);
                layer.per_sample_gradient(at, y_adjoint, rows);
                self.b.push(n, &rows[offset * n..(offset + outputs) * n]);
            }
        }
    }

    /// Mean of ppᵀ over the samples, whose weights sum to `total`, sum of ggᵀ times `factor`, decomposed.
    fn finish(self, total: f64, factor: f64) -> Result<KroneckerBlock> {
        let (mut a, mut b) = (self.a.finish(), self.b.finish());
        scale(1.0 / (total * self.block.positions() as f64), a.as_mut_slice());
        scale(factor, b.as_mut_slice());
        let (a, b) = rayon::join(|| decompose(&a), || decompose(&b));
        Ok(KroneckerBlock::new(self.block.shape, Arc::new(a?), Arc::new(b?)))
    }
}

/// Eigenpairs of a positive semi-definite matrix; eigenvalues that are rounding become 0.
fn decompose(matrix: &Matrix) -> Result<SymmetricEigen> {
    let mut eigen = SymmetricEigen::new("a Kronecker factor", matrix)?;
    let largest = eigen.values.last().copied().unwrap_or(0.0);
    let floor = matrix.rows() as f64 * f64::EPSILON * largest;
    eigen.values.iter_mut().filter(|v| **v <= floor).for_each(|v| *v = 0.0);
    Ok(eigen)
}

impl KroneckerCurvature {
    /// The factors at `theta` of the GGN or the empirical Fisher over the subset, scaled like
    /// the loss, without the prior.
    pub fn new(
        loss: &NetworkLoss,
        theta: &[f64],
        curvature: Curvature,
        subset: &SubsetRanges,
    ) -> Result<Self> {
        let outer = OuterProduct::of(curvature, "Kronecker")?;
        let network = loss.network();
        let mut sums: Vec<Sums> = block_shapes(network, subset).into_iter().map(Sums::new).collect();
        let lowest = sums.first().map_or(0, |s| s.block.layer);
        let layers: Vec<usize> = sums.iter().map(|s| s.block.layer).collect();
        let largest = loss.blocks().iter().map(|block| block.n).max().unwrap_or(0);
        let mut values = Trace::new(network, largest);
        let mut columns: Vec<Column> =
            (0..outer.columns(loss)).map(|_| Column::new(network, &layers, largest)).collect();
        for block in loss.blocks() {
            values.resize(block.n);
            network.forward(theta, &block.x, &mut values);
            let at = Outputs { f: values.output(), block };
            // All columns at the same time, then all sums: each adds in the order of the columns.
            columns.par_iter_mut().enumerate().with_max_len(1).for_each(|(j, column)| {
                let Column { adjoint, scratch, .. } = column;
                outer.column(loss, at, j, adjoint.seed(network, block.n), scratch);
                column.run(network, theta, &block.x, &values, lowest);
            });
            sums.par_iter_mut().with_max_len(1).for_each(|sums| {
                let layer = sums.block.layer;
                let place = network.place(layer, theta, &block.x, &values);
                if let (Some(layer), Some(at)) = (network.layer(layer), place) {
                    sums.add_block(layer, at, block, &columns);
                }
            });
        }
        let (total, factor) = (loss.total_weight(), loss.scale());
        let blocks: Result<Vec<_>> = sums.into_par_iter().map(|s| s.finish(total, factor)).collect();
        Ok(Self { blocks: blocks? })
    }

    /// Eigenvalues: all products of the factors' eigenvalues, block by block.
    pub fn eigenvalues(&self) -> Vec<f64> {
        self.blocks.iter().flat_map(KroneckerBlock::eigenvalues).collect()
    }

    /// Multiplies the curvature by a factor.
    pub fn scale(&mut self, factor: f64) {
        self.blocks.iter_mut().for_each(|block| block.scale *= factor);
    }

    /// Curvature + diag(prior), with a prior that is constant on each layer.
    pub fn precision(&self, prior: &[f64]) -> Result<KroneckerPrecision> {
        KroneckerPrecision::new(&self.blocks, prior)
    }
}
