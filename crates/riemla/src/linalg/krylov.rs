//! The largest eigenpairs of a symmetric positive semi-definite matrix known only by its products.
//!
//! Block Lanczos with full reorthogonalisation and thick restarts, from random vectors. A single start
//! vector would see each multiple eigenvalue once (a Gaussian likelihood with C outputs has them
//! C-fold); a block of b finds multiplicities up to b. Products are asked for and made orthogonal a block
//! at a time: on all cores, and the basis comes from memory once for all of them. The projected matrix is
//! kept in full instead of as a band, so a restart needs no special formulas: Ritz vectors are basis
//! vectors whose products are known.

use rayon::prelude::*;

use super::dense::{Matrix, View, add_product, set_product, view, view_mut};
use super::factor::SymmetricEigen;
use super::vector::{axpy, dot, norm, scale};
use crate::Result;
use crate::random::{Purpose, Rng, fill_normal, stream};

/// What to compute, and how well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Krylov {
    /// Number of eigenpairs.
    pub rank: usize,
    /// Number of random start vectors: the largest multiplicity that is surely found.
    pub block: usize,
    /// Largest residual ‖Au − λu‖ of a pair, relative to the largest eigenvalue.
    pub tolerance: f64,
    /// A residual that is small enough, too, relative to the pair's own eigenvalue λ: that is then right to this
    /// share at least, and mostly to its square.
    pub own: f64,
    /// Products beyond the rank between restarts, at least.
    pub room: usize,
    /// Restarts after which the pairs are returned as they are.
    pub max_restarts: usize,
}

/// Eigenpairs, and how good they are.
#[derive(Debug, Clone)]
pub struct TopEigen {
    /// Eigenvalues above rounding, largest first: fewer than asked for if the rank is lower.
    pub values: Vec<f64>,
    /// Orthonormal eigenvectors as columns, in the same order.
    pub vectors: Matrix,
    /// Largest residual ‖Au − λu‖ relative to the largest eigenvalue.
    pub residual: f64,
    /// Whether the residual is within the tolerance.
    pub converged: bool,
    /// Products with the matrix.
    pub products: usize,
}

/// Relative size below which a vector or eigenvalue is rounding.
const ROUNDING: f64 = 1e-12;
/// Share of a vector's length that must be left, or it is made orthogonal once more.
const CANCELLED: f64 = 0.5;
/// Seed of the start vectors: results are reproducible.
const SEED: u64 = 0x6b72_796c_6f76;
/// Rows that one task or one small product handles.
const PANEL: usize = 8192;

impl Krylov {
    /// `rank` pairs from a block of `block` vectors, with a tolerance that suits a precision.
    pub fn new(rank: usize, block: usize) -> Self {
        Self { rank, block, tolerance: 1e-7, own: 0.0, room: 16, max_restarts: 30 }
    }

    /// Products between restarts, for a matrix of the given size.
    fn steps(&self, dim: usize) -> usize {
        (self.rank + self.rank.max(4 * self.block).max(self.room)).min(dim)
    }

    /// Vectors held at the same time, for a matrix of the given size.
    pub fn vectors(&self, dim: usize) -> usize {
        (self.steps(dim) + self.block).min(dim)
    }

    /// The largest eigenpairs of the matrix of size `dim`; `product` writes its products with one or
    /// more vectors, stored one after the other.
    pub fn top_eigenpairs(
        &self,
        dim: usize,
        mut product: impl FnMut(&[f64], &mut [f64]),
    ) -> Result<TopEigen> {
        let steps = self.steps(dim);
        let mut space = Subspace::new(dim, self.vectors(dim), self.block);
        let mut products = 0;
        for restart in 0.. {
            loop {
                products += space.expand(steps, &mut product)?;
                let swept = space.complete || space.expanded >= steps;
                // A space that holds everything in the end is not left early.
                if !swept && (steps == dim || space.expanded < self.rank + self.block) {
                    continue;
                }
                let ritz = space.ritz()?;
                let wanted = self.rank.min(space.expanded);
                let (residual, enough) = space.residual(&ritz, wanted, self);
                let converged = space.complete || enough;
                if converged || (swept && restart == self.max_restarts) {
                    return Ok(space.finish(ritz, wanted, (residual, converged, products)));
                }
                if swept {
                    space.restart(&ritz, wanted + (steps - wanted) / 2);
                    break;
                }
            }
        }
        unreachable!("the last restart returns")
    }
}

/// An orthonormal basis V, some of whose vectors have been multiplied by the matrix.
struct Subspace {
    dim: usize,
    /// V, column-major.
    basis: Vec<f64>,
    columns: usize,
    /// Basis vectors, from the first, whose products are known.
    expanded: usize,
    /// VᵀAV in its expanded columns.
    projected: Matrix,
    /// Largest ‖Av‖ so far.
    size: f64,
    /// The random vector that was put in because V was invariant, if it has not been multiplied.
    fresh: Option<usize>,
    /// V holds every eigenvector whose eigenvalue is not 0.
    complete: bool,
    rng: Rng,
}

impl Subspace {
    fn new(dim: usize, capacity: usize, block: usize) -> Self {
        let mut space = Self {
            dim,
            basis: Vec::with_capacity(dim * capacity),
            columns: 0,
            expanded: 0,
            projected: Matrix::zeros(capacity, capacity),
            size: 0.0,
            fresh: None,
            complete: false,
            rng: stream(SEED, Purpose::Initialization, 1),
        };
        (0..block.min(capacity)).for_each(|_| space.append_random());
        space
    }

    fn column(&self, j: usize) -> &[f64] {
        &self.basis[j * self.dim..(j + 1) * self.dim]
    }

    /// Removes from the vectors w what lies in V, twice for accuracy; returns Vᵀw.
    fn orthogonalize(&self, w: &mut [f64]) -> Matrix {
        let (dim, count) = (self.dim, w.len() / self.dim);
        let basis = view(&self.basis, dim, self.columns);
        let panels: Vec<(usize, usize)> =
            (0..dim).step_by(PANEL).map(|start| (start, PANEL.min(dim - start))).collect();
        let mut total = Matrix::zeros(self.columns, count);
        for _ in 0..2 {
            let now = view(w, dim, count);
            let inner = |&(start, rows): &(usize, usize)| {
                let mut part = Matrix::zeros(self.columns, count);
                let rows_of_basis = basis.subrows(start, rows).transpose();
                set_product(part.view_mut(), rows_of_basis, now.subrows(start, rows));
                part
            };
            let parts: Vec<Matrix> = panels.par_iter().map(inner).collect();
            let mut sum = Matrix::zeros(self.columns, count);
            parts.iter().for_each(|part| axpy(1.0, part.as_slice(), sum.as_mut_slice()));
            let rows = view_mut(w, dim, count).row_panels(PANEL);
            rows.into_par_iter().zip(&panels).for_each(|(w, &(start, rows))| {
                add_product(w, -1.0, basis.subrows(start, rows), sum.view());
            });
            axpy(1.0, sum.as_slice(), total.as_mut_slice());
        }
        total
    }

    fn append(&mut self, w: &mut [f64], length: f64) {
        scale(1.0 / length, w);
        self.basis.extend_from_slice(w);
        self.columns += 1;
    }

    fn append_random(&mut self) {
        let mut w = vec![0.0; self.dim];
        fill_normal(&mut self.rng, &mut w);
        let length = norm(&w);
        scale(1.0 / length, &mut w);
        self.orthogonalize(&mut w);
        let length = norm(&w);
        self.append(&mut w, length);
    }

    /// Multiplies the basis vectors that have not been, up to `steps` in all, and appends the new
    /// directions; returns how many were multiplied.
    fn expand(&mut self, steps: usize, product: &mut impl FnMut(&[f64], &mut [f64])) -> Result<usize> {
        let (dim, first) = (self.dim, self.expanded);
        let count = (self.columns - first).min(steps - first);
        let mut w = vec![0.0; count * dim];
        product(&self.basis[first * dim..(first + count) * dim], &mut w);
        crate::error::check_finite("the curvature times a vector", &w)?;
        let image = w.chunks_exact(dim).map(norm).fold(0.0, f64::max);
        if self.fresh.take() == Some(first) && image <= ROUNDING * self.size {
            // V was invariant and a random vector of its complement is mapped to 0.
            self.columns = first;
            self.basis.truncate(first * dim);
            self.complete = true;
            return Ok(count);
        }
        self.size = self.size.max(image);
        let coefficients = self.orthogonalize(&mut w);
        let before = self.columns;
        for (i, w) in w.chunks_exact_mut(dim).enumerate() {
            let column = self.projected.column_mut(first + i);
            column[..before].copy_from_slice(coefficients.column(i));
            self.append_image(first + i, before, w);
        }
        self.expanded += count;
        if self.expanded == dim {
            self.complete = true;
        } else if self.expanded == self.columns {
            self.append_random();
            self.fresh = Some(self.expanded);
        }
        Ok(count)
    }

    /// Appends what is new in the product of basis vector `j`, which is orthogonal to the first `before`
    /// basis vectors but not to those appended since.
    fn append_image(&mut self, j: usize, before: usize, w: &mut [f64]) {
        let length = norm(w);
        for new in before..self.columns {
            let along = dot(self.column(new), w);
            axpy(-along, &self.basis[new * self.dim..(new + 1) * self.dim], w);
            self.projected.column_mut(j)[new] += along;
        }
        // Where much was removed, rounding errors of what was there have become large.
        if norm(w) < CANCELLED * length {
            let rest = self.orthogonalize(w);
            axpy(1.0, rest.as_slice(), &mut self.projected.column_mut(j)[..rest.rows()]);
        }
        let length = norm(w);
        if self.columns < self.dim && length > ROUNDING * self.size {
            self.projected.column_mut(j)[self.columns] = length;
            self.append(w, length);
        }
    }

    /// Eigenpairs of the projected matrix. Entries above the diagonal are complete: a column is
    /// written when all basis vectors before it exist.
    fn ritz(&self) -> Result<SymmetricEigen> {
        let m = self.expanded;
        let mut lower = Matrix::zeros(m, m);
        for j in 0..m {
            (j..m).for_each(|i| lower.column_mut(j)[i] = self.projected[(j, i)]);
        }
        SymmetricEigen::new("the projected curvature", &lower)
    }

    /// Largest residual of the `wanted` largest Ritz pairs, relative to the largest eigenvalue, and whether all are
    /// small enough.
    fn residual(&self, ritz: &SymmetricEigen, wanted: usize, krylov: &Krylov) -> (f64, bool) {
        let largest = ritz.values.last().copied().unwrap_or(0.0);
        if self.complete || largest <= 0.0 {
            return (0.0, true);
        }
        let outside = self.outside(ritz, wanted);
        let pairs = || (0..wanted).map(|i| norm(outside.column(i))).zip(ritz.values.iter().rev());
        let small =
            |(residual, value): (f64, &f64)| residual <= (krylov.tolerance * largest).max(krylov.own * value);
        (pairs().map(|(residual, _)| residual).fold(0.0, f64::max) / largest, pairs().all(small))
    }

    /// Components of A·(the largest Ritz vectors) on the basis vectors not yet multiplied.
    fn outside(&self, ritz: &SymmetricEigen, count: usize) -> Matrix {
        let (m, rest) = (self.expanded, self.columns - self.expanded);
        let mut outside = Matrix::zeros(rest, count);
        let coupling = self.projected.view().0.submatrix(m, 0, rest, m);
        set_product(outside.view_mut(), View(coupling), descending(ritz, count).view());
        outside
    }

    /// The first `count` columns of V ← the largest Ritz vectors.
    fn rotate(&mut self, ritz: &SymmetricEigen, count: usize) {
        let (m, dim) = (self.expanded, self.dim);
        let rotation = descending(ritz, count);
        let panels = view_mut(&mut self.basis[..m * dim], dim, m).row_panels(PANEL);
        panels.into_par_iter().for_each(|panel| {
            let mut rotated = Matrix::zeros(panel.rows(), count);
            set_product(rotated.view_mut(), panel.as_view(), rotation.view());
            panel.subcols_mut(0, count).copy_from(rotated.view());
        });
    }

    /// Keeps the `keep` largest Ritz vectors and the vectors not yet multiplied.
    fn restart(&mut self, ritz: &SymmetricEigen, keep: usize) {
        let (m, rest) = (self.expanded, self.columns - self.expanded);
        self.rotate(ritz, keep);
        self.basis.copy_within(m * self.dim..self.columns * self.dim, keep * self.dim);
        self.columns = keep + rest;
        self.basis.truncate(self.columns * self.dim);
        self.fresh = self.fresh.map(|j| j - m + keep);
        self.projected.as_mut_slice().fill(0.0);
        // How these couple to the rest is known again as soon as the rest has been multiplied,
        // which it is before the next residual: a sweep is longer than the block.
        (0..keep).for_each(|j| self.projected.column_mut(j)[j] = ritz.values[m - 1 - j]);
        self.expanded = keep;
    }

    fn finish(
        mut self,
        ritz: SymmetricEigen,
        wanted: usize,
        (residual, converged, products): (f64, bool, usize),
    ) -> TopEigen {
        let floor = ROUNDING * ritz.values.last().map_or(0.0, |v| v.abs());
        let values: Vec<f64> =
            ritz.values.iter().rev().take(wanted).copied().filter(|v| *v > floor).collect();
        self.rotate(&ritz, values.len());
        self.basis.truncate(values.len() * self.dim);
        self.basis.shrink_to_fit();
        let vectors = Matrix::from_columns(self.dim, values.len(), self.basis);
        TopEigen { values, vectors, residual, converged, products }
    }
}

/// The eigenvectors of the `count` largest eigenvalues, largest first.
fn descending(eigen: &SymmetricEigen, count: usize) -> Matrix {
    let m = eigen.values.len();
    let columns: Vec<f64> =
        (0..count).flat_map(|i| eigen.vectors.column(m - 1 - i).iter().copied()).collect();
    Matrix::from_columns(m, count, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// diag(d) reflected at a random plane: no eigenvector is a unit vector.
    fn reflected(diagonal: &[f64]) -> impl FnMut(&[f64], &mut [f64]) + '_ {
        let mut u = vec![0.0; diagonal.len()];
        fill_normal(&mut stream(3, Purpose::Data, 0), &mut u);
        let length = norm(&u);
        scale(1.0 / length, &mut u);
        move |vectors, out| {
            let n = diagonal.len();
            for (v, out) in vectors.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                out.copy_from_slice(v);
                axpy(-2.0 * dot(&u, v), &u, out);
                out.iter_mut().zip(diagonal).for_each(|(o, d)| *o *= d);
                let inner = dot(&u, out);
                axpy(-2.0 * inner, &u, out);
            }
        }
    }

    /// Largest ‖Au − λu‖ and largest deviation of UᵀU from I.
    fn errors(top: &TopEigen, diagonal: &[f64]) -> (f64, f64) {
        let (mut product, mut image) = (reflected(diagonal), vec![0.0; diagonal.len()]);
        let (mut residual, mut angle) = (0.0f64, 0.0f64);
        for (j, value) in top.values.iter().enumerate() {
            product(top.vectors.column(j), &mut image);
            axpy(-value, top.vectors.column(j), &mut image);
            residual = residual.max(norm(&image));
            for i in 0..=j {
                let expected = f64::from(u8::from(i == j));
                angle = angle.max((dot(top.vectors.column(i), top.vectors.column(j)) - expected).abs());
            }
        }
        (residual, angle)
    }

    #[test]
    fn restarts_converge_on_a_dense_spectrum_with_honest_residuals() {
        let diagonal: Vec<f64> = (0..500).map(|i| 1.0 / (1.0 + 0.05 * f64::from(i / 2))).collect();
        let krylov = Krylov::new(6, 2);
        let top = krylov.top_eigenpairs(500, reflected(&diagonal)).unwrap();
        assert!(top.converged && top.products > 2 * krylov.steps(500), "{} products", top.products);
        let wrong = top.values.iter().zip(&diagonal).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(wrong < 1e-10, "{:?}", top.values);
        let (residual, angle) = errors(&top, &diagonal);
        assert!(residual < 2e-7 && angle < 1e-12, "residual {residual:.1e}, angle {angle:.1e}");

        // Stopped too early, it says so, and by how much.
        for max_restarts in [0, 1] {
            let top = Krylov { max_restarts, ..krylov }.top_eigenpairs(500, reflected(&diagonal)).unwrap();
            let (residual, _) = errors(&top, &diagonal);
            assert!(!top.converged, "{max_restarts}: {:.1e}", top.residual);
            assert!(
                (top.residual * top.values[0] / residual - 1.0).abs() < 1e-6,
                "{:.3e}, {residual:.3e}",
                top.residual
            );
        }
    }
}
