//! Eigenvalues of large symmetric matrices, without eigenvectors: by a band, at the speed of products.

mod band;
mod chase;

use faer::Par;
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd;

use super::Matrix;
use crate::{Error, Result};

/// From this size on the way by a band is faster than to a tridiagonal matrix at once.
const LARGE: usize = 400;
/// Diagonals below the main one: with more the products are faster, and the chase is slower.
const WIDTH: usize = 32;

/// Eigenvalues in ascending order of a symmetric matrix (its lower triangle is read).
pub fn symmetric_eigenvalues(what: &str, matrix: &Matrix) -> Result<Vec<f64>> {
    crate::error::check_finite(what, matrix.as_slice())?;
    let values = if matrix.rows() < LARGE {
        matrix.view().0.self_adjoint_eigenvalues(faer::Side::Lower)
    } else {
        let largest = matrix.as_slice().iter().fold(0.0f64, |a, b| a.max(b.abs()));
        by_band(matrix.clone(), largest, WIDTH)
    };
    super::simd::clear_upper_registers();
    values.map_err(|_| Error::Unsupported(format!("{what}: the eigenvalue iteration did not converge")))
}

/// The same for a matrix that may be overwritten, whose largest entry is about `largest`.
fn by_band(mut matrix: Matrix, largest: f64, width: usize) -> std::result::Result<Vec<f64>, evd::EvdError> {
    // Squares of entries must neither overflow nor vanish; a power of two loses no digit.
    let unit = if largest > 0.0 { largest.log2().floor().exp2() } else { 1.0 };
    super::vector::scale(1.0 / unit, matrix.as_mut_slice());
    let (diagonal, below) = band::to_band(matrix, width).tridiagonal();
    let mut values = tridiagonal(&diagonal, &below)?;
    super::vector::scale(unit, &mut values);
    Ok(values)
}

/// Eigenvalues of a tridiagonal matrix.
fn tridiagonal(diagonal: &[f64], below: &[f64]) -> std::result::Result<Vec<f64>, evd::EvdError> {
    let n = diagonal.len();
    let (mut main, mut off) = (Diag::<f64>::zeros(n), Diag::<f64>::zeros(n - 1));
    main.column_vector_mut().iter_mut().zip(diagonal).for_each(|(to, from)| *to = *from);
    off.column_vector_mut().iter_mut().zip(below).for_each(|(to, from)| *to = *from);
    let mut values = Diag::<f64>::zeros(n);
    let no_vectors = evd::ComputeEigenvectors::No;
    let room = evd::self_adjoint_evd_scratch::<f64>(4, no_vectors, Par::Seq, Default::default());
    let two_columns = faer::linalg::temp_mat_scratch::<f64>(n, 2).array(2);
    let mut memory = MemBuffer::new(room.and(two_columns));
    let stack = MemStack::new(&mut memory);
    let (main, off) = (main.as_ref(), off.as_ref());
    evd::tridiagonal_self_adjoint_evd(main, off, values.as_mut(), None, Par::Seq, stack, Default::default())?;
    Ok(values.column_vector().iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::super::dense::{add_product, set_product};
    use super::super::factor::Cholesky;
    use super::super::vector::{dot, norm};
    use super::*;
    use crate::random::{Purpose, fill_normal, stream};

    /// A random symmetric matrix of low rank plus a diagonal; its upper triangle is not symmetric.
    fn matrix(n: usize, rank: usize) -> Matrix {
        let mut factor = Matrix::zeros(n, rank);
        fill_normal(&mut stream(7, Purpose::Data, n as u64), factor.as_mut_slice());
        let mut matrix = Matrix::zeros(n, n);
        set_product(matrix.view_mut(), factor.view(), factor.view().transpose());
        matrix.add_diagonal((0..n).map(|i| (i as f64).sin()));
        for j in 1..n {
            matrix.column_mut(j)[0] = 1e3;
        }
        matrix
    }

    fn largest(values: &[f64]) -> f64 {
        values.iter().fold(0.0f64, |a, b| a.max(b.abs()))
    }

    #[test]
    fn a_band_has_the_eigenvalues_of_the_matrix() {
        // Sizes around those of the band and of the tasks, and tiny and huge entries.
        for (n, width, unit) in [
            (3, 4, 1.0),
            (5, 4, 1.0),
            (6, 4, 1e-180),
            (127, 8, 1.0),
            (129, 32, 1.0),
            (300, 7, 1e180),
            (389, 32, 1.0),
        ] {
            let mut a = matrix(n, n / 2);
            super::super::vector::scale(unit, a.as_mut_slice());
            let expected = a.view().0.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            let values = by_band(a, unit, width).unwrap();
            let wrong = values.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(wrong < 1e-13 * largest(&expected), "{n}, {width}: {:.1e}", wrong / largest(&expected));
        }
    }

    #[test]
    fn a_band_that_is_one_already_keeps_its_eigenvalues() {
        let n = 40;
        let mut a = Matrix::zeros(n, n);
        a.add_diagonal((0..n).map(|i| i as f64));
        let values = by_band(a, 40.0, 4).unwrap();
        assert!(values.iter().enumerate().all(|(i, v)| (v - i as f64).abs() < 1e-13), "{values:?}");
    }

    #[test]
    fn a_large_matrix_keeps_its_moments_whatever_the_number_of_threads() {
        let mut a = matrix(700, 60);
        a.mirror_lower();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| symmetric_eigenvalues("A", &a).unwrap())
        };
        let values = on(1);
        assert_eq!(values, on(3));
        assert!(values.is_sorted());
        let trace: f64 = (0..700).map(|i| a[(i, i)]).sum();
        assert!((values.iter().sum::<f64>() / trace - 1.0).abs() < 1e-12);
        assert!((norm(&values) / norm(a.as_slice()) - 1.0).abs() < 1e-12);

        a.add_diagonal(std::iter::repeat_n(3.0, 700));
        let log_det: f64 = values.iter().map(|v| (v + 3.0).ln()).sum();
        let factor = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Cholesky::new("A", "", &a).unwrap())
        };
        let cholesky = factor(1);
        assert_eq!(cholesky.lower(), factor(3).lower());
        assert!((cholesky.log_det() - log_det).abs() < 1e-9, "{} {log_det}", cholesky.log_det());
        let lower = cholesky.lower();
        let mut residual = a.clone();
        let rows = super::super::dense::view(&lower, 700, 700);
        add_product(residual.view_mut(), -1.0, rows.transpose(), rows);
        assert!(norm(residual.as_slice()) < 1e-13 * dot(a.as_slice(), a.as_slice()).sqrt());
    }
}
