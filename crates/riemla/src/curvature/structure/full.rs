//! A dense precision by its Cholesky factor.

use std::sync::OnceLock;

use super::{NamedArray, Precision, PrecisionParts};
use crate::Result;
use crate::curvature::Structure;
use crate::linalg::Symmetric;
use crate::linalg::{Cholesky, Matrix};
use crate::objective::Pool;

/// Up to so many weights P⁻¹ is kept once it is asked for: where evaluations are cheap, solving with the factor takes a
/// third of a geodesic's time and a product with the inverse a tenth; from here on evaluations outweigh both.
const KEPT_INVERSE: usize = 1000;

/// P = LLᵀ, all entries kept.
#[derive(Debug, Clone)]
pub struct FullPrecision {
    cholesky: Cholesky,
    inverse: OnceLock<Symmetric>,
    right_hand_sides: Pool<Vec<f64>>,
}

impl From<Cholesky> for FullPrecision {
    fn from(cholesky: Cholesky) -> Self {
        Self { cholesky, inverse: OnceLock::new(), right_hand_sides: Pool::default() }
    }
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
        Ok(Cholesky::in_place("the precision (curvature + prior)", remedy, curvature)?.into())
    }

    /// Factorises a precision that is given as a whole.
    pub fn from_matrix(precision: &Matrix) -> Result<Self> {
        let remedy = "a precision is symmetric and positive definite";
        Ok(Cholesky::new("the precision", remedy, precision)?.into())
    }

    /// Factorises the Hessian of a loss.
    pub(crate) fn of_hessian(hessian: &Matrix) -> Result<Self> {
        let remedy = "train to a minimum, or give a precision";
        Ok(Cholesky::new("the Hessian at the weights", remedy, hessian)?.into())
    }

    pub(super) fn from_parts(parts: &PrecisionParts) -> Result<Self> {
        let array = parts.array("cholesky")?;
        let dim = array.dims.first().copied().unwrap_or(0);
        Ok(Cholesky::from_lower("cholesky", dim, &array.values)?.into())
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
        if self.dim() > KEPT_INVERSE {
            self.cholesky.solve_lower(x);
            self.cholesky.solve_upper(x);
            return;
        }
        let inverse = self.inverse.get_or_init(|| self.cholesky.inverse());
        self.right_hand_sides.with(Vec::new, |right_hand_side| {
            right_hand_side.clear();
            right_hand_side.extend_from_slice(x);
            inverse.mul(right_hand_side, x);
        });
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
