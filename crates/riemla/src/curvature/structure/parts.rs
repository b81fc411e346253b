//! A precision taken apart into named arrays, and put together again with the same bits.

use std::sync::Arc;

use super::{DiagonalPrecision, FullPrecision, KroneckerPrecision, LowRankPrecision, Precision};
use crate::curvature::Structure;
use crate::linalg::Matrix;
use crate::linalg::dense::{set_product, view, view_mut};
use crate::{Error, Result};

/// One array of a precision.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedArray {
    /// What it is.
    pub name: String,
    /// Dimensions; the entries are row-major.
    pub dims: Vec<usize>,
    /// The entries.
    pub values: Vec<f64>,
}

/// All that a precision keeps: enough to write it to a file and to rebuild it exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionParts {
    /// Which structure the arrays belong to.
    pub structure: Structure,
    /// full: `cholesky`, the lower factor L of P = LLᵀ (K × K). diagonal: `diagonal` (K).
    /// kron: for block i of the layers `block.i.a.values` (n), `block.i.a.vectors` (n × n, an
    /// eigenvector per row), the same for `b`, and `block.i.bias`, `block.i.scale`,
    /// `block.i.prior_precision` (1 each). low-rank: `root` (K), `vectors` (r × K), `values` (r)
    /// with P = diag(root)(I + VᵀΓV)diag(root).
    pub arrays: Vec<NamedArray>,
}

impl PrecisionParts {
    /// The precision these parts were taken from; draws from it have the same bits.
    pub fn assemble(&self) -> Result<Arc<dyn Precision>> {
        Ok(match self.structure {
            Structure::Full => Arc::new(FullPrecision::from_parts(self)?),
            Structure::Diagonal => Arc::new(DiagonalPrecision::from_parts(self)?),
            Structure::Kronecker => Arc::new(KroneckerPrecision::from_parts(self)?),
            Structure::LowRank { rank } => Arc::new(LowRankPrecision::from_parts(self, rank)?),
        })
    }

    /// The array of a name, with as many entries as its dimensions say.
    pub(super) fn array(&self, name: &str) -> Result<&NamedArray> {
        let found = self.arrays.iter().find(|array| array.name == name);
        let array =
            found.ok_or_else(|| Error::shape(format!("array `{name}`"), "an array of this name", "none"))?;
        let count = array.dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
        if count != Some(array.values.len()) {
            let expected = format!("{:?} entries", array.dims);
            return Err(Error::shape(format!("array `{name}`"), expected, array.values.len()));
        }
        crate::error::check_finite(name, &array.values)?;
        Ok(array)
    }

    /// The same with the given dimensions.
    pub(super) fn array_of(&self, name: &str, dims: &[usize]) -> Result<&NamedArray> {
        let array = self.array(name)?;
        if array.dims == dims {
            return Ok(array);
        }
        let (expected, found) = (format!("dimensions {dims:?}"), format!("{:?}", array.dims));
        Err(Error::shape(format!("array `{name}`"), expected, found))
    }
}

/// Largest relative error of QᵀQx = x that passes as rounding (of 32-bit files, too).
const ORTHONORMAL: f64 = 1e-5;

/// Checks that the columns are orthonormal, by one product with a vector of mixed entries: a
/// damaged matrix does not pass, and the cost is that of reading it.
pub(super) fn check_orthonormal(what: &str, q: &Matrix) -> Result<()> {
    let (rows, columns) = (q.rows(), q.cols());
    // Fractional parts of multiples of the golden ratio: nothing that is in the data.
    let x: Vec<f64> = (1..=columns).map(|j| (j as f64 * 0.618_033_988_749_895).fract() - 0.4).collect();
    let (mut image, mut back) = (vec![0.0; rows], vec![0.0; columns]);
    set_product(view_mut(&mut image, rows, 1), q.view(), view(&x, columns, 1));
    set_product(view_mut(&mut back, columns, 1), q.view().transpose(), view(&image, rows, 1));
    let error = crate::linalg::vector::distance(&back, &x);
    if error <= ORTHONORMAL * crate::linalg::vector::norm(&x) {
        return Ok(());
    }
    Err(Error::range(format!("deviation of `{what}` from orthonormal"), format!("{error:.1e}"), "near 0"))
}
