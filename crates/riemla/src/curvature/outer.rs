//! Curvatures that are sums of outer products: Σₙ JₙᵀSₙSₙᵀJₙ with a factor S in the outputs.
//!
//! For the generalised Gauss-Newton SSᵀ is the Fisher information Λ of the outputs (the Hessian of the loss in them,
//! where that does not depend on the targets); for the
//! empirical Fisher S is one column, the gradient of the loss in the outputs. Everything else, in
//! every structure, is the same.

use rayon::prelude::*;

use super::Curvature;
use super::gram::GramSum;
use super::one_layer::OneLayer;
use super::subset::SubsetRanges;
use crate::linalg::Matrix;
use crate::linalg::vector::{dot, scale};
use crate::nn::{Adjoint, Trace};
use crate::objective::{Block, NetworkLoss};
use crate::{Error, Result};

/// Which factor S.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OuterProduct {
    Ggn,
    EmpiricalFisher,
}

/// A block of samples as the loss sees it: its targets and weights, and the outputs of the network.
#[derive(Clone, Copy)]
pub(super) struct Outputs<'a> {
    pub(super) f: &'a [f64],
    pub(super) block: &'a Block,
}

/// Rows of gradients that are made at the same time, about: enough to keep all cores busy.
const ROWS: usize = 1024;
/// Numbers that they may take (128 MB), unless a single block takes more.
const NUMBERS: usize = 16 * 1024 * 1024;

/// Blocks of `n` samples whose gradients in `k` weights are made at the same time.
pub(super) fn rows_at_once(n: usize, k: usize) -> usize {
    (NUMBERS / (n * k).max(1)).min(ROWS.div_ceil(n.max(1)).max(2)).max(1)
}

impl OuterProduct {
    /// The factor of a curvature; the Hessian has none.
    pub(super) fn of(curvature: Curvature, structure: &str) -> Result<Self> {
        match curvature {
            Curvature::Ggn => Ok(Self::Ggn),
            Curvature::EmpiricalFisher => Ok(Self::EmpiricalFisher),
            Curvature::Hessian => Err(Error::Unsupported(format!(
                "the {structure} structure needs a curvature that is a sum of outer products: \
                 use ggn or ef instead of the Hessian"
            ))),
        }
    }

    /// Number of columns of S.
    pub(super) fn columns(self, loss: &NetworkLoss) -> usize {
        match self {
            Self::Ggn => loss.rule().factor_columns(loss.network().outputs()),
            Self::EmpiricalFisher => 1,
        }
    }

    /// Writes column `j` of S for every sample of a block.
    pub(super) fn column(
        self,
        loss: &NetworkLoss,
        Outputs { f, block }: Outputs<'_>,
        j: usize,
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        match self {
            Self::Ggn => block.factor(loss.rule(), f, j, out, scratch),
            Self::EmpiricalFisher => {
                loss.rule().loss(block.n, f, &block.targets, &[], out, scratch);
                block.weigh(out, f64::sqrt);
            }
        }
    }

    /// Writes SSᵀd for every sample of a block.
    pub(super) fn product(
        self,
        loss: &NetworkLoss,
        Outputs { f, block }: Outputs<'_>,
        d: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        if self == Self::Ggn {
            return block.fisher_product(loss.rule(), f, d, out, scratch);
        }
        let n = block.n;
        loss.rule().loss(n, f, &block.targets, &[], out, scratch);
        block.weigh(out, f64::sqrt);
        let inner = &mut scratch[..n];
        inner.fill(0.0);
        for (r, d) in out.chunks_exact(n).zip(d.chunks_exact(n)) {
            inner.iter_mut().zip(r).zip(d).for_each(|((s, r), d)| *s += r * d);
        }
        for r in out.chunks_exact_mut(n) {
            r.iter_mut().zip(&*inner).for_each(|(r, s)| *r *= s);
        }
    }

    /// Calls `f(j, block, values, adjoint)` for every block of samples and every column j of S, with
    /// that column as the seed of `adjoint`.
    pub(super) fn for_each_seed(
        self,
        loss: &NetworkLoss,
        theta: &[f64],
        mut f: impl FnMut(usize, &Block, &Trace, &mut Adjoint),
    ) {
        let network = loss.network();
        for block in loss.blocks() {
            let n = block.n;
            let mut values = Trace::new(network, n);
            let mut adjoint = Adjoint::new(network, n);
            let mut scratch = vec![0.0; (network.outputs() + 1) * n];
            network.forward(theta, &block.x, &mut values);
            for j in 0..self.columns(loss) {
                let at = Outputs { f: values.output(), block };
                self.column(loss, at, j, adjoint.seed(network, n), &mut scratch);
                f(j, block, &values, &mut adjoint);
            }
        }
    }

    /// Calls `f(n, rows)` for every block of samples and every column of S: `rows` is the n × k
    /// matrix (samples contiguous) of that column's gradients in the subset's k weights. Several are
    /// made at the same time, and handed over in order.
    pub(super) fn for_each_row(
        self,
        loss: &NetworkLoss,
        theta: &[f64],
        subset: &SubsetRanges,
        mut f: impl FnMut(usize, &[f64]),
    ) {
        let columns = self.columns(loss);
        let largest = loss.blocks().iter().map(|block| block.n).max().unwrap_or(1);
        let at_once = rows_at_once(largest, subset.len());
        let all: Vec<(&Block, usize)> =
            loss.blocks().iter().flat_map(|block| (0..columns).map(move |j| (block, j))).collect();
        let mut made = vec![Vec::new(); at_once.min(all.len())];
        for wanted in all.chunks(at_once) {
            made.par_iter_mut().zip(wanted).for_each(|(rows, (block, j))| {
                self.gradients(loss, theta, subset, (block, *j), rows);
            });
            made.iter().zip(wanted).for_each(|(rows, (block, _))| f(block.n, rows));
        }
    }

    /// The gradients of one block of samples for column `j` of S.
    fn gradients(
        self,
        loss: &NetworkLoss,
        theta: &[f64],
        subset: &SubsetRanges,
        (block, j): (&Block, usize),
        rows: &mut Vec<f64>,
    ) {
        let (network, n) = (loss.network(), block.n);
        let (mut values, mut adjoint) = (Trace::new(network, n), Adjoint::new(network, n));
        network.forward(theta, &block.x, &mut values);
        let mut scratch = vec![0.0; (network.outputs() + 1) * n];
        let at = Outputs { f: values.output(), block };
        self.column(loss, at, j, adjoint.seed(network, n), &mut scratch);
        rows.resize(n * subset.len(), 0.0);
        network.per_sample_gradient(theta, &block.x, &values, &mut adjoint, subset.as_slice(), rows);
    }

    /// The full matrix over the subset (k × k), scaled like the loss.
    pub(super) fn full(self, loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Matrix {
        let mut matrix = match OneLayer::of(loss.network(), subset) {
            Some(layer) => layer.full(self, loss, theta),
            None => {
                let mut sum = GramSum::new(subset.len());
                self.for_each_row(loss, theta, subset, |n, rows| sum.push(n, rows));
                sum.finish()
            }
        };
        scale(loss.scale(), matrix.as_mut_slice());
        matrix
    }

    /// The diagonal over the subset, scaled like the loss.
    pub(super) fn diagonal(self, loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Vec<f64> {
        let mut diagonal = match OneLayer::of(loss.network(), subset) {
            Some(layer) => layer.diagonal(self, loss, theta),
            None => {
                let mut diagonal = vec![0.0; subset.len()];
                self.for_each_row(loss, theta, subset, |n, rows| {
                    for (d, column) in diagonal.iter_mut().zip(rows.chunks_exact(n)) {
                        *d += dot(column, column);
                    }
                });
                diagonal
            }
        };
        scale(loss.scale(), &mut diagonal);
        diagonal
    }
}
