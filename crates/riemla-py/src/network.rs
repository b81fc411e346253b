//! Networks of the library: description, parameters, forward pass.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use riemla::nn::NetworkSpec;
use riemla::objective::Likelihood;
use riemla::posterior::{NetworkOutputs, Outputs as _};
use riemla_files::Model;

use crate::arrays::{Numbers, flat, matrix, shape_error, shaped};
use crate::errors::{files, library};
use crate::prediction::Weights;
use crate::run::{Caller, guarded, run};
use crate::settings;

/// A network that was checked; it owns no weights.
#[pyclass(frozen, module = "riemla._core")]
pub struct Network {
    network: Arc<riemla::nn::Network>,
}

#[pymethods]
impl Network {
    /// From its description in JSON.
    #[new]
    fn new(spec: &str) -> PyResult<Self> {
        let spec: NetworkSpec = settings::read("network", spec)?;
        guarded(|| Ok(Self { network: Arc::new(riemla::nn::Network::new(&spec).map_err(library)?) }))
    }

    /// The description in JSON, defaults filled in.
    #[getter]
    fn spec(&self) -> PyResult<String> {
        settings::write(self.network.spec())
    }

    /// Number of weights.
    #[getter]
    fn dim(&self) -> usize {
        self.network.dim()
    }

    /// Numbers per input.
    #[getter]
    fn inputs(&self) -> usize {
        self.network.inputs()
    }

    /// Numbers per output.
    #[getter]
    fn outputs(&self) -> usize {
        self.network.outputs()
    }

    /// Name and shape of each tensor, in the order of the flat vector.
    #[getter]
    fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        self.network.parameters().iter().map(|p| (p.name.clone(), p.dims.clone())).collect()
    }

    /// What makes the metric rough, if anything.
    #[getter]
    fn smoothness_warning(&self) -> Option<String> {
        self.network.smoothness_warning()
    }

    /// Fresh weights.
    fn initialize<'py>(&self, py: Python<'py>, seed: u64) -> Bound<'py, PyArray1<f64>> {
        flat(py, self.network.initialize(seed))
    }

    /// Outputs of every row of weights: draws × rows × outputs.
    fn forward<'py>(
        &self,
        py: Python<'py>,
        theta: Numbers<'_>,
        inputs: Numbers<'_>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let weights = Weights::new(&theta, self.network.dim())?;
        let inputs = rows(&inputs, self.network.inputs())?;
        // The forward pass does not depend on the likelihood.
        let likelihood = Likelihood::Gaussian { sigma_noise: 1.0 };
        let outputs = NetworkOutputs::new(self.network.clone(), likelihood).map_err(library)?;
        let shape = [theta.shape()[0], inputs.len() / self.network.inputs(), self.network.outputs()];
        let all =
            run(py, &Caller::default(), |_| outputs.evaluate(&weights.rows(), &inputs).map_err(library))?;
        shaped(py, all.concat(), &shape)
    }
}

/// A model directory of the command: network, weights, likelihood and prior.
#[pyfunction]
#[allow(clippy::type_complexity)] // tuples of arrays in Python
pub fn read_model(
    py: Python<'_>,
    directory: PathBuf,
) -> PyResult<(String, Bound<'_, PyArray1<f64>>, String, String)> {
    let model = run(py, &Caller::default(), |_| Model::read(&directory).map_err(files))?;
    let words = (settings::write(&model.network)?, settings::write(&model.likelihood)?);
    let prior = settings::write(&model.prior_precision)?;
    Ok((words.0, flat(py, model.theta), words.1, prior))
}

/// Inputs with one row per sample, of the given width.
pub fn rows(inputs: &Numbers<'_>, width: usize) -> PyResult<Vec<f64>> {
    let (values, columns) = matrix("inputs", inputs)?;
    if columns != width {
        return Err(shape_error("inputs", &format!("(rows, {width})"), inputs.shape()));
    }
    Ok(values)
}
