//! Generalised Gauss-Newton of the negative log-likelihood: Σₙ JₙᵀΛₙJₙ with Λₙ = SₙSₙᵀ.

use rayon::prelude::*;

use super::subset::SubsetRanges;
use crate::linalg::Matrix;
use crate::linalg::dense::{add_product, view, view_mut};
use crate::nn::{Adjoint, Trace};
use crate::objective::NetworkLoss;

/// Rows of SᵀJ gathered before a product is formed: long products are fast ones.
const PANEL_ROWS: usize = 512;
/// Columns of the result that one task computes.
const PANEL_COLUMNS: usize = 64;

/// Calls `f(n, rows)` for every block of samples and every column of S: `rows` is the n × k
/// matrix (samples contiguous) of that column's gradients in the subset's k weights.
pub fn for_each_factor(
    loss: &NetworkLoss,
    theta: &[f64],
    subset: &SubsetRanges,
    mut f: impl FnMut(usize, &[f64]),
) {
    let network = loss.network();
    let outputs = network.outputs();
    let mut rows = Vec::new();
    for block in loss.blocks() {
        let n = block.n;
        let mut values = Trace::new(network, n);
        let mut adjoint = Adjoint::new(network, n);
        let mut scratch = vec![0.0; (outputs + 1) * n];
        rows.resize(n * subset.len(), 0.0);
        network.forward(theta, &block.x, &mut values);
        for j in 0..loss.rule().factor_columns(outputs) {
            loss.rule().factor(n, values.output(), j, adjoint.seed(network, n), &mut scratch);
            network.per_sample_gradient(theta, &block.x, &values, &mut adjoint, subset.as_slice(), &mut rows);
            f(n, &rows);
        }
    }
}

/// The full GGN over the subset (k × k), scaled like the loss, without the prior.
pub fn ggn_full(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Matrix {
    let k = subset.len();
    let mut sum = GramSum::new(k);
    for_each_factor(loss, theta, subset, |n, rows| sum.push(n, rows));
    let mut ggn = sum.finish();
    crate::linalg::vector::scale(loss.scale(), ggn.as_mut_slice());
    ggn
}

/// The diagonal of the GGN over the subset, scaled like the loss, without the prior.
pub fn ggn_diagonal(loss: &NetworkLoss, theta: &[f64], subset: &SubsetRanges) -> Vec<f64> {
    let mut diagonal = vec![0.0; subset.len()];
    for_each_factor(loss, theta, subset, |n, rows| {
        for (d, column) in diagonal.iter_mut().zip(rows.chunks_exact(n)) {
            *d += crate::linalg::vector::dot(column, column);
        }
    });
    crate::linalg::vector::scale(loss.scale(), &mut diagonal);
    diagonal
}

/// Accumulates AᵀA over many short A, in panels; parallel over columns of the result, so the
/// bits do not depend on the number of threads.
struct GramSum {
    gram: Matrix,
    /// PANEL_ROWS × k, column-major.
    panel: Vec<f64>,
    filled: usize,
}

impl GramSum {
    fn new(k: usize) -> Self {
        Self { gram: Matrix::zeros(k, k), panel: vec![0.0; PANEL_ROWS * k], filled: 0 }
    }

    /// Adds the n × k matrix `rows`.
    fn push(&mut self, n: usize, rows: &[f64]) {
        let mut done = 0;
        while done < n {
            let take = (n - done).min(PANEL_ROWS - self.filled);
            for (to, from) in self.panel.chunks_exact_mut(PANEL_ROWS).zip(rows.chunks_exact(n)) {
                to[self.filled..self.filled + take].copy_from_slice(&from[done..done + take]);
            }
            done += take;
            self.filled += take;
            if self.filled == PANEL_ROWS {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        let k = self.gram.rows();
        let filled = self.filled;
        let a = view(&self.panel, PANEL_ROWS, k).subrows(0, filled);
        self.gram.as_mut_slice().par_chunks_mut(PANEL_COLUMNS * k).enumerate().for_each(|(p, columns)| {
            let first = p * PANEL_COLUMNS;
            let width = columns.len() / k;
            let target = view_mut(columns, k, width).subrows_mut(first, k - first);
            let below = a.subcols(first, k - first);
            add_product(target, 1.0, below.transpose(), a.subcols(first, width));
        });
        self.filled = 0;
    }

    fn finish(mut self) -> Matrix {
        self.flush();
        self.gram.mirror_lower();
        self.gram
    }
}
