//! Functions of the caller as objectives: Python callables, and compiled ones that need no lock.

use std::sync::OnceLock;

use numpy::{AllowTypeChange, PyArray1, PyArrayLikeDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use riemla::error::Failure;
use riemla::objective::{Objective, Probe};
use riemla::posterior::Model;

use crate::arrays::shape_error;

/// `double f(intptr_t dim, const double *theta, double *gradient)`.
type Compiled = unsafe extern "C" fn(isize, *const f64, *mut f64) -> f64;

/// What is called.
pub enum Call {
    /// `value_and_grad(theta)`, and `value(theta)` where that is cheaper.
    Python { value_and_grad: Py<PyAny>, value: Option<Py<PyAny>> },
    /// A C function, with the object that keeps its code alive.
    Compiled { function: Compiled, _owner: Py<PyAny> },
}

impl Call {
    /// A C function at an address, for example of a numba `cfunc`.
    pub fn compiled(address: usize, owner: Py<PyAny>) -> PyResult<Self> {
        if address == 0 {
            return Err(PyValueError::new_err("the address of the compiled function is 0"));
        }
        // SAFETY: the Python side has checked the signature that the function declares, and the owner is kept.
        let function = unsafe { std::mem::transmute::<usize, Compiled>(address) };
        Ok(Self::Compiled { function, _owner: owner })
    }

    /// Another reference to the same function.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Python { value_and_grad, value } => Self::Python {
                value_and_grad: value_and_grad.clone_ref(py),
                value: value.as_ref().map(|value| value.clone_ref(py)),
            },
            Self::Compiled { function, _owner } => {
                Self::Compiled { function: *function, _owner: _owner.clone_ref(py) }
            }
        }
    }
}

/// A function of the caller. The first exception ends it: from then on it is outside of its domain everywhere.
pub struct Callable {
    dim: usize,
    call: Call,
    failure: OnceLock<Failure>,
}

impl Callable {
    /// A function of `dim` parameters.
    pub fn new(dim: usize, call: Call) -> Self {
        Self { dim, call, failure: OnceLock::new() }
    }

    /// The value with the gradient written if there is a place for it; NaN outside of the domain and after a failure.
    fn evaluate(&self, theta: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        if self.failure.get().is_some() {
            return f64::NAN;
        }
        match &self.call {
            Call::Compiled { function, .. } => {
                let mut unused = Vec::new();
                let gradient = gradient.unwrap_or_else(|| {
                    unused.resize(self.dim, 0.0);
                    &mut unused
                });
                // SAFETY: both arrays have `dim` entries.
                unsafe { function(self.dim as isize, theta.as_ptr(), gradient.as_mut_ptr()) }
            }
            Call::Python { value_and_grad, value } => Python::attach(|py| {
                let result = match (gradient, value) {
                    (None, Some(value)) => self.value_of(value.bind(py), theta),
                    (gradient, _) => self.both(value_and_grad.bind(py), theta, gradient),
                };
                result.unwrap_or_else(|error| {
                    if !is_recoverable(py, &error) {
                        let _ = self.failure.set(Failure::new(error));
                    }
                    f64::NAN
                })
            }),
        }
    }

    fn value_of(&self, function: &Bound<'_, PyAny>, theta: &[f64]) -> PyResult<f64> {
        number(&function.call1((PyArray1::from_slice(function.py(), theta),))?)
    }

    fn both(
        &self,
        function: &Bound<'_, PyAny>,
        theta: &[f64],
        gradient: Option<&mut [f64]>,
    ) -> PyResult<f64> {
        let result = function.call1((PyArray1::from_slice(function.py(), theta),))?;
        let pair = result.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(|| {
            let found = result.get_type().name().map_or("something else".into(), |name| name.to_string());
            PyTypeError::new_err(format!("the function must return (value, gradient), not {found}"))
        })?;
        let (first, second) = (pair.get_item(0)?, pair.get_item(1)?);
        // torch.func.grad_and_value returns them the other way round.
        let swapped = ndim(&first)? > 0 && ndim(&second)? == 0;
        let (value, array) = if swapped { (second, first) } else { (first, second) };
        let value = number(&value)?;
        if let Some(gradient) = gradient {
            let array: PyArrayLikeDyn<'_, f64, AllowTypeChange> = array.extract().map_err(|error| {
                PyTypeError::new_err(format!("the gradient must be an array of numbers: {error}"))
            })?;
            if array.shape() != [self.dim] {
                return Err(shape_error(
                    "gradient that the function returned",
                    &format!("({},)", self.dim),
                    array.shape(),
                ));
            }
            gradient.iter_mut().zip(array.as_array().iter()).for_each(|(to, from)| *to = *from);
        }
        Ok(value)
    }
}

/// Number of axes; 0 of plain numbers.
fn ndim(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    match object.getattr_opt("ndim")? {
        Some(ndim) => ndim.extract(),
        None => Ok(usize::from(object.hasattr("__len__")?)),
    }
}

/// A number, also in an array of one entry.
fn number(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    let single = if ndim(object)? > 0 { object.call_method0("item") } else { Ok(object.clone()) };
    single.and_then(|object| object.extract()).map_err(|error| {
        let kind = object.get_type().name().map_or("something else".into(), |name| name.to_string());
        PyTypeError::new_err(format!("the value of the function must be one number, not {kind}: {error}"))
    })
}

/// Whether an exception only says that a point is outside of the domain.
fn is_recoverable(py: Python<'_>, error: &PyErr) -> bool {
    let marked = error.value(py).getattr_opt("is_recoverable");
    marked.ok().flatten().is_some_and(|marked| marked.is_truthy().unwrap_or(false))
}

impl Objective for Callable {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.evaluate(theta, None)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        // A function that fails leaves nothing behind that could be mistaken for a gradient.
        gradient.fill(f64::NAN);
        self.evaluate(theta, Some(gradient))
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        Box::new(Remembering::new(self))
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.get().cloned()
    }
}

impl Model for Callable {}

/// Keeps the gradient that came with the last value, so that no point is evaluated twice. With a cheaper function
/// for values alone, gradients are computed when they are asked for.
struct Remembering<'a> {
    callable: &'a Callable,
    base: Vec<f64>,
    direction: Vec<f64>,
    point: Vec<f64>,
    gradient: Vec<f64>,
    known: bool,
}

impl<'a> Remembering<'a> {
    fn new(callable: &'a Callable) -> Self {
        let zeros = vec![0.0; callable.dim];
        let (base, direction, point) = (zeros.clone(), zeros.clone(), zeros.clone());
        Self { callable, base, direction, point, gradient: zeros, known: false }
    }

    fn move_to(&mut self, t: f64) {
        for ((point, base), direction) in self.point.iter_mut().zip(&self.base).zip(&self.direction) {
            *point = base + t * direction;
        }
    }

    fn evaluate(&mut self) -> f64 {
        self.known = !matches!(self.callable.call, Call::Python { value: Some(_), .. });
        match self.known {
            true => self.callable.value_and_gradient(&self.point, &mut self.gradient),
            false => self.callable.value(&self.point),
        }
    }
}

impl Probe for Remembering<'_> {
    fn value(&mut self, theta: &[f64]) -> f64 {
        self.point.copy_from_slice(theta);
        self.evaluate()
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        self.base.copy_from_slice(base);
        self.direction.copy_from_slice(direction);
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        self.move_to(t);
        self.evaluate()
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        if !self.known {
            self.callable.value_and_gradient(&self.point, &mut self.gradient);
            self.known = true;
        }
        gradient.copy_from_slice(&self.gradient);
    }

    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        self.move_to(t);
        let value = self.callable.value_and_gradient(&self.point, &mut self.gradient);
        self.known = true;
        gradient.copy_from_slice(&self.gradient);
        value
    }
}
