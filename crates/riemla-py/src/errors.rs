//! Errors of the library as the exceptions that a Python user expects.

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use riemla_workflow::workflow::WorkflowError;

/// An exception of a callback comes out as itself; a mistake of the caller is a `ValueError`.
pub fn library(error: riemla::Error) -> PyErr {
    match &error {
        riemla::Error::Objective(failure) => match failure.source().downcast_ref::<PyErr>() {
            Some(raised) => Python::attach(|py| raised.clone_ref(py)),
            None => PyRuntimeError::new_err(error.to_string()),
        },
        riemla::Error::Stopped { .. } => PyKeyboardInterrupt::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Trouble with the disk is an `OSError`, a file that makes no sense a `ValueError`.
pub fn files(error: riemla_files::Error) -> PyErr {
    match error {
        riemla_files::Error::Io { .. } | riemla_files::Error::Busy { .. } => {
            PyOSError::new_err(error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Errors of fits and sampling.
pub fn workflow(error: WorkflowError) -> PyErr {
    match error {
        WorkflowError::Files(error) => files(error),
        WorkflowError::Library(error) => library(error),
        WorkflowError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        WorkflowError::Defect(message) => defect(&message),
        error if error.is_interruption() => PyKeyboardInterrupt::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// A panic: a mistake in riemla itself.
pub fn defect(message: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "a defect of riemla ended the work ({message}); this is not your mistake: please report this message \
         with the call that led to it"
    ))
}
