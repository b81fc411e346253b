//! Training a network on arrays, as `riemla train` does on a table.

use numpy::{PyArray1, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use riemla::curvature::PriorChoice;
use riemla::data::Dataset;
use riemla::nn::NetworkSpec;
use riemla::objective::PriorPrecision;
use riemla_files::{Task, TrainingData};
use riemla_workflow::likelihood::LikelihoodName;
use riemla_workflow::workflow::{self, NetworkChoice, Prepared, TrainConfig};

use crate::arrays::{Numbers, flat, matrix, shape_error};
use crate::errors::library;
use crate::run::{Caller, run};
use crate::settings;

/// Trains; prior precision (unless it is given) and noise are those of the largest marginal likelihood.
#[pyfunction]
#[pyo3(signature = (network, inputs, labels, values, weights, likelihood, prior_precision, iterations, seed, threads, watcher))]
#[allow(clippy::too_many_arguments)] // named arguments in Python
pub fn train<'py>(
    py: Python<'py>,
    network: &str,
    inputs: Numbers<'_>,
    labels: Option<Vec<i64>>,
    values: Option<Numbers<'_>>,
    weights: Option<Numbers<'_>>,
    likelihood: Option<&str>,
    prior_precision: Option<f64>,
    iterations: usize,
    seed: u64,
    threads: Option<usize>,
    watcher: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let network: NetworkSpec = settings::read("network", network)?;
    let data = dataset(&inputs, labels, values, weights)?;
    let likelihood: Option<LikelihoodName> =
        likelihood.map(|name| settings::read("likelihood", name)).transpose()?;
    let usual = if data.labels().is_some() { Task::Classification } else { Task::Regression };
    let task = likelihood.map_or(usual, LikelihoodName::task);
    let config = TrainConfig {
        network: NetworkChoice::Given(network),
        likelihood,
        prior: prior_precision
            .map_or(PriorChoice::Optimize, |precision| PriorChoice::Fixed(PriorPrecision::Scalar(precision))),
        baselines: false,
        iterations,
        seed,
        validation: 0.0,
        // The data are at hand.
        ..TrainConfig::new("")
    };
    let prepared = Prepared {
        encoding: None,
        data: TrainingData { train: data, validation: None },
        held_out: None,
        task,
        notes: Vec::new(),
    };
    let trained = run(py, &Caller { threads, watcher }, |session| {
        workflow::train_on(&config, prepared, session).map_err(crate::errors::workflow)
    })?;
    let result = PyDict::new(py);
    result.set_item::<_, Bound<'_, PyArray1<f64>>>("theta", flat(py, trained.model.theta))?;
    result.set_item("likelihood", settings::write(&trained.model.likelihood)?)?;
    result.set_item("prior_precision", settings::write(&trained.model.prior_precision)?)?;
    result.set_item("loss", trained.report.value)?;
    result.set_item("gradient_norm", trained.report.gradient_norm)?;
    result.set_item("evaluations", trained.cost.gradients)?;
    result.set_item("trials", trained.cost.trials)?;
    result.set_item("notes", trained.notes)?;
    Ok(result)
}

/// Labels that count from 0.
pub fn class_labels(labels: &[i64]) -> PyResult<Vec<usize>> {
    let class = |(row, label): (usize, &i64)| {
        usize::try_from(*label).map_err(|_| {
            PyValueError::new_err(format!("label {label} of row {row} is negative: labels count from 0"))
        })
    };
    labels.iter().enumerate().map(class).collect()
}

/// Rows with class labels, or with real targets (rows × outputs), and with weights if they do not all count once.
pub fn dataset(
    inputs: &Numbers<'_>,
    labels: Option<Vec<i64>>,
    values: Option<Numbers<'_>>,
    weights: Option<Numbers<'_>>,
) -> PyResult<Dataset> {
    let (x, features) = matrix("inputs", inputs)?;
    let data = match (labels, values) {
        (Some(labels), None) => Dataset::classification(x, features, class_labels(&labels)?),
        (None, Some(values)) => {
            let (y, outputs) = matrix("targets", &values)?;
            if values.shape()[0] != inputs.shape()[0] {
                let expected = format!("({}, outputs)", inputs.shape()[0]);
                return Err(shape_error("targets", &expected, values.shape()));
            }
            Dataset::regression(x, features, y, outputs)
        }
        _ => return Err(PyValueError::new_err("give either labels or values as targets")),
    };
    let data = data.map_err(library)?;
    match weights {
        Some(weights) => {
            let weights = crate::arrays::vector("sample_weight", &weights, Some(data.len()))?;
            data.with_weights(weights).map_err(library)
        }
        None => Ok(data),
    }
}
