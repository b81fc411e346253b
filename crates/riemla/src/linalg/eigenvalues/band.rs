//! A symmetric matrix made a band with the same eigenvalues, by products of matrices.
//!
//! Reflections that make b columns at a time zero below the band are gathered into one product,
//! A ← QᵀAQ with Q = I − VTVᵀ. With X = VT, Y = AX and Z = Y − ½V(XᵀY) that is A − ZVᵀ − VZᵀ. Column by
//! column, as for a tridiagonal matrix at once, half of the arithmetic would wait for memory.

use rayon::prelude::*;

use super::chase::Band;
use crate::linalg::dense::{Matrix, add_product, set_product, view_mut};
use crate::linalg::vector::{axpy, dot, scale};

/// Columns of A that one task handles: fixed, so that the bits do not depend on the number of threads.
const CHUNK: usize = 128;

/// Q = I − VTVᵀ, a product of reflections.
struct Reflections {
    v: Matrix,
    t: Matrix,
}

/// The band of `width` diagonals below the main one; of `a` the lower triangle is read.
pub(super) fn to_band(mut a: Matrix, width: usize) -> Band {
    let n = a.rows();
    mirror_diagonal_blocks(&mut a);
    let mut band = Band::zeros(n, width);
    let mut k = 0;
    while k + width + 1 < n {
        let below = k + width;
        let mut panel = Matrix::zeros(n - below, width);
        for j in 0..width {
            band.column_mut(k + j, width - j).copy_from_slice(&a.column(k + j)[k + j..below]);
            panel.column_mut(j).copy_from_slice(&a.column(k + j)[below..]);
        }
        let reflections = Reflections::of(&mut panel);
        for j in 0..width {
            let count = (j + 1).min(n - below);
            let column = band.column_mut(k + j, width - j + count);
            column[width - j..].copy_from_slice(&panel.column(j)[..count]);
        }
        reflections.apply(&mut a, below);
        k = below;
    }
    for j in k..n {
        let count = (width + 1).min(n - j);
        band.column_mut(j, count).copy_from_slice(&a.column(j)[j..j + count]);
    }
    band
}

/// Copies the lower triangle onto the upper one in the blocks that tasks see as a whole.
fn mirror_diagonal_blocks(a: &mut Matrix) {
    let n = a.rows();
    for start in (0..n).step_by(CHUNK) {
        for j in start..n.min(start + CHUNK) {
            for i in start..j {
                a.column_mut(j)[i] = a[(j, i)];
            }
        }
    }
}

impl Reflections {
    /// Those that make `panel` upper triangular, which it is afterwards.
    fn of(panel: &mut Matrix) -> Self {
        let (m, width) = (panel.rows(), panel.cols());
        let count = width.min(m);
        let mut v = Matrix::zeros(m, count);
        let mut taus = vec![0.0; count];
        for (j, tau) in taus.iter_mut().enumerate() {
            let column = panel.column_mut(j);
            let reflection = &mut v.column_mut(j)[j..];
            reflection.copy_from_slice(&column[j..]);
            (column[j], *tau) = reflect(reflection);
            column[j + 1..].fill(0.0);
            if *tau != 0.0 {
                panel.as_mut_slice()[(j + 1) * m..].par_chunks_exact_mut(m).for_each(|column| {
                    let along = dot(reflection, &column[j..]);
                    axpy(-*tau * along, reflection, &mut column[j..]);
                });
            }
        }
        let t = triangle(&v, &taus);
        Self { v, t }
    }

    /// A ← QᵀAQ from row and column `first` on: below the diagonal, and in diagonal blocks.
    fn apply(&self, a: &mut Matrix, first: usize) {
        let (n, m, p) = (a.rows(), self.v.rows(), self.v.cols());
        let mut x = Matrix::zeros(m, p);
        set_product(x.view_mut(), self.v.view(), self.t.view());
        // Yᵀ, so that a task's part is in one piece.
        let mut y = Matrix::zeros(p, m);
        let read = &*a;
        let start = first / CHUNK * CHUNK;
        let columns = |c: usize| (start + c * CHUNK).max(first)..n.min(start + (c + 1) * CHUNK);
        let mut parts = Vec::new();
        let mut rest = y.as_mut_slice();
        for c in 0..(n - start).div_ceil(CHUNK) {
            let (part, after) = rest.split_at_mut(columns(c).len() * p);
            parts.push((columns(c), part));
            rest = after;
        }
        parts.into_par_iter().for_each(|(columns, part)| {
            let (from, len) = (columns.start - first, columns.len());
            let own = read.view().subcols(columns.start, len).subrows(columns.start, n - columns.start);
            set_product(view_mut(part, p, len), x.view().subrows(from, m - from).transpose(), own);
            let before = read.view().subcols(first, from).subrows(columns.start, len);
            let x_before = x.view().subrows(0, from).transpose();
            add_product(view_mut(part, p, len), 1.0, x_before, before.transpose());
        });
        let [left, right] = self.sides(&x, &y);
        a.as_mut_slice()[start * n..].par_chunks_mut(CHUNK * n).enumerate().for_each(|(c, part)| {
            let columns = columns(c);
            let skip = columns.start - (start + c * CHUNK);
            let target = view_mut(&mut part[skip * n..], n, columns.len());
            let (from, len) = (columns.start - first, columns.len());
            let target = target.subrows_mut(columns.start, n - columns.start);
            let rows = left.view().subrows(from, m - from);
            add_product(target, -1.0, rows, right.view().subrows(from, len).transpose());
        });
    }

    /// [V Z] and [Z V], of Yᵀ.
    fn sides(&self, x: &Matrix, y: &Matrix) -> [Matrix; 2] {
        let (m, p) = (self.v.rows(), self.v.cols());
        let mut inner = Matrix::zeros(p, p);
        set_product(inner.view_mut(), y.view(), x.view());
        scale(-0.5, inner.as_mut_slice());
        let mut z = Matrix::zeros(m, p);
        z.view_mut().copy_from(y.view().transpose());
        add_product(z.view_mut(), 1.0, self.v.view(), inner.view());
        let join =
            |a: &Matrix, b: &Matrix| Matrix::from_columns(m, 2 * p, [a.as_slice(), b.as_slice()].concat());
        [join(&self.v, &z), join(&z, &self.v)]
    }
}

/// T of H₀H₁… = I − VTVᵀ: upper triangular.
fn triangle(v: &Matrix, taus: &[f64]) -> Matrix {
    let p = taus.len();
    let mut gram = Matrix::zeros(p, p);
    set_product(gram.view_mut(), v.view().transpose(), v.view());
    let mut t = Matrix::zeros(p, p);
    for (j, tau) in taus.iter().enumerate() {
        let mut column = vec![0.0; p];
        for i in 0..j {
            axpy(-tau * gram[(i, j)], &t.column(i)[..j], &mut column[..j]);
        }
        column[j] = *tau;
        t.column_mut(j).copy_from_slice(&column);
    }
    t
}

/// x ← v with v₀ = 1, such that (I − τvvᵀ)x = βe₀; returns β and τ.
fn reflect(x: &mut [f64]) -> (f64, f64) {
    let rest = dot(&x[1..], &x[1..]);
    let first = x[0];
    x[0] = 1.0;
    if rest == 0.0 {
        return (first, 0.0);
    }
    let beta = -(first * first + rest).sqrt().copysign(first);
    scale(1.0 / (first - beta), &mut x[1..]);
    (beta, (beta - first) / beta)
}
