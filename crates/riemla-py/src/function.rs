//! Posteriors of any function with a gradient.

use std::sync::Arc;

use numpy::{PyArray1, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use riemla::curvature::{Gaussian, HessianSearch};
use riemla::objective::Objective as _;
use riemla::posterior::Posterior;
use riemla_files::{Digest, Origin};
use riemla_workflow::workflow::sample_model;

use crate::arrays::{Numbers, flat, vector};
use crate::errors::{library, workflow};
use crate::objective::{Call, Callable};
use crate::run::{Caller, guarded, run};
use crate::sampling::{self, Drawer, Request};
use crate::{precision, settings};

/// A function with a Gaussian at its minimum.
#[pyclass(frozen, module = "riemla._core")]
pub struct Function {
    call: Call,
    gaussian: Arc<Gaussian>,
}

#[pymethods]
impl Function {
    /// The Gaussian has the given precision, or that of the Hessian by differences.
    #[new]
    #[pyo3(signature = (value_and_grad, value, address, theta, structure, arrays, rank, threads, watcher))]
    #[allow(clippy::too_many_arguments)] // named arguments in Python
    fn new(
        py: Python<'_>,
        value_and_grad: Py<PyAny>,
        value: Option<Py<PyAny>>,
        address: Option<usize>,
        theta: Numbers<'_>,
        structure: Option<&str>,
        arrays: Option<Vec<(String, Numbers<'_>)>>,
        rank: usize,
        threads: Option<usize>,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let theta = vector("theta", &theta, None)?;
        riemla::error::check_finite("theta", &theta).map_err(library)?;
        let call = match address {
            Some(address) => Call::compiled(address, value_and_grad)?,
            None => Call::Python { value_and_grad, value },
        };
        let callable = Callable::new(theta.len(), call.clone_ref(py));
        let gaussian = match arrays {
            Some(arrays) => {
                let precision = guarded(|| precision::read(theta.len(), structure, &arrays))?;
                Gaussian::new(theta, precision).map_err(library)?
            }
            None => run(py, &Caller { threads, watcher }, |session| {
                session.watch.begin("Hessian by differences of the gradient", 0);
                let search = HessianSearch { rank, ..HessianSearch::default() };
                Gaussian::at_minimum(&callable, &theta, search, session.control()).map_err(library)
            })?,
        };
        Ok(Self { call, gaussian: Arc::new(gaussian) })
    }

    /// Number of parameters.
    #[getter]
    fn dim(&self) -> usize {
        self.gaussian.theta().len()
    }

    /// The centre.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        flat(py, self.gaussian.theta().to_vec())
    }

    /// log det of the precision.
    #[getter]
    fn log_det(&self) -> f64 {
        self.gaussian.precision().log_det()
    }

    /// Structure and arrays of the precision.
    #[allow(clippy::type_complexity)] // tuples of arrays in Python
    fn precision<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(String, Vec<(String, Bound<'py, PyArrayDyn<f64>>)>)> {
        precision::write(py, self.gaussian.precision())
    }

    /// The function itself, through all checks.
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        theta: Numbers<'_>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let theta = vector("theta", &theta, Some(self.dim()))?;
        let callable = self.callable(py);
        let mut gradient = vec![0.0; theta.len()];
        let value = callable.value_and_gradient(&theta, &mut gradient);
        check(&callable)?;
        Ok((value, flat(py, gradient)))
    }

    /// Draws, in memory or in a directory.
    fn sample<'py>(&self, py: Python<'py>, request: Request<'_>) -> PyResult<Bound<'py, PyDict>> {
        let model = Arc::new(self.callable(py));
        sampling::sample(py, request, self.dim(), |config, store, session| {
            let origin = store.is_some().then(|| self.origin(&model)).transpose()?;
            sample_model(model, self.gaussian.clone(), store.zip(origin), config, session).map_err(workflow)
        })
    }

    /// The posterior that draws are taken from for another process. After an exception of the function it is of no use.
    fn drawer(&self, py: Python<'_>, config: &str) -> PyResult<Drawer> {
        let config = settings::read("settings of the posterior", config)?;
        let model = Arc::new(self.callable(py));
        Ok(Drawer::new(Posterior::new(model, self.gaussian.clone(), config).map_err(library)?))
    }
}

impl Function {
    /// A fresh objective: one that failed stays failed.
    fn callable(&self, py: Python<'_>) -> Callable {
        Callable::new(self.gaussian.theta().len(), self.call.clone_ref(py))
    }

    /// What tells the draws of this function from others: value and gradient at the centre, and the Gaussian.
    fn origin(&self, callable: &Callable) -> PyResult<Origin> {
        let mut gradient = vec![0.0; self.gaussian.theta().len()];
        let value = callable.value_and_gradient(self.gaussian.theta(), &mut gradient);
        check(callable)?;
        let seen = Digest::of_numbers([&[value][..], &gradient]);
        Ok(Origin::of_model(&("a function of Python", seen), &self.gaussian))
    }
}

/// The exception of a function that failed.
fn check(callable: &Callable) -> PyResult<()> {
    callable.failure().map_or(Ok(()), |failure| Err(library(riemla::Error::Objective(failure))))
}
