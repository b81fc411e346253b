//! Column-major matrices and products, sequential: parallelism belongs to the callers.

use faer::linalg::matmul;
use faer::linalg::matmul::triangular::BlockStructure;
use faer::{Accum, MatMut, MatRef, Par};

use super::simd::clear_upper_registers;

/// A read-only column-major view.
#[derive(Clone, Copy)]
pub struct View<'a>(pub(super) MatRef<'a, f64>);
/// A mutable column-major view.
pub struct ViewMut<'a>(pub(super) MatMut<'a, f64>);

impl<'a> View<'a> {
    /// The transpose, without moving an entry.
    pub fn transpose(self) -> View<'a> {
        View(self.0.transpose())
    }

    /// Rows `start` to `start + count`.
    pub fn subrows(self, start: usize, count: usize) -> View<'a> {
        View(self.0.subrows(start, count))
    }

    /// Columns `start` to `start + count`.
    pub fn subcols(self, start: usize, count: usize) -> View<'a> {
        View(self.0.subcols(start, count))
    }
}

impl<'a> ViewMut<'a> {
    /// Rows `start` to `start + count`.
    pub fn subrows_mut(self, start: usize, count: usize) -> ViewMut<'a> {
        ViewMut(self.0.subrows_mut(start, count))
    }

    /// Columns `start` to `start + count`.
    pub fn subcols_mut(self, start: usize, count: usize) -> ViewMut<'a> {
        ViewMut(self.0.subcols_mut(start, count))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.0.nrows()
    }

    /// The same entries, to read.
    pub fn as_view(&self) -> View<'_> {
        View(self.0.as_ref())
    }

    /// Pieces of `rows` rows each, the last perhaps of fewer: for tasks of their own.
    pub fn row_panels(self, rows: usize) -> Vec<ViewMut<'a>> {
        let (mut panels, mut rest) = (Vec::new(), self.0);
        while rest.nrows() > rows {
            let (panel, after) = rest.split_at_row_mut(rows);
            panels.push(ViewMut(panel));
            rest = after;
        }
        panels.push(ViewMut(rest));
        panels
    }

    /// Takes the entries of a matrix of the same size.
    pub fn copy_from(mut self, other: View<'_>) {
        self.0.copy_from(other.0);
    }
}

/// Views a slice as a `rows × cols` column-major matrix.
pub fn view(data: &[f64], rows: usize, cols: usize) -> View<'_> {
    View(MatRef::from_column_major_slice(data, rows, cols))
}

/// Views a mutable slice as a `rows × cols` column-major matrix.
pub fn view_mut(data: &mut [f64], rows: usize, cols: usize) -> ViewMut<'_> {
    ViewMut(MatMut::from_column_major_slice_mut(data, rows, cols))
}

/// C ← C + alpha·A·B.
pub fn add_product(c: ViewMut<'_>, alpha: f64, a: View<'_>, b: View<'_>) {
    matmul::matmul(c.0, Accum::Add, a.0, b.0, alpha, Par::Seq);
    clear_upper_registers();
}

/// C ← A·B.
pub fn set_product(c: ViewMut<'_>, a: View<'_>, b: View<'_>) {
    matmul::matmul(c.0, Accum::Replace, a.0, b.0, 1.0, Par::Seq);
    clear_upper_registers();
}

/// Lower triangle of C ← C + A·B; the upper triangle is left alone.
pub fn add_product_lower(c: ViewMut<'_>, a: View<'_>, b: View<'_>) {
    let rectangle = BlockStructure::Rectangular;
    let lower = BlockStructure::TriangularLower;
    matmul::triangular::matmul(c.0, lower, Accum::Add, a.0, rectangle, b.0, rectangle, 1.0, Par::Seq);
    clear_upper_registers();
}

/// Lower triangle of C ← C + AᵀA; the upper triangle is left alone.
pub fn add_gram_lower(c: ViewMut<'_>, a: View<'_>) {
    add_product_lower(c, a.transpose(), a);
}

/// An owned column-major matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// A matrix from its column-major entries.
    pub fn from_columns(rows: usize, cols: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), rows * cols, "Matrix: wrong number of entries");
        Self { rows, cols, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All entries, column by column.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, column by column.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Column `j`.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j`.
    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// The whole matrix as a view.
    pub fn view(&self) -> View<'_> {
        view(&self.data, self.rows, self.cols)
    }

    /// The whole matrix as a mutable view.
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        view_mut(&mut self.data, self.rows, self.cols)
    }

    /// out ← A·x.
    pub fn mul_vector(&self, x: &[f64], out: &mut [f64]) {
        set_product(view_mut(out, self.rows, 1), self.view(), view(x, self.cols, 1));
    }

    /// Copies the lower triangle onto the upper one.
    pub fn mirror_lower(&mut self) {
        let n = self.rows;
        for j in 0..n {
            for i in 0..j {
                self.data[j * n + i] = self.data[i * n + j];
            }
        }
    }

    /// Adds `values` to the diagonal.
    pub fn add_diagonal(&mut self, values: impl IntoIterator<Item = f64>) {
        let n = self.rows;
        for (i, v) in values.into_iter().enumerate() {
            self.data[i * n + i] += v;
        }
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[j * self.rows + i]
    }
}
