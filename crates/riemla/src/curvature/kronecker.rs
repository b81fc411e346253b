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
//! Weights and bias of a layer share a block (Martens and Grosse 2015). laplace-torch gives the bias
//! a block of its own, which drops their correlation; a subset that names only one of the two gets
//! just that.

use std::sync::Arc;

use rayon::prelude::*;

use super::Curvature;
use super::gram::GramSum;
use super::outer::OuterProduct;
use super::structure::{BlockShape, KroneckerBlock, KroneckerPrecision};
use super::subset::SubsetRanges;
use crate::linalg::Matrix;
use crate::linalg::factor::SymmetricEigen;
use crate::linalg::vector::scale;
use crate::nn::{At, Network};
use crate::objective::NetworkLoss;
use crate::{Error, Result};

/// One layer of a subset.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerBlock {
    /// Index of the layer.
    pub(super) layer: usize,
    pub(super) positions: usize,
    pub(super) shape: BlockShape,
}

/// The layers of a subset, in order.
pub(super) fn block_shapes(network: &Network, subset: &SubsetRanges) -> Result<Vec<LayerBlock>> {
    let chosen = |p: &&crate::nn::Parameter| {
        subset.as_slice().iter().any(|r| r.start <= p.range.start && p.range.end <= r.end)
    };
    let mut blocks: Vec<LayerBlock> = Vec::new();
    let mut start = 0;
    for parameter in network.parameters().iter().filter(chosen) {
        let layer = network.layers().nth(parameter.layer).map(|(layer, _)| layer);
        let Some((layer, positions)) = layer.and_then(|l| Some((l, l.positions()?))) else {
            return Err(Error::Unsupported(format!(
                "parameter {} belongs to a layer that is neither linear nor a convolution: \
                 leave it out of the subset, or use the low-rank or diagonal structure",
                parameter.name
            )));
        };
        let bias = parameter.dims.len() == 1;
        let outputs = parameter.dims[0];
        match blocks.last_mut() {
            Some(block) if bias && block.layer == parameter.layer => block.shape.bias = true,
            _ => {
                let fan_in = if bias { 0 } else { layer.fan_in() };
                let shape = BlockShape { start, fan_in, bias, outputs };
                blocks.push(LayerBlock { layer: parameter.layer, positions, shape });
            }
        }
        start += parameter.range.len();
    }
    Ok(blocks)
}

/// Curvature of the likelihood as one Kronecker product per layer, by the factors' eigenpairs.
#[derive(Debug, Clone)]
pub struct KroneckerCurvature {
    blocks: Vec<KroneckerBlock>,
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

    /// Adds the extended inputs of one block of samples.
    fn add_inputs(&mut self, network: &Network, at: At<'_>, patch: &mut Vec<f64>) {
        let Some((layer, _)) = network.layers().nth(self.block.layer) else { return };
        let n = at.n;
        patch.clear();
        let shape = self.block.shape;
        patch.resize(shape.inputs() * n, 1.0);
        for t in 0..self.block.positions {
            if shape.fan_in > 0 {
                layer.patch(n, at.x, t, &mut patch[..shape.fan_in * n]);
            }
            self.a.push(n, patch);
        }
    }

    /// Mean of ppᵀ over `samples`, sum of ggᵀ times `factor`, decomposed.
    fn finish(self, samples: usize, factor: f64) -> Result<KroneckerBlock> {
        let (mut a, mut b) = (self.a.finish(), self.b.finish());
        scale(1.0 / (samples * self.block.positions) as f64, a.as_mut_slice());
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
        let mut sums: Vec<Sums> = block_shapes(network, subset)?.into_iter().map(Sums::new).collect();
        let lowest = sums.first().map_or(0, |s| s.block.layer);
        let mut patch = Vec::new();
        outer.for_each_seed(loss, theta, |j, x, values, adjoint| {
            network.visit_adjoints(theta, x, values, adjoint, lowest, |l, at, y_adjoint| {
                let Some(sums) = sums.iter_mut().find(|s| s.block.layer == l) else { return };
                if j == 0 {
                    sums.add_inputs(network, at, &mut patch);
                }
                sums.b.push(at.n * sums.block.positions, y_adjoint);
            });
        });
        let (samples, factor) = (loss.samples(), loss.scale());
        let blocks: Result<Vec<_>> = sums.into_par_iter().map(|s| s.finish(samples, factor)).collect();
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
