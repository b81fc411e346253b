//! Predictions as dictionaries of arrays.

use std::borrow::Cow;

use numpy::{PyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use riemla::data::Targets;
use riemla::objective::Likelihood;
use riemla::predict::{ClassPrediction, LabelPrediction, Prediction, RegressionPrediction, Temperature};
use riemla::score::count_interval;

use crate::arrays::{Numbers, contiguous, flat, row_major, shape_error, shaped};
use crate::errors;
use crate::run::{Caller, run};
use crate::training::class_labels;

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

/// Probabilities of classes or labels with entropies, or means (of counts, rates) with variances.
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
        Prediction::Labels(p) => {
            let shape = [p.probabilities.len() / p.labels.max(1), p.labels];
            let array = |values| shaped(py, values, &shape);
            result.set_item("probabilities", array(p.probabilities)?)?;
            result.set_item("total", array(p.entropy)?)?;
            result.set_item("aleatoric", p.aleatoric.map(array).transpose()?)?;
            result.set_item("epistemic", p.epistemic.map(array).transpose()?)?;
        }
        Prediction::Counts(p) => {
            result.set_item("counts", true)?;
            values(py, &result, p)?;
        }
        Prediction::Values(p) => values(py, &result, p)?,
    }
    Ok(result)
}

fn values(py: Python<'_>, result: &Bound<'_, PyDict>, p: RegressionPrediction) -> PyResult<()> {
    let shape = [p.mean.len() / p.outputs.max(1), p.outputs];
    result.set_item("total", shaped(py, p.variance(), &shape)?)?;
    result.set_item("mean", shaped(py, p.mean, &shape)?)?;
    result.set_item("aleatoric", shaped(py, p.aleatoric_variance, &shape)?)?;
    result.set_item("epistemic", shaped(py, p.epistemic_variance, &shape)?)
}

/// The prediction behind such a dictionary.
fn prediction_of(found: &Bound<'_, PyDict>) -> PyResult<Prediction> {
    let array = |name: &str| -> PyResult<Option<(Vec<f64>, Vec<usize>)>> {
        let Some(values) = found.get_item(name)?.filter(|values| !values.is_none()) else { return Ok(None) };
        let values: Numbers<'_> = values.extract()?;
        Ok(Some((row_major(&values), values.shape().to_vec())))
    };
    let needed =
        |name: &str| array(name)?.ok_or_else(|| errors::defect(&format!("no {name} in a prediction")));
    let (entropy, of_rows) = needed("total")?;
    let [aleatoric, epistemic] =
        [array("aleatoric")?, array("epistemic")?].map(|part| part.map(|(part, _)| part));
    let Some((probabilities, shape)) = array("probabilities")? else {
        let (mean, shape) = needed("mean")?;
        let [aleatoric_variance, epistemic_variance] = [aleatoric, epistemic].map(Option::unwrap_or_default);
        let outputs = shape.last().copied().unwrap_or(1);
        let values = RegressionPrediction { outputs, mean, aleatoric_variance, epistemic_variance };
        let counts = found.get_item("counts")?.is_some_and(|counts| counts.is_truthy().unwrap_or(false));
        return Ok(if counts { Prediction::Counts(values) } else { Prediction::Values(values) });
    };
    let width = shape.last().copied().unwrap_or(1);
    Ok(match of_rows.len() {
        1 => {
            let classes = width;
            Prediction::Classes(ClassPrediction { classes, probabilities, entropy, aleatoric, epistemic })
        }
        _ => {
            let labels = width;
            Prediction::Labels(LabelPrediction { labels, probabilities, entropy, aleatoric, epistemic })
        }
    })
}

/// The temperature of a prediction that fits targets best, and the one closest to 1 that they do not reject.
#[pyfunction]
#[pyo3(signature = (found, labels, values))]
pub fn fit_temperature(
    found: &Bound<'_, PyDict>,
    labels: Option<Vec<i64>>,
    values: Option<Numbers<'_>>,
) -> PyResult<(f64, f64)> {
    let prediction = prediction_of(found)?;
    let targets = match (labels, values) {
        (Some(labels), _) => Targets::Classes(class_labels(&labels)?),
        (None, Some(values)) => {
            let outputs = values.shape().get(1).copied().unwrap_or(1);
            Targets::Values { values: row_major(&values), outputs }
        }
        (None, None) => return Err(errors::defect("no targets")),
    };
    let fitted = riemla::predict::fit_temperature(&prediction, &targets).map_err(errors::library)?;
    Ok((fitted.temperature, fitted.careful))
}

/// The prediction at a temperature.
#[pyfunction]
#[pyo3(signature = (found, temperature))]
pub fn at_temperature<'py>(
    py: Python<'py>,
    found: &Bound<'py, PyDict>,
    temperature: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let temperature = Temperature::given(temperature).map_err(errors::library)?;
    dictionary(py, temperature.apply(prediction_of(found)?).map_err(errors::library)?)
}

/// Central intervals of counts whose rates have these means and variances.
#[pyfunction]
#[pyo3(signature = (rates, variances, level))]
#[allow(clippy::type_complexity)] // a tuple of arrays in Python
pub fn count_intervals<'py>(
    py: Python<'py>,
    rates: Numbers<'_>,
    variances: Numbers<'_>,
    level: f64,
) -> PyResult<(Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>)> {
    if rates.shape() != variances.shape() {
        return Err(shape_error("variances", &format!("{:?}", rates.shape()), variances.shape()));
    }
    let pairs = row_major(&rates).into_iter().zip(row_major(&variances));
    let (lower, upper) = pairs.map(|(rate, variance)| count_interval(level, rate, variance)).unzip();
    Ok((shaped(py, lower, rates.shape())?, shaped(py, upper, rates.shape())?))
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
    let found = run(py, &Caller::default(), |_| {
        Prediction::from_outputs(&per_draw, width, likelihood).map_err(errors::library)
    })?;
    dictionary(py, found)
}
