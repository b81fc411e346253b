//! A network with the Gaussian around its weights and the data of both: what the command keeps in a directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::{PyArray1, PyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use riemla::data::Dataset;
use riemla::nn::NetworkSpec;
use riemla::objective::{Likelihood, PriorPrecision};
use riemla::posterior::{Method, NetworkOutputs, Outputs as _};
use riemla::predict::Predictor;
use riemla_files::samples::read_samples;
use riemla_files::{Existing, Model, SavedPosterior, TrainingData};
use riemla_workflow::workflow::predictor::{decoded, in_pieces};
use riemla_workflow::workflow::{self, DrawTable, SAMPLES_DIRECTORY, memory};

use crate::arrays::{Numbers, flat, shaped};
use crate::errors::{files, library};
use crate::network::rows;
use crate::prediction::{Weights, dictionary};
use crate::run::{Caller, guarded, run};
use crate::sampling::{self, Drawer, Request};
use crate::training::dataset;
use crate::{draws, precision, settings};

/// A fitted Laplace approximation of a network.
#[pyclass(frozen, module = "riemla._core")]
pub struct Fitted {
    saved: SavedPosterior,
    warnings: Vec<String>,
}

#[pymethods]
impl Fitted {
    /// Fits the Gaussian at the weights of a network.
    #[staticmethod]
    #[pyo3(signature = (network, theta, likelihood, prior_precision, inputs, labels, values, weights, config, threads, watcher))]
    #[allow(clippy::too_many_arguments)] // named arguments in Python
    fn fit(
        py: Python<'_>,
        network: &str,
        theta: Numbers<'_>,
        likelihood: &str,
        prior_precision: &str,
        inputs: Numbers<'_>,
        labels: Option<Vec<i64>>,
        values: Option<Numbers<'_>>,
        weights: Option<Numbers<'_>>,
        config: &str,
        threads: Option<usize>,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let network: NetworkSpec = settings::read("network", network)?;
        let model = Model {
            likelihood: settings::read("likelihood", likelihood)?,
            prior_precision: settings::read("prior_precision", prior_precision)?,
            encoding: None,
            training: None,
            theta: crate::arrays::vector("weights", &theta, None)?,
            network,
        };
        let data = TrainingData { train: dataset(&inputs, labels, values, weights)?, validation: None };
        fit_model(py, model, data, config, &Caller { threads, watcher })
    }

    /// The same data and weights under other choices.
    #[pyo3(signature = (likelihood, prior_precision, config, threads, watcher))]
    fn refit(
        &self,
        py: Python<'_>,
        likelihood: &str,
        prior_precision: &str,
        config: &str,
        threads: Option<usize>,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let likelihood: Likelihood = settings::read("likelihood", likelihood)?;
        let prior_precision: PriorPrecision = settings::read("prior_precision", prior_precision)?;
        let model = Model { likelihood, prior_precision, ..self.saved.model.clone() };
        fit_model(py, model, self.data()?.clone(), config, &Caller { threads, watcher })
    }

    /// Reads a posterior directory.
    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        let saved = run(py, &Caller::default(), |_| {
            workflow::read_posterior(&directory).map_err(crate::errors::workflow)
        })?;
        Ok(Self { saved, warnings: Vec::new() })
    }

    /// Writes a posterior directory.
    fn save(&self, py: Python<'_>, directory: PathBuf, overwrite: bool) -> PyResult<()> {
        let existing = Existing::replace_if(overwrite);
        run(py, &Caller::default(), |_| self.saved.write(&directory, existing).map_err(files))
    }

    /// The files of its directory.
    fn to_files<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let place = tempfile::tempdir()?;
        let directory = place.path().join("posterior");
        run(py, &Caller::default(), |_| self.saved.write(&directory, Existing::Refuse).map_err(files))?;
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let bytes = std::fs::read(entry.path())?;
            all.push((entry.file_name().to_string_lossy().into_owned(), PyBytes::new(py, &bytes)));
        }
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(all)
    }

    /// From the files of its directory.
    #[staticmethod]
    fn from_files(py: Python<'_>, contents: Vec<(String, Bound<'_, PyBytes>)>) -> PyResult<Self> {
        let directory = tempfile::tempdir()?;
        for (name, bytes) in contents {
            let plain = Path::new(&name).file_name().is_some_and(|file| file == name.as_str());
            if !plain {
                return Err(PyValueError::new_err(format!("{name} is no file of a posterior")));
            }
            std::fs::write(directory.path().join(name), bytes.as_bytes())?;
        }
        let place = directory.path();
        let saved = run(py, &Caller::default(), |_| SavedPosterior::read(place).map_err(files))?;
        Ok(Self { saved, warnings: Vec::new() })
    }

    /// The network in JSON.
    #[getter]
    fn network(&self) -> PyResult<String> {
        settings::write(&self.saved.model.network)
    }

    /// The likelihood in force, in JSON.
    #[getter]
    fn likelihood(&self) -> PyResult<String> {
        settings::write(&self.saved.laplace.likelihood)
    }

    /// The prior in force, in JSON.
    #[getter]
    fn prior_precision(&self) -> PyResult<String> {
        settings::write(&self.saved.prior_precision())
    }

    /// The choices of the fit, in JSON.
    #[getter]
    fn config(&self) -> PyResult<String> {
        settings::write(&self.saved.config)
    }

    /// How tables become inputs, in JSON, if the command made them from a table.
    #[getter]
    fn encoding(&self) -> PyResult<Option<String>> {
        self.saved.model.encoding.as_ref().map(settings::write).transpose()
    }

    /// The centre of the Gaussian.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        flat(py, self.saved.laplace.gaussian.theta().to_vec())
    }

    /// Where the uncertain weights are, each from and up to.
    #[getter]
    fn uncertain(&self) -> Vec<(usize, usize)> {
        let ranges = self.saved.laplace.gaussian.subset().as_slice();
        ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    #[getter]
    fn log_marginal_likelihood(&self) -> Option<f64> {
        self.saved.laplace.log_marginal_likelihood
    }

    #[getter]
    fn gradient_norm(&self) -> f64 {
        self.saved.laplace.gradient_norm
    }

    /// log det of the precision of the uncertain weights.
    #[getter]
    fn log_det(&self) -> f64 {
        self.saved.laplace.gaussian.precision().log_det()
    }

    /// Rows of the fit.
    #[getter]
    fn rows(&self) -> usize {
        self.saved.fitted_to.rows
    }

    /// What the user should know about the fit.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Structure and arrays of the precision.
    #[allow(clippy::type_complexity)] // tuples of arrays in Python
    fn precision<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(String, Vec<(String, Bound<'py, PyArrayDyn<f64>>)>)> {
        precision::write(py, self.saved.laplace.gaussian.precision())
    }

    /// Draws, in memory or in a posterior directory.
    fn sample<'py>(&self, py: Python<'py>, request: Request<'_>) -> PyResult<Bound<'py, PyDict>> {
        sampling::sample(py, request, self.dim(), |config, store, session| match store {
            Some(directory) => {
                self.check_place(directory)?;
                let sampled = workflow::sample(directory, config, session);
                sampled.map(|sampled| sampled.taken).map_err(crate::errors::workflow)
            }
            None => workflow::sample_in_memory(&self.saved, config, session).map_err(crate::errors::workflow),
        })
    }

    /// The posterior that draws are taken from for another process.
    fn drawer(&self, config: &str) -> PyResult<Drawer> {
        let config = settings::read("settings of the posterior", config)?;
        let posterior =
            guarded(|| workflow::posterior_of(&self.saved, &config).map_err(crate::errors::workflow))?;
        Ok(Drawer::new(posterior))
    }

    /// A set of draws in a posterior directory.
    fn read_draws<'py>(
        &self,
        py: Python<'py>,
        directory: PathBuf,
        name: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let found = workflow::draws::drawn(&self.saved, &directory, name).map_err(crate::errors::workflow)?;
        let set = directory.join(SAMPLES_DIRECTORY).join(name);
        let result = PyDict::new(py);
        result.set_item("config", settings::write(&found.config)?)?;
        result.set_item("seed", found.seed)?;
        result.set_item("asked", found.thetas.len())?;
        let samples = read_samples(&set).map_err(files)?;
        let table = DrawTable::of_geodesics(&samples.draws);
        result.set_item("diagnostics", draws::table(py, Some(&table), samples.draws.len())?)?;
        draws::theta(&result, samples.draws)?;
        Ok(result)
    }

    /// Prediction averaged over rows of weights.
    #[pyo3(signature = (theta, linearized, inputs, threads))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        theta: Numbers<'_>,
        linearized: bool,
        inputs: Numbers<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let weights = Weights::new(&theta, self.dim())?;
        let inputs = self.inputs(&inputs)?;
        let predictor = self.predictor(if linearized { Method::LinLa } else { Method::La })?;
        let prediction = run(py, &Caller { threads, watcher: None }, |_| {
            let thetas = weights.rows();
            in_pieces(&inputs, predictor.input_len(), |rows| predictor.predict(&thetas, rows))
                .map_err(library)
        })?;
        dictionary(py, decoded(prediction, &self.scales()))
    }

    /// Prediction of the linearised network in closed form.
    #[pyo3(signature = (inputs, threads))]
    fn predict_closed_form<'py>(
        &self,
        py: Python<'py>,
        inputs: Numbers<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inputs = self.inputs(&inputs)?;
        let predictor = self.predictor(Method::LinLa)?;
        let prediction = run(py, &Caller { threads, watcher: None }, |_| {
            in_pieces(&inputs, predictor.input_len(), |rows| predictor.predict_closed_form(rows))
                .map_err(library)
        })?;
        dictionary(py, decoded(prediction, &self.scales()))
    }

    /// Mean and variance of the linearised outputs, rows × outputs.
    #[pyo3(signature = (inputs, threads))]
    #[allow(clippy::type_complexity)] // tuples of arrays in Python
    fn moments<'py>(
        &self,
        py: Python<'py>,
        inputs: Numbers<'_>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>)> {
        let values = self.inputs(&inputs)?;
        let outputs = self.outputs_of()?;
        let gaussian = &self.saved.laplace.gaussian;
        let moments = run(py, &Caller { threads, watcher: None }, |_| {
            outputs.linearized_moments(gaussian, &values).map_err(library)
        })?;
        let shape = [inputs.shape()[0], outputs.output_len()];
        Ok((shaped(py, moments.mean, &shape)?, shaped(py, moments.variance, &shape)?))
    }

    /// Outputs of every row of weights: draws × rows × outputs.
    #[pyo3(signature = (theta, linearized, inputs, threads))]
    fn outputs<'py>(
        &self,
        py: Python<'py>,
        theta: Numbers<'_>,
        linearized: bool,
        inputs: Numbers<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let weights = Weights::new(&theta, self.dim())?;
        let values = self.inputs(&inputs)?;
        let predictor = self.predictor(if linearized { Method::LinLa } else { Method::La })?;
        let shape = [theta.shape()[0], inputs.shape()[0], predictor.output_len()];
        let all = run(py, &Caller { threads, watcher: None }, |_| {
            predictor.outputs(&weights.rows(), &values).map_err(library)
        })?;
        shaped(py, all.concat(), &shape)
    }
}

fn fit_model(
    py: Python<'_>,
    model: Model,
    data: TrainingData,
    config: &str,
    caller: &Caller<'_>,
) -> PyResult<Fitted> {
    let config = settings::read("settings of the fit", config)?;
    check_targets(&model, &data.train)?;
    let fitted = run(py, caller, |session| {
        workflow::fit_on(model, data, &config, memory::available(), session).map_err(crate::errors::workflow)
    })?;
    Ok(Fitted { saved: fitted.posterior, warnings: fitted.warnings })
}

/// Targets that fit the likelihood, said before any work.
fn check_targets(model: &Model, data: &Dataset) -> PyResult<()> {
    let network = riemla::nn::Network::new(&model.network).map_err(library)?;
    riemla::error::check_len("weights", network.dim(), model.theta.len()).map_err(library)?;
    model.likelihood.check(network.outputs(), data.targets()).map_err(library)
}

impl Fitted {
    fn dim(&self) -> usize {
        self.saved.laplace.gaussian.theta().len()
    }

    fn data(&self) -> PyResult<&TrainingData> {
        let missing = "the posterior was saved without its data, which this needs: fit it again";
        self.saved.data.as_ref().ok_or_else(|| PyValueError::new_err(missing))
    }

    fn inputs(&self, inputs: &Numbers<'_>) -> PyResult<Vec<f64>> {
        rows(inputs, self.saved.model.network.input.len())
    }

    fn scales(&self) -> Vec<riemla_files::encoding::Scale> {
        riemla_workflow::workflow::predictor::scales(&self.saved.model)
    }

    fn outputs_of(&self) -> PyResult<Arc<NetworkOutputs>> {
        let network = riemla::nn::Network::new(&self.saved.model.network).map_err(library)?;
        let outputs = NetworkOutputs::new(Arc::new(network), self.saved.laplace.likelihood);
        Ok(Arc::new(outputs.map_err(library)?))
    }

    fn predictor(&self, method: Method) -> PyResult<Predictor> {
        Ok(Predictor::new(self.outputs_of()?, method, self.saved.laplace.gaussian.clone()))
    }

    /// Makes the directory of this posterior, or checks that the one there is of the same.
    fn check_place(&self, directory: &Path) -> PyResult<()> {
        if !directory.exists() {
            return self.saved.write(directory, Existing::Refuse).map_err(files);
        }
        let there = workflow::read_posterior(directory).map_err(crate::errors::workflow)?;
        let differences = riemla_files::identity::differences(&there.origin(), &self.saved.origin());
        if differences.is_empty() {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "{} holds another posterior: {}; give another directory",
            directory.display(),
            differences.join("; ")
        )))
    }
}
