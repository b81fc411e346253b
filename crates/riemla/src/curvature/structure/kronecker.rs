//! A block-diagonal precision with blocks A ⊗ B + δI, by the eigenpairs of A and B.

use std::sync::Arc;

use super::{Precision, PrecisionParts};
use crate::linalg::dense::{set_product, view, view_mut};
use crate::linalg::factor::SymmetricEigen;
use crate::objective::Pool;
use crate::{Error, Result};

/// Where a block's weights are, and how they are laid out.
#[derive(Debug, Clone, Copy)]
pub(in crate::curvature) struct BlockShape {
    /// First of its weights in the subset.
    pub(in crate::curvature) start: usize,
    /// Inputs of the weights; 0 if only the bias is chosen.
    pub(in crate::curvature) fan_in: usize,
    /// Whether the bias is chosen.
    pub(in crate::curvature) bias: bool,
    pub(in crate::curvature) outputs: usize,
}

impl BlockShape {
    /// Rows of A.
    pub(in crate::curvature) fn inputs(&self) -> usize {
        self.fan_in + usize::from(self.bias)
    }
}

/// One layer's curvature s·A ⊗ B.
///
/// The layer's weights, row by row (outputs, inputs), are the columns of an inputs × outputs matrix
/// X, to which the biases are a last row; then (A ⊗ B)x is A·X·B.
#[derive(Debug, Clone)]
pub(in crate::curvature) struct KroneckerBlock {
    shape: BlockShape,
    a: Arc<SymmetricEigen>,
    b: Arc<SymmetricEigen>,
    /// s.
    pub(in crate::curvature) scale: f64,
}

impl KroneckerBlock {
    pub(super) fn shape(&self) -> BlockShape {
        self.shape
    }

    /// Eigenpairs of A and of B.
    pub(super) fn factors(&self) -> [&SymmetricEigen; 2] {
        [&self.a, &self.b]
    }

    pub(in crate::curvature) fn new(
        shape: BlockShape,
        a: Arc<SymmetricEigen>,
        b: Arc<SymmetricEigen>,
    ) -> Self {
        Self { shape, a, b, scale: 1.0 }
    }

    pub(super) fn len(&self) -> usize {
        self.shape.inputs() * self.shape.outputs
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.shape.start..self.shape.start + self.len()
    }

    /// Checks that the block with δ is positive definite and finite; `dim` is for the message.
    pub(super) fn check(&self, delta: f64, dim: usize) -> Result<()> {
        let extreme = |values: &[f64], last: bool| if last { values[values.len() - 1] } else { values[0] };
        let product =
            |last| self.scale * extreme(&self.a.values, last) * extreme(&self.b.values, last) + delta;
        let (smallest, largest) = (product(false), product(true));
        if smallest > 0.0 && largest.is_finite() {
            return Ok(());
        }
        Err(Error::NotPositiveDefinite {
            what: "the Kronecker-factored precision (curvature + prior)".into(),
            pivot: self.shape.start,
            dim,
            value: if smallest > 0.0 { largest } else { smallest },
            remedy: "raise prior_precision".into(),
        })
    }

    /// s·αᵢ·βⱼ, in the order of an inputs × outputs column-major matrix.
    pub(in crate::curvature) fn eigenvalues(&self) -> impl Iterator<Item = f64> + '_ {
        self.b.values.iter().flat_map(move |b| self.a.values.iter().map(move |a| self.scale * a * b))
    }

    /// X from the layer's part of a flat vector: weights row by row, then biases.
    fn pack(&self, x: &[f64], matrix: &mut Vec<f64>) {
        let (fan_in, weights) = (self.shape.fan_in, self.shape.fan_in * self.shape.outputs);
        matrix.clear();
        for o in 0..self.shape.outputs {
            matrix.extend_from_slice(&x[o * fan_in..(o + 1) * fan_in]);
            if self.shape.bias {
                matrix.push(x[weights + o]);
            }
        }
    }

    fn unpack(&self, matrix: &[f64], x: &mut [f64]) {
        let (fan_in, weights) = (self.shape.fan_in, self.shape.fan_in * self.shape.outputs);
        for (o, column) in matrix.chunks_exact(self.shape.inputs()).enumerate() {
            x[o * fan_in..(o + 1) * fan_in].copy_from_slice(&column[..fan_in]);
            if self.shape.bias {
                x[weights + o] = column[fan_in];
            }
        }
    }

    /// xᵀ(s·A ⊗ B + δ)⁻¹x for X = pgᵀ: only the two vectors are rotated.
    fn rank_one_quadratic(&self, p: &[f64], g: &[f64], delta: f64) -> f64 {
        let rotated = |eigen: &SymmetricEigen, x: &[f64]| {
            let mut out = vec![0.0; x.len()];
            let vectors = eigen.vectors.view().transpose();
            set_product(view_mut(&mut out, x.len(), 1), vectors, view(x, x.len(), 1));
            out.iter_mut().for_each(|v| *v *= *v);
            out
        };
        let (p, g) = (rotated(&self.a, p), rotated(&self.b, g));
        let column = |(g, b): (&f64, &f64)| -> f64 {
            let factor = self.scale * b;
            g * p.iter().zip(&self.a.values).map(|(p, a)| p / (factor * a + delta)).sum::<f64>()
        };
        g.iter().zip(&self.b.values).map(column).sum()
    }

    /// X ← Q_AᵀXQ_B, or its inverse Q_AXQ_Bᵀ.
    fn rotate(&self, inverse: bool, matrix: &mut [f64], half: &mut Vec<f64>) {
        let (inputs, outputs) = (self.shape.inputs(), self.shape.outputs);
        let (qa, qb) = (self.a.vectors.view(), self.b.vectors.view());
        let (left, right) = if inverse { (qa, qb.transpose()) } else { (qa.transpose(), qb) };
        half.clear();
        half.resize(self.len(), 0.0);
        set_product(view_mut(half, inputs, outputs), left, view(matrix, inputs, outputs));
        set_product(view_mut(matrix, inputs, outputs), view(half, inputs, outputs), right);
    }
}

/// Largest deviation from rank one, relative to the largest entry, that is rounding.
const RANK_ONE: f64 = 1e-14;

/// Blocks s·A ⊗ B + δI, one per layer.
#[derive(Debug, Clone)]
pub struct KroneckerPrecision {
    blocks: Vec<(KroneckerBlock, f64)>,
    dim: usize,
    /// A block and its half-rotated self: products are made in integration loops, which should not
    /// allocate.
    workspace: Pool<(Vec<f64>, Vec<f64>)>,
}

impl KroneckerPrecision {
    pub(in crate::curvature) fn new(blocks: &[KroneckerBlock], prior: &[f64]) -> Result<Self> {
        let dim = blocks.iter().map(KroneckerBlock::len).sum();
        crate::error::check_len("prior on the chosen weights", dim, prior.len())?;
        let blocks: Result<Vec<_>> =
            blocks.iter().map(|block| Ok((block.clone(), constant(block, prior)?))).collect();
        Ok(Self { blocks: blocks?, dim, workspace: Pool::default() })
    }

    /// Blocks with their δ, checked by the caller, one after the other.
    pub(super) fn from_blocks(blocks: Vec<(KroneckerBlock, f64)>) -> Self {
        let dim = blocks.iter().map(|(block, _)| block.len()).sum();
        Self { blocks, dim, workspace: Pool::default() }
    }

    /// Scales the eigen-components of x by `f` of the precision's eigenvalues.
    /// `f` of a symmetric matrix is symmetric; with only one of the two rotations it is a square
    /// root as good as any, and with the other one its transpose.
    fn apply(&self, x: &mut [f64], from: bool, back: bool, f: impl Fn(f64) -> f64) {
        self.workspace.with(Default::default, |(matrix, half)| {
            for (block, delta) in &self.blocks {
                let x = &mut x[block.range()];
                block.pack(x, matrix);
                if from {
                    block.rotate(false, matrix, half);
                }
                for (m, value) in matrix.iter_mut().zip(block.eigenvalues()) {
                    *m *= f(value + delta);
                }
                if back {
                    block.rotate(true, matrix, half);
                }
                block.unpack(matrix, x);
            }
        });
    }
}

/// p and g with X = pgᵀ to rounding, if there are such: the gradient of one sample in a linear
/// layer always has them. `rows` is the length of p.
fn rank_one(matrix: &[f64], rows: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let larger =
        |best: (usize, f64), (i, v): (usize, &f64)| if v.abs() > best.1.abs() { (i, *v) } else { best };
    let (place, pivot) = matrix.iter().enumerate().fold((0, 0.0), larger);
    let (row, column) = (place % rows, place / rows);
    if pivot == 0.0 {
        return Some((vec![0.0; rows], vec![0.0; matrix.len() / rows]));
    }
    let p: Vec<f64> = matrix[column * rows..(column + 1) * rows].iter().map(|v| v / pivot).collect();
    let g: Vec<f64> = matrix.iter().skip(row).step_by(rows).copied().collect();
    let rounding = RANK_ONE * pivot.abs();
    let fits =
        |(column, g): (&[f64], &f64)| column.iter().zip(&p).all(|(x, p)| (x - p * g).abs() <= rounding);
    matrix.chunks_exact(rows).zip(&g).all(fits).then_some((p, g))
}

/// The prior's one value on a block, checked to make it positive definite.
fn constant(block: &KroneckerBlock, prior: &[f64]) -> Result<f64> {
    let values = &prior[block.range()];
    let delta = values[0];
    if values.iter().any(|v| *v != delta) {
        return Err(Error::Unsupported(
            "the Kronecker structure needs a prior precision that is constant on each layer".into(),
        ));
    }
    block.check(delta, prior.len()).map(|()| delta)
}

impl Precision for KroneckerPrecision {
    fn dim(&self) -> usize {
        self.dim
    }

    fn mul(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
        self.apply(out, true, true, |v| v);
    }

    fn solve(&self, x: &mut [f64]) {
        self.apply(x, true, true, |v| 1.0 / v);
    }

    fn sqrt_solve(&self, x: &mut [f64]) {
        self.apply(x, false, true, |v| 1.0 / v.sqrt());
    }

    fn sqrt_solve_transpose(&self, x: &mut [f64]) {
        self.apply(x, true, false, |v| 1.0 / v.sqrt());
    }

    fn log_det(&self) -> f64 {
        let block = |(block, delta): &(KroneckerBlock, f64)| -> f64 {
            block.eigenvalues().map(|v| (v + delta).ln()).sum()
        };
        self.blocks.iter().map(block).sum()
    }

    fn inverse_quadratic(&self, x: &mut [f64], count: usize) -> Vec<f64> {
        let (mut matrix, mut half) = (Vec::new(), Vec::new());
        let mut quadratic = |row: &[f64]| {
            let mut total = 0.0;
            for (block, delta) in &self.blocks {
                block.pack(&row[block.range()], &mut matrix);
                if let Some((p, g)) = rank_one(&matrix, block.shape.inputs()) {
                    total += block.rank_one_quadratic(&p, &g, *delta);
                    continue;
                }
                block.rotate(false, &mut matrix, &mut half);
                total +=
                    matrix.iter().zip(block.eigenvalues()).map(|(m, v)| m * m / (v + delta)).sum::<f64>();
            }
            total
        };
        x.chunks_exact(self.dim).take(count).map(&mut quadratic).collect()
    }

    fn parts(&self) -> Option<PrecisionParts> {
        Some(super::kronecker_parts::take_apart(&self.blocks))
    }
}
