//! A dense precision by its Cholesky factor.

use super::{NamedArray, Precision, PrecisionParts};
use crate::Result;
use crate::curvature::Structure;
use crate::linalg::{Cholesky, Matrix};

/// P = LLᵀ, all entries kept.
#[derive(Debug, Clone)]
pub struct FullPrecision {
    cholesky: Cholesky,
}

impl FullPrecision {
    /// Factorises curvature + diag(prior).
    pub fn new(curvature: &Matrix, prior: &[f64]) -> Result<Self> {
        Self::in_place(curvature.clone(), prior)
    }

    /// The same, in the place of the curvature: at many weights there is no room for a second matrix.
    pub fn in_place(mut curvature: Matrix, prior: &[f64]) -> Result<Self> {
        curvature.add_diagonal(prior.iter().copied());
        let remedy = "use the GGN instead of the Hessian, train to a minimum, or raise prior_precision";
        Ok(Self { cholesky: Cholesky::in_place("the precision (curvature + prior)", remedy, curvature)? })
    }

    /// Factorises a precision that is given as a whole.
    pub fn from_matrix(precision: &Matrix) -> Result<Self> {
        let remedy = "a precision is symmetric and positive definite";
        Ok(Self { cholesky: Cholesky::new("the precision", remedy, precision)? })
    }

    /// Factorises the Hessian of a loss.
    pub(crate) fn of_hessian(hessian: &Matrix) -> Result<Self> {
        let remedy = "train to a minimum, or give a precision";
        Ok(Self { cholesky: Cholesky::new("the Hessian at the weights", remedy, hessian)? })
    }

    pub(super) fn from_parts(parts: &PrecisionParts) -> Result<Self> {
        let array = parts.array("cholesky")?;
        let dim = array.dims.first().copied().unwrap_or(0);
        Ok(Self { cholesky: Cholesky::from_lower("cholesky", dim, &array.values)? })
    }
}

impl Precision for FullPrecision {
    fn dim(&self) -> usize {
        self.cholesky.dim()
    }

    fn mul(&self, x: &[f64], out: &mut [f64]) {
        self.cholesky.mul(x, out);
    }

    fn solve(&self, x: &mut [f64]) {
        self.cholesky.solve_lower(x);
        self.cholesky.solve_upper(x);
    }

    fn sqrt_solve(&self, x: &mut [f64]) {
        self.cholesky.solve_upper(x);
    }

    fn sqrt_solve_transpose(&self, x: &mut [f64]) {
        self.cholesky.solve_lower(x);
    }

    fn log_det(&self) -> f64 {
        self.cholesky.log_det()
    }

    fn inverse_quadratic(&self, x: &mut [f64], count: usize) -> Vec<f64> {
        self.cholesky.solve_lower_many(x, count);
        x.chunks_exact(self.dim()).map(|row| crate::linalg::vector::dot(row, row)).collect()
    }

    fn parts(&self) -> Option<PrecisionParts> {
        let dim = self.dim();
        let factor =
            NamedArray { name: "cholesky".into(), dims: vec![dim, dim], values: self.cholesky.lower() };
        Some(PrecisionParts { structure: Structure::Full, arrays: vec![factor] })
    }
}
