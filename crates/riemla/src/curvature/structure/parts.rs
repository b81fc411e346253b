//! A precision taken apart into named arrays, and put together again with the same bits.

use std::sync::Arc;

use super::{DiagonalPrecision, FullPrecision, Precision};
use crate::curvature::Structure;
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
    pub arrays: Vec<NamedArray>,
}

impl PrecisionParts {
    /// The precision these parts were taken from; draws from it have the same bits.
    pub fn assemble(&self) -> Result<Arc<dyn Precision>> {
        Ok(match self.structure {
            Structure::Full => Arc::new(FullPrecision::from_parts(self)?),
            Structure::Diagonal => Arc::new(DiagonalPrecision::from_parts(self)?),
            structure => {
                let message =
                    format!("a {structure:?} precision cannot be rebuilt from arrays; use full or diagonal");
                return Err(Error::Unsupported(message));
            }
        })
    }

    /// The array of a name, with as many entries as its dimensions say.
    pub(super) fn array(&self, name: &str) -> Result<&NamedArray> {
        let found = self.arrays.iter().find(|array| array.name == name);
        let array = found.ok_or_else(|| Error::shape(format!("array `{name}`"), "to be there", "none"))?;
        let count = array.dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
        if count != Some(array.values.len()) {
            let expected = format!("{:?} entries", array.dims);
            return Err(Error::shape(format!("array `{name}`"), expected, array.values.len()));
        }
        crate::error::check_finite(name, &array.values)?;
        Ok(array)
    }
}
