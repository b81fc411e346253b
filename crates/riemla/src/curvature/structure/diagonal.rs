//! A diagonal precision.

use super::{NamedArray, Precision, PrecisionParts};
use crate::curvature::Structure;
use crate::{Error, Result};

/// P = diag(p).
#[derive(Debug, Clone)]
pub struct DiagonalPrecision {
    diagonal: Vec<f64>,
}

impl DiagonalPrecision {
    /// diag(curvature + prior), every entry above zero.
    pub fn new(curvature: &[f64], prior: &[f64]) -> Result<Self> {
        let diagonal: Vec<f64> = curvature.iter().zip(prior).map(|(c, p)| c + p).collect();
        crate::error::check_finite("the diagonal precision", &diagonal)?;
        match diagonal.iter().position(|d| *d <= 0.0) {
            None => Ok(Self { diagonal }),
            Some(pivot) => Err(Error::NotPositiveDefinite {
                what: "the diagonal precision (curvature + prior)".into(),
                pivot,
                dim: diagonal.len(),
                value: diagonal[pivot],
                remedy: "use the GGN instead of the Hessian, or raise prior_precision".into(),
            }),
        }
    }

    pub(super) fn from_parts(parts: &PrecisionParts) -> Result<Self> {
        let diagonal = &parts.array("diagonal")?.values;
        Self::new(diagonal, &vec![0.0; diagonal.len()])
    }
}

impl Precision for DiagonalPrecision {
    fn dim(&self) -> usize {
        self.diagonal.len()
    }

    fn mul(&self, x: &[f64], out: &mut [f64]) {
        for ((o, x), d) in out.iter_mut().zip(x).zip(&self.diagonal) {
            *o = d * x;
        }
    }

    fn solve(&self, x: &mut [f64]) {
        for (x, d) in x.iter_mut().zip(&self.diagonal) {
            *x /= d;
        }
    }

    fn sqrt_solve(&self, x: &mut [f64]) {
        for (x, d) in x.iter_mut().zip(&self.diagonal) {
            *x /= d.sqrt();
        }
    }

    fn sqrt_solve_transpose(&self, x: &mut [f64]) {
        self.sqrt_solve(x);
    }

    fn log_det(&self) -> f64 {
        self.diagonal.iter().map(|d| d.ln()).sum()
    }

    fn inverse_quadratic(&self, x: &mut [f64], count: usize) -> Vec<f64> {
        let rows = x.chunks_exact(self.dim()).take(count);
        rows.map(|row| row.iter().zip(&self.diagonal).map(|(x, d)| x * x / d).sum()).collect()
    }

    fn parts(&self) -> Option<PrecisionParts> {
        let diagonal = NamedArray {
            name: "diagonal".into(),
            dims: vec![self.diagonal.len()],
            values: self.diagonal.clone(),
        };
        Some(PrecisionParts { structure: Structure::Diagonal, arrays: vec![diagonal] })
    }
}
