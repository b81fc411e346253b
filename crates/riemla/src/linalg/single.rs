//! Products of matrices of doubles whose multiplications are in single precision.
//!
//! Operands are rounded to single precision into buffers of the thread, piece by piece, multiplied there, and the
//! result is added to doubles. The pieces depend on the sizes alone, so that the bits do too.

use std::cell::RefCell;

use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::dense::{View, ViewMut};
use super::simd::{Isa, Kernel, clear_upper_registers, dispatch};

/// Numbers of the larger one of the pieces of B and C that are converted at once: 256 kB, which a second-level cache holds.
const PIECE: usize = 64 * 1024;

thread_local! {
    /// Room for A, and for pieces of B and C. It stays with the thread, as evaluations do not allocate.
    static ROOM: RefCell<[Vec<f32>; 3]> = const { RefCell::new([Vec::new(), Vec::new(), Vec::new()]) };
}

/// C ← C + A·B, multiplied in single precision; the columns of C are contiguous, and so are the columns or the rows
/// of A and of B.
pub fn add_product_in_single(c: ViewMut<'_>, a: View<'_>, b: View<'_>) {
    ROOM.with_borrow_mut(|room| {
        if by_columns(b.0) { cut_columns(c.0, a.0, b.0, room) } else { cut_sums(c.0, a.0, b.0, room) }
    });
    clear_upper_registers();
}

/// B is stored by columns: the columns of B and C are cut into pieces.
fn cut_columns(
    mut c: MatMut<'_, f64>,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    [a_room, b_room, c_room]: &mut [Vec<f32>; 3],
) {
    let a = rounded(a, a_room);
    let width = (PIECE / b.nrows().max(c.nrows()).max(1)).max(1);
    for start in (0..b.ncols()).step_by(width) {
        let count = width.min(b.ncols() - start);
        let b = rounded(b.subcols(start, count), b_room);
        add(c.as_mut().subcols_mut(start, count), a, b, c_room);
    }
}

/// B is stored by rows: the sums are cut into pieces, which are added in double precision.
fn cut_sums(
    mut c: MatMut<'_, f64>,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    [a_room, b_room, c_room]: &mut [Vec<f32>; 3],
) {
    let width = (PIECE / b.ncols().max(1)).max(1);
    for start in (0..b.nrows()).step_by(width) {
        let count = width.min(b.nrows() - start);
        let a = rounded(a.subcols(start, count), a_room);
        let b = rounded(b.subrows(start, count), b_room);
        add(c.as_mut(), a, b, c_room);
    }
}

/// C ← C + A·B.
fn add(mut c: MatMut<'_, f64>, a: MatRef<'_, f32>, b: MatRef<'_, f32>, room: &mut Vec<f32>) {
    let (rows, cols) = (c.nrows(), c.ncols());
    if rows == 0 {
        return;
    }
    let product = first(room, rows * cols);
    let view = MatMut::from_column_major_slice_mut(&mut *product, rows, cols);
    matmul::matmul(view, Accum::Replace, a, b, 1.0, Par::Seq);
    for (c, product) in c.as_mut().col_iter_mut().zip(product.chunks_exact(rows)) {
        if let Some(c) = c.try_as_col_major_mut() {
            dispatch(Add(product, c.as_slice_mut()));
        }
    }
}

fn by_columns(m: MatRef<'_, f64>) -> bool {
    m.row_stride() == 1
}

/// A matrix rounded to single precision, stored as it was: by columns or by rows.
fn rounded<'a>(m: MatRef<'_, f64>, room: &'a mut Vec<f32>) -> MatRef<'a, f32> {
    if !by_columns(m) {
        return rounded_columns(m.transpose(), room).transpose();
    }
    rounded_columns(m, room)
}

fn rounded_columns<'a>(m: MatRef<'_, f64>, room: &'a mut Vec<f32>) -> MatRef<'a, f32> {
    let (rows, cols) = (m.nrows(), m.ncols());
    let to = first(room, rows * cols);
    for (from, to) in m.col_iter().zip(to.chunks_exact_mut(rows.max(1))) {
        if let Some(from) = from.try_as_col_major() {
            dispatch(Round(from.as_slice(), to));
        }
    }
    MatRef::from_column_major_slice(to, rows, cols)
}

/// The first numbers of a buffer, which grows if it is too short.
fn first(room: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if room.len() < len {
        room.resize(len, 0.0);
    }
    &mut room[..len]
}

/// to ← from, rounded.
struct Round<'a>(&'a [f64], &'a mut [f32]);

impl Kernel for Round<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.1.iter_mut().zip(self.0).for_each(|(to, from)| *to = *from as f32);
    }
}

/// to ← to + from.
struct Add<'a>(&'a [f32], &'a mut [f64]);

impl Kernel for Add<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.1.iter_mut().zip(self.0).for_each(|(to, from)| *to += f64::from(*from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::{add_product, view, view_mut};

    /// Small whole numbers, whose products single precision adds up exactly.
    fn whole(len: usize, step: usize) -> Vec<f64> {
        (0..len).map(|i| ((i * step) % 13) as f64 - 6.0).collect()
    }

    /// A matrix of the given size that is stored by columns or by rows.
    fn stored(data: &[f64], (rows, cols): (usize, usize), by_rows: bool) -> View<'_> {
        if by_rows { view(data, cols, rows).transpose() } else { view(data, rows, cols) }
    }

    /// Sizes of one piece, of several, of a last one that is shorter, and of none; all ways to store the operands.
    #[test]
    fn whole_numbers_are_multiplied_exactly() {
        for (m, k, n) in
            [(1, 1, 1), (7, 5, 3), (90, 784, 200), (200, 1000, 33), (3, 70_000, 2), (0, 3, 2), (4, 0, 2)]
        {
            let (a, b, c) = (whole(m * k, 7), whole(k * n, 5), whole(m * n, 3));
            for (a_rows, b_rows) in [(false, false), (false, true), (true, false), (true, true)] {
                let (a, b) = (stored(&a, (m, k), a_rows), stored(&b, (k, n), b_rows));
                let (mut expected, mut found) = (c.clone(), c.clone());
                add_product(view_mut(&mut expected, m, n), 1.0, a, b);
                add_product_in_single(view_mut(&mut found, m, n), a, b);
                assert_eq!(found, expected, "{m} {k} {n}, by rows: {a_rows} {b_rows}");
            }
        }
    }

    #[test]
    fn errors_are_those_of_single_precision() {
        let (m, k, n) = (60, 300, 250);
        let numbers = |len: usize, step: f64| (0..len).map(|i| (i as f64 * step).sin()).collect::<Vec<f64>>();
        let (a, b) = (numbers(m * k, 0.37), numbers(k * n, 0.73));
        let (mut expected, mut found) = (vec![0.0; m * n], vec![0.0; m * n]);
        add_product(view_mut(&mut expected, m, n), 1.0, view(&a, m, k), view(&b, k, n));
        add_product_in_single(view_mut(&mut found, m, n), view(&a, m, k), view(&b, k, n));
        let worst = expected.iter().zip(&found).map(|(e, f)| (e - f).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5 && worst > 1e-9, "{worst}");
    }
}
