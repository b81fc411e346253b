//! Cholesky factors and symmetric eigenvalues, with typed failures.

use faer::Side;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use rayon::prelude::*;

use super::cholesky::{BadPivot, factorize};
use super::dense::{Matrix, add_gram_lower, view_mut};
pub use super::eigenvalues::symmetric_eigenvalues;
use super::symmetric::Symmetric;
use super::triangular::{solve_lower, solve_lower_transpose};
use crate::{Error, Result};

/// The factor L of P = L·Lᵀ.
#[derive(Debug, Clone)]
pub struct Cholesky {
    factor: Matrix,
}

impl Cholesky {
    /// Factorises a symmetric matrix (its lower triangle is read).
    ///
    /// A matrix that is singular to rounding counts as not positive definite, whichever sign
    /// rounding gave its pivots.
    /// `what` and `remedy` go into the error when the matrix is not positive definite.
    pub fn new(what: &str, remedy: &str, matrix: &Matrix) -> Result<Self> {
        Self::in_place(what, remedy, matrix.clone())
    }

    /// The same, in the place of the matrix: no second one is needed.
    pub fn in_place(what: &str, remedy: &str, mut matrix: Matrix) -> Result<Self> {
        crate::error::check_finite(what, matrix.as_slice())?;
        let dim = matrix.rows();
        let error = |BadPivot { index: pivot, value }| Error::NotPositiveDefinite {
            what: what.into(),
            pivot,
            dim,
            value,
            remedy: remedy.into(),
        };
        let rounding = dim as f64 * f64::EPSILON;
        let least: Vec<f64> = (0..dim).map(|i| rounding * matrix[(i, i)]).collect();
        factorize(&mut matrix).map_err(error)?;
        // A pivot that is no larger than the rounding errors it was computed with is none.
        let pivot = |index: usize| BadPivot { index, value: matrix[(index, index)].powi(2) };
        match (0..dim).map(pivot).find(|pivot| pivot.value <= least[pivot.index]) {
            None => Ok(Self { factor: matrix }),
            Some(pivot) => Err(error(pivot)),
        }
    }

    /// Takes a factor L as [`Cholesky::lower`] gave it; `what` names it in errors.
    pub fn from_lower(what: &str, dim: usize, lower: &[f64]) -> Result<Self> {
        if dim == 0 || dim.checked_mul(dim) != Some(lower.len()) {
            return Err(Error::shape(what, format!("{dim} × {dim} numbers"), lower.len()));
        }
        crate::error::check_finite(what, lower)?;
        for (i, row) in lower.chunks_exact(dim).enumerate() {
            if row[i] <= 0.0 {
                return Err(Error::range(format!("{what}: diagonal entry {i}"), row[i], "above 0"));
            }
            if let Some(j) = (i + 1..dim).find(|&j| row[j] != 0.0) {
                let entry = format!("{what}: entry ({i}, {j}) above the diagonal");
                return Err(Error::range(entry, row[j], "0"));
            }
        }
        let mut factor = Matrix::zeros(dim, dim);
        factor.view_mut().copy_from(super::dense::view(lower, dim, dim).transpose());
        Ok(Self { factor })
    }

    /// All entries of L, row by row, zeros above the diagonal.
    pub fn lower(&self) -> Vec<f64> {
        let dim = self.dim();
        (0..dim * dim).map(|k| self.factor[(k / dim, k % dim)]).collect()
    }

    /// Number of rows.
    pub fn dim(&self) -> usize {
        self.factor.rows()
    }

    /// b ← L⁻¹b.
    pub fn solve_lower(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.dim(), "Cholesky: length of the right-hand side");
        solve_lower(|j| self.factor.column(j), b);
    }

    /// B ← L⁻¹B for `columns` right-hand sides stored one after the other.
    pub fn solve_lower_many(&self, b: &mut [f64], columns: usize) {
        let b = view_mut(b, self.dim(), columns).0;
        solve_lower_triangular_in_place(self.factor.view().0, b, faer::Par::Seq);
        super::simd::clear_upper_registers();
    }

    /// Diagonal of P⁻¹: the squared columns of L⁻¹, which start at the diagonal.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        const PANEL: usize = 64;
        let dim = self.dim();
        let panel = |start: usize| {
            let (rows, count) = (dim - start, PANEL.min(dim - start));
            let mut columns = Matrix::zeros(rows, count);
            columns.add_diagonal(std::iter::repeat_n(1.0, count));
            let trailing = self.factor.view().0.submatrix(start, start, rows, rows);
            solve_lower_triangular_in_place(trailing, columns.view_mut().0, faer::Par::Seq);
            super::simd::clear_upper_registers();
            (0..count).map(|j| super::vector::dot(columns.column(j), columns.column(j))).collect::<Vec<f64>>()
        };
        let starts: Vec<usize> = (0..dim).step_by(PANEL).collect();
        starts.into_par_iter().flat_map_iter(panel).collect()
    }

    /// b ← L⁻ᵀb.
    pub fn solve_upper(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.dim(), "Cholesky: length of the right-hand side");
        solve_lower_transpose(|j| self.factor.column(j), b);
    }

    /// P⁻¹.
    pub fn inverse(&self) -> Symmetric {
        let dim = self.dim();
        let mut root = Matrix::zeros(dim, dim);
        root.add_diagonal(std::iter::repeat_n(1.0, dim));
        self.solve_lower_many(root.as_mut_slice(), dim);
        let mut lower = Matrix::zeros(dim, dim);
        add_gram_lower(lower.view_mut(), root.view());
        Symmetric::new(dim, |j| lower.column(j))
    }

    /// out ← L·Lᵀ·x.
    pub fn mul(&self, x: &[f64], out: &mut [f64]) {
        let x = super::dense::view(x, self.dim(), 1).0;
        let half = self.factor.view().0.transpose() * x;
        let full = self.factor.view().0 * half;
        for (o, v) in out.iter_mut().zip(full.col(0).iter()) {
            *o = *v;
        }
        super::simd::clear_upper_registers();
    }

    /// log det(L·Lᵀ).
    pub fn log_det(&self) -> f64 {
        (0..self.dim()).map(|i| 2.0 * self.factor[(i, i)].ln()).sum()
    }
}

/// A symmetric matrix as Q·diag(values)·Qᵀ.
#[derive(Debug, Clone)]
pub struct SymmetricEigen {
    /// Eigenvalues in ascending order.
    pub values: Vec<f64>,
    /// Q: eigenvectors as columns, in the same order.
    pub vectors: Matrix,
}

impl SymmetricEigen {
    /// Decomposes a symmetric matrix (its lower triangle is read).
    pub fn new(what: &str, matrix: &Matrix) -> Result<Self> {
        crate::error::check_finite(what, matrix.as_slice())?;
        let n = matrix.rows();
        if n == 0 {
            return Ok(Self { values: Vec::new(), vectors: matrix.clone() });
        }
        let eigen = matrix.view().0.self_adjoint_eigen(Side::Lower);
        super::simd::clear_upper_registers();
        let eigen = eigen
            .map_err(|_| Error::Unsupported(format!("{what}: the eigenvalue iteration did not converge")))?;
        let values = eigen.S().column_vector().iter().copied().collect();
        let vectors = eigen.U().col_iter().flat_map(|column| column.iter().copied()).collect();
        Ok(Self { values, vectors: Matrix::from_columns(n, n, vectors) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_factor_solves_and_multiplies() {
        let p = Matrix::from_columns(2, 2, vec![4.0, 1.0, 1.0, 3.0]);
        let c = Cholesky::new("P", "", &p).unwrap();
        assert!((c.log_det() - 11f64.ln()).abs() < 1e-14);
        let mut out = [0.0; 2];
        c.mul(&[1.0, 2.0], &mut out);
        assert!((out[0] - 6.0).abs() < 1e-14 && (out[1] - 7.0).abs() < 1e-14);
        c.solve_lower(&mut out);
        c.solve_upper(&mut out);
        assert!((out[0] - 1.0).abs() < 1e-14 && (out[1] - 2.0).abs() < 1e-14);
        c.inverse().mul(&[6.0, 7.0], &mut out);
        assert!((out[0] - 1.0).abs() < 1e-14 && (out[1] - 2.0).abs() < 1e-14);
    }

    #[test]
    fn an_indefinite_matrix_is_a_typed_error_with_the_pivot() {
        let p = Matrix::from_columns(2, 2, vec![1.0, 2.0, 2.0, 1.0]);
        let error = Cholesky::new("the Hessian", "raise it", &p).unwrap_err();
        let Error::NotPositiveDefinite { pivot, value, .. } = error else { panic!("{error}") };
        assert_eq!(pivot, 1);
        assert!((value + 3.0).abs() < 1e-14);
    }

    #[test]
    fn a_matrix_that_is_singular_to_rounding_is_not_positive_definite() {
        // Rank one; rounding leaves a last pivot of either sign, or exactly 0.
        for x in [0.1, 0.3, 0.7, 1.1, 1.3, 1e-9] {
            let p = Matrix::from_columns(2, 2, vec![x * x, x, x, 1.0]);
            let error = Cholesky::new("P", "", &p).unwrap_err();
            assert!(matches!(error, Error::NotPositiveDefinite { pivot: 1, .. }), "{x}: {error}");
        }
        // Badly scaled is not singular.
        let p = Matrix::from_columns(2, 2, vec![1e-20, 1e-11, 1e-11, 1.0]);
        assert!(Cholesky::new("P", "", &p).is_ok());
    }

    #[test]
    fn eigenvalues_are_ascending() {
        let p = Matrix::from_columns(2, 2, vec![2.0, 1.0, 1.0, 2.0]);
        let values = symmetric_eigenvalues("P", &p).unwrap();
        assert!((values[0] - 1.0).abs() < 1e-14 && (values[1] - 3.0).abs() < 1e-14);
    }
}
