//! The Cholesky factorisation in place, on all cores with the same bits on any number of them.

use faer::Side;
use faer::prelude::*;
use rayon::prelude::*;

use super::dense::{Matrix, add_product, view_mut};

/// Columns that are eliminated at once.
const BLOCK: usize = 128;
/// Columns that one task updates.
const CHUNK: usize = 256;

/// A pivot that is not positive: where, and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BadPivot {
    pub(super) index: usize,
    pub(super) value: f64,
}

/// Lower triangle of A ← L with A = LLᵀ; what is above the diagonal becomes 0.
pub(super) fn factorize(a: &mut Matrix) -> Result<(), BadPivot> {
    let n = a.rows();
    for k in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - k);
        let diagonal = eliminate(a, k, width)?;
        let below = k + width;
        let m = n - below;
        // Transposed, so that a task's part is in one piece.
        let mut panel = Matrix::zeros(width, m);
        panel.view_mut().copy_from(a.view().subcols(k, width).subrows(below, m).transpose());
        panel.as_mut_slice().par_chunks_mut(CHUNK * width).for_each(|part| {
            let columns = part.len() / width;
            let part = view_mut(part, width, columns).0;
            let factor = diagonal.view().0;
            faer::linalg::triangular_solve::solve_lower_triangular_in_place(factor, part, faer::Par::Seq);
            super::simd::clear_upper_registers();
        });
        let (done, rest) = a.as_mut_slice().split_at_mut(below * n);
        for (j, column) in done[k * n..].chunks_exact_mut(n).enumerate() {
            column[..k + j].fill(0.0);
            column[below..]
                .iter_mut()
                .zip(panel.as_slice().iter().skip(j).step_by(width))
                .for_each(|(to, l)| *to = *l);
        }
        rest.par_chunks_mut(CHUNK * n).enumerate().for_each(|(c, part)| {
            let (from, columns) = (c * CHUNK, part.len() / n);
            let target = view_mut(part, n, columns).subrows_mut(below + from, m - from);
            let rows = panel.view().subcols(from, m - from).transpose();
            add_product(target, -1.0, rows, panel.view().subcols(from, columns));
        });
    }
    Ok(())
}

/// Factorises the diagonal block at `k`, and returns the factor too.
fn eliminate(a: &mut Matrix, k: usize, width: usize) -> Result<Matrix, BadPivot> {
    let mut block = Matrix::zeros(width, width);
    block.view_mut().copy_from(a.view().subcols(k, width).subrows(k, width));
    let llt = block.view().0.llt(Side::Lower).map_err(|failure| {
        let faer::linalg::solvers::LltError::NonPositivePivot { index } = failure;
        BadPivot { index: k + index, value: failing_pivot(&block, index) }
    })?;
    super::simd::clear_upper_registers();
    let lower = llt.L();
    for j in 0..width {
        for i in 0..width {
            let entry = if i < j { 0.0 } else { lower[(i, j)] };
            block.column_mut(j)[i] = entry;
            a.column_mut(k + j)[k + i] = entry;
        }
    }
    Ok(block)
}

/// The pivot at which elimination stopped, recomputed for the error message.
fn failing_pivot(matrix: &Matrix, index: usize) -> f64 {
    let diagonal = matrix[(index, index)];
    if index == 0 {
        return diagonal;
    }
    let leading = matrix.view().0.submatrix(0, 0, index, index);
    let Ok(llt) = leading.llt(Side::Lower) else { return diagonal };
    let row: Vec<f64> = (0..index).map(|j| matrix[(index, j)]).collect();
    let mut solved = row.clone();
    llt.solve_in_place(view_mut(&mut solved, index, 1).0);
    diagonal - row.iter().zip(&solved).map(|(a, b)| a * b).sum::<f64>()
}
