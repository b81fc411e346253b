//! Precisions as arrays, in and out.

use std::sync::Arc;

use numpy::{PyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use riemla::curvature::{DiagonalPrecision, FullPrecision, NamedArray, Precision, PrecisionParts, Structure};
use riemla::linalg::Matrix;

use crate::arrays::{Numbers, row_major, shape_error, shaped};
use crate::errors::library;
use crate::settings;

/// Asymmetry of a matrix, relative to its largest entry, that passes as rounding (of 32-bit arithmetic, too).
const ASYMMETRY: f64 = 1e-5;

/// A precision from the arrays of a structure; a structure that is none is a plain matrix or vector.
pub fn read(
    dim: usize,
    structure: Option<&str>,
    arrays: &[(String, Numbers<'_>)],
) -> PyResult<Arc<dyn Precision>> {
    let precision = match (structure, arrays) {
        (None, [(_, array)]) => plain(dim, array)?,
        _ => parts(structure, arrays)?.assemble().map_err(library)?,
    };
    if precision.dim() != dim {
        let problem = format!("precision: expected {dim} weights, got {}", precision.dim());
        return Err(PyValueError::new_err(problem));
    }
    Ok(precision)
}

fn parts(structure: Option<&str>, arrays: &[(String, Numbers<'_>)]) -> PyResult<PrecisionParts> {
    let structure: Structure = settings::read("structure of the precision", structure.unwrap_or("null"))?;
    let array = |(name, array): &(String, Numbers<'_>)| NamedArray {
        name: name.clone(),
        dims: array.shape().to_vec(),
        values: row_major(array),
    };
    Ok(PrecisionParts { structure, arrays: arrays.iter().map(array).collect() })
}

fn plain(dim: usize, array: &Numbers<'_>) -> PyResult<Arc<dyn Precision>> {
    let values = row_major(array);
    riemla::error::check_finite("precision", &values).map_err(library)?;
    match array.shape() {
        [k] if *k == dim => Ok(Arc::new(DiagonalPrecision::new(&values, &vec![0.0; dim]).map_err(library)?)),
        [rows, columns] if *rows == dim && *columns == dim => {
            check_symmetric(dim, &values)?;
            let matrix = Matrix::from_columns(dim, dim, values);
            Ok(Arc::new(FullPrecision::from_matrix(&matrix).map_err(library)?))
        }
        shape => Err(shape_error("precision", &format!("({dim}, {dim}) or ({dim},)"), shape)),
    }
}

fn check_symmetric(dim: usize, values: &[f64]) -> PyResult<()> {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for i in 0..dim {
        for j in 0..i {
            let difference = (values[i * dim + j] - values[j * dim + i]).abs();
            if difference > ASYMMETRY * largest {
                return Err(PyValueError::new_err(format!(
                    "precision: entries ({i}, {j}) and ({j}, {i}) differ by {difference:.3e}, but a precision is \
                     symmetric; give (P + P.T) / 2 if that is rounding"
                )));
            }
        }
    }
    Ok(())
}

/// The arrays of a precision, with its structure in JSON.
#[allow(clippy::type_complexity)] // tuples of arrays in Python
pub fn write<'py>(
    py: Python<'py>,
    precision: &dyn Precision,
) -> PyResult<(String, Vec<(String, Bound<'py, PyArrayDyn<f64>>)>)> {
    let parts = precision.parts();
    let parts = parts.ok_or_else(|| PyValueError::new_err("this precision cannot be saved"))?;
    let arrays = parts
        .arrays
        .into_iter()
        .map(|NamedArray { name, dims, values }| shaped(py, values, &dims).map(|array| (name, array)));
    Ok((settings::write(&parts.structure)?, arrays.collect::<PyResult<_>>()?))
}
