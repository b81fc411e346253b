//! Predictions as dictionaries of arrays.

use std::borrow::Cow;

use numpy::PyUntypedArrayMethods as _;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use riemla::objective::Likelihood;
use riemla::predict::Prediction;

use crate::arrays::{Numbers, contiguous, flat, row_major, shape_error, shaped};

/// Rows of weights, without a copy where the array allows it.
pub struct Weights<'a> {
    values: Cow<'a, [f64]>,
    dim: usize,
}

impl<'a> Weights<'a> {
    /// Of an array draws × weights.
    pub fn new(theta: &'a Numbers<'_>, dim: usize) -> PyResult<Self> {
        match theta.shape() {
            [draws, k] if *k == dim && *draws > 0 => {}
            shape => return Err(shape_error("theta", &format!("(draws, {dim})"), shape)),
        }
        let values = contiguous(theta).map_or_else(|| row_major(theta).into(), Cow::Borrowed);
        Ok(Self { values, dim })
    }

    /// The rows.
    pub fn rows(&self) -> Vec<&[f64]> {
        self.values.chunks_exact(self.dim).collect()
    }
}

/// Class probabilities with entropies, or means with variances.
pub fn dictionary(py: Python<'_>, prediction: Prediction) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    match prediction {
        Prediction::Classes(p) => {
            let rows = p.entropy.len();
            result.set_item("probabilities", shaped(py, p.probabilities, &[rows, p.classes])?)?;
            result.set_item("total", flat(py, p.entropy))?;
            result.set_item("aleatoric", p.aleatoric.map(|values| flat(py, values)))?;
            result.set_item("epistemic", p.epistemic.map(|values| flat(py, values)))?;
        }
        Prediction::Values(p) => {
            let shape = [p.mean.len() / p.outputs.max(1), p.outputs];
            result.set_item("total", shaped(py, p.variance(), &shape)?)?;
            result.set_item("mean", shaped(py, p.mean, &shape)?)?;
            result.set_item("aleatoric", shaped(py, p.aleatoric_variance, &shape)?)?;
            result.set_item("epistemic", shaped(py, p.epistemic_variance, &shape)?)?;
        }
    }
    Ok(result)
}

/// The average over outputs of draws (draws × rows × outputs): logits, or means with noise of the given deviation.
#[pyfunction]
#[pyo3(signature = (outputs, sigma_noise))]
pub fn predict_outputs<'py>(
    py: Python<'py>,
    outputs: Numbers<'_>,
    sigma_noise: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let [draws, rows, width] = *outputs.shape() else {
        return Err(shape_error("outputs", "(draws, rows, outputs)", outputs.shape()));
    };
    let likelihood = match sigma_noise {
        Some(sigma_noise) => Likelihood::Gaussian { sigma_noise },
        None if width == 1 => Likelihood::Bernoulli,
        None => Likelihood::Categorical,
    };
    if draws * rows * width == 0 {
        return Err(shape_error(
            "outputs",
            "(draws, rows, outputs) with at least one of each",
            outputs.shape(),
        ));
    }
    let all = row_major(&outputs);
    let per_draw: Vec<Vec<f64>> = all.chunks_exact(rows * width).map(<[f64]>::to_vec).collect();
    let found = Prediction::from_outputs(&per_draw, width, likelihood).map_err(crate::errors::library)?;
    dictionary(py, found)
}
