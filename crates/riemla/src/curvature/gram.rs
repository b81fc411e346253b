//! Sums of outer products AᵀA over many short A, in panels.

use rayon::prelude::*;

use crate::linalg::Matrix;
use crate::linalg::dense::{add_product, view, view_mut};

/// Rows gathered before a product is formed: long products are fast ones.
pub(super) const PANEL_ROWS: usize = 512;
/// Columns of the result that one task computes, at most: a wide task seldom repacks the panel, but does
/// needless work above the diagonal.
const TASK_COLUMNS: usize = 256;
/// Tasks below which narrower ones are made, so that there is something for every core.
const TASKS: usize = 8;

/// Accumulates AᵀA over many short A, in panels; parallel over columns of the result, so the
/// bits do not depend on the number of threads.
pub(super) struct GramSum {
    gram: Matrix,
    /// PANEL_ROWS × k, column-major.
    panel: Vec<f64>,
    filled: usize,
}

impl GramSum {
    pub(super) fn new(k: usize) -> Self {
        Self { gram: Matrix::zeros(k, k), panel: vec![0.0; PANEL_ROWS * k], filled: 0 }
    }

    /// Adds the n × k matrix `rows`.
    pub(super) fn push(&mut self, n: usize, rows: &[f64]) {
        let mut done = 0;
        while done < n {
            let take = (n - done).min(PANEL_ROWS - self.filled);
            let place = self.filled..self.filled + take;
            let columns = self.panel.par_chunks_exact_mut(PANEL_ROWS).with_min_len(TASK_COLUMNS);
            columns.zip(rows.par_chunks_exact(n)).for_each(|(to, from)| {
                to[place.clone()].copy_from_slice(&from[done..done + take]);
            });
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
        let task = k.div_ceil(TASKS).next_multiple_of(32).min(TASK_COLUMNS);
        self.gram.as_mut_slice().par_chunks_mut(task * k).enumerate().for_each(|(p, columns)| {
            let first = p * task;
            let width = columns.len() / k;
            let target = view_mut(columns, k, width).subrows_mut(first, k - first);
            let below = a.subcols(first, k - first);
            add_product(target, 1.0, below.transpose(), a.subcols(first, width));
        });
        self.filled = 0;
    }

    /// The full symmetric sum.
    pub(super) fn finish(mut self) -> Matrix {
        self.flush();
        self.gram.mirror_lower();
        self.gram
    }
}
