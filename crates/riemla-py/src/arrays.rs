//! NumPy arrays in and out: one copy in, none out.

use numpy::ndarray::Array;
use numpy::{IntoPyArray as _, PyArray1, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An array of the caller: any layout, already of 64-bit floats (the Python side converts).
pub type Numbers<'py> = PyReadonlyArrayDyn<'py, f64>;

/// The entries in row-major order.
pub fn row_major(array: &Numbers<'_>) -> Vec<f64> {
    contiguous(array).map_or_else(|| array.as_array().iter().copied().collect(), <[f64]>::to_vec)
}

/// The entries, if they lie in memory in row-major order.
pub fn contiguous<'a>(array: &'a Numbers<'_>) -> Option<&'a [f64]> {
    // `as_slice` takes columns one after the other, too.
    array.as_slice().ok().filter(|_| array.is_c_contiguous())
}

/// A vector of `dim` entries, or of any number of them.
pub fn vector(what: &str, array: &Numbers<'_>, dim: Option<usize>) -> PyResult<Vec<f64>> {
    let shape = array.shape();
    match (shape, dim) {
        ([n], None) if *n > 0 => Ok(row_major(array)),
        ([n], Some(dim)) if *n == dim => Ok(row_major(array)),
        (_, None) => Err(shape_error(what, "a vector with at least one entry", shape)),
        (_, Some(dim)) => Err(shape_error(what, &format!("({dim},)"), shape)),
    }
}

/// The entries of a matrix in row-major order, with its number of columns.
pub fn matrix(what: &str, array: &Numbers<'_>) -> PyResult<(Vec<f64>, usize)> {
    match array.shape() {
        [_, columns] => Ok((row_major(array), *columns)),
        shape => Err(shape_error(what, "(rows, columns)", shape)),
    }
}

/// A `ValueError` that names both shapes.
pub fn shape_error(what: &str, expected: &str, found: &[usize]) -> PyErr {
    let entries: Vec<String> = found.iter().map(usize::to_string).collect();
    let comma = if found.len() == 1 { "," } else { "" };
    PyValueError::new_err(format!("{what}: expected shape {expected}, got ({}{comma})", entries.join(", ")))
}

/// Numbers as an array of the given shape, without a copy.
pub fn shaped<'py>(
    py: Python<'py>,
    numbers: Vec<f64>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let array = Array::from_shape_vec(shape, numbers)
        .map_err(|error| crate::errors::defect(&format!("an array of the wrong size: {error}")))?;
    Ok(array.into_pyarray(py))
}

/// Numbers as a vector, without a copy.
pub fn flat(py: Python<'_>, numbers: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    numbers.into_pyarray(py)
}
