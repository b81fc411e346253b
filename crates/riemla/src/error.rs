//! The library's one error type: mistakes of the caller, with the numbers and the remedy.
//!
//! An iteration that does not finish (a geodesic, an optimiser) is not an error but data: see
//! the `status` in its result.

use std::sync::Arc;

/// What went wrong, in terms of what the caller handed in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, got {found}")]
    Shape {
        /// Which quantity.
        what: String,
        /// The size that was needed.
        expected: String,
        /// The size that was given.
        found: String,
    },
    /// A number that must be finite is NaN or infinite.
    #[error("{what}: entry {index} is {value}; remove or impute such entries first")]
    NotFinite {
        /// Which array.
        what: String,
        /// Position in the flat array.
        index: usize,
        /// The offending number.
        value: f64,
    },
    /// A setting outside its range.
    #[error("{what} is {value}, but must be {requirement}")]
    Range {
        /// Which setting.
        what: String,
        /// The offending value.
        value: String,
        /// What is allowed.
        requirement: String,
    },
    /// A class label that the network has no output for.
    #[error("label {label} of row {row} is out of range: the network has {classes} classes (labels 0 to {})", classes - 1)]
    Label {
        /// Row of the data set.
        row: usize,
        /// The label found there.
        label: usize,
        /// Number of classes.
        classes: usize,
    },
    /// A matrix that must be positive definite is not.
    #[error("{what} is not positive definite: pivot {pivot} of {dim} is {value:.3e}; {remedy}")]
    NotPositiveDefinite {
        /// Which matrix.
        what: String,
        /// Index of the failing pivot.
        pivot: usize,
        /// Size of the matrix.
        dim: usize,
        /// Value of the failing pivot (or smallest eigenvalue).
        value: f64,
        /// What to do about it.
        remedy: String,
    },
    /// A geodesic that did not reach its end, under a policy that does not accept that.
    #[error(
        "the geodesic of draw {draw} stopped at t = {t:.3} of 1 ({status}) after {attempts} attempts; {remedy}"
    )]
    Unfinished {
        /// Which draw.
        draw: u64,
        /// Time reached by the last attempt.
        t: f64,
        /// How the last attempt ended.
        status: String,
        /// Tangent vectors tried.
        attempts: usize,
        /// What to do about it.
        remedy: String,
    },
    /// A stop was requested before there was anything to return.
    #[error("stopped on request before {what}; nothing was changed, run it again to continue")]
    Stopped {
        /// What is missing.
        what: String,
    },
    /// A combination of choices that has no meaning.
    #[error("{0}")]
    Unsupported(String),
    /// What the caller's own objective failed with.
    #[error("{0}")]
    Objective(Failure),
}

/// Why an objective could not be evaluated: the error of a callback, a file or a device, as it was.
#[derive(Debug, Clone)]
pub struct Failure(Arc<dyn std::error::Error + Send + Sync>);

impl Failure {
    /// Keeps an error of any kind.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }

    /// The error itself, to be downcast to what it was.
    pub fn source(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// Equal if they are the same failure.
impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Result with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A size mismatch.
    pub fn shape(what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Self::Shape { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }

    /// A setting outside its range.
    pub fn range(what: impl Into<String>, value: impl ToString, requirement: impl Into<String>) -> Self {
        Self::Range { what: what.into(), value: value.to_string(), requirement: requirement.into() }
    }
}

/// Checks that every entry is finite.
pub fn check_finite(what: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite { what: what.into(), index, value: values[index] }),
    }
}

/// Checks that a slice has the given length.
pub fn check_len(what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::shape(what, expected, found)) }
}

/// Checks that a number is finite and above zero.
pub fn check_positive(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::range(what, value, "finite and above 0"))
    }
}
