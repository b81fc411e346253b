//! Sampling as the Python side asks for it: one list of wishes for all posteriors, and draws that processes take for
//! others.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use riemla::Control;
use riemla::error::Failure;
use riemla::posterior::{Draw, Posterior, PosteriorConfig};
use riemla_files::samples::{decode_draw, encode_draw};
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::{Elsewhere, SampleConfig, Taken, WorkflowError};
use serde::{Deserialize, Serialize};

use crate::errors::{defect, library};
use crate::run::{Caller, run};
use crate::{draws, settings};

/// What is asked of a sampling: the attributes of the Python side's `Request`.
#[derive(FromPyObject)]
pub struct Request<'py> {
    config: String,
    samples: u64,
    seed: u64,
    seconds: Option<f64>,
    most_weights: usize,
    store: Option<PathBuf>,
    name: Option<String>,
    threads: Option<usize>,
    watcher: Option<Bound<'py, PyAny>>,
    /// Called with settings and indices; gives an iterator of answers of workers.
    elsewhere: Option<Py<PyAny>>,
}

/// Takes draws by `work`, which is told the settings and the place.
pub fn sample<'py>(
    py: Python<'py>,
    request: Request<'_>,
    dim: usize,
    work: impl FnOnce(&SampleConfig, Option<&Path>, Session<'_>) -> PyResult<Taken> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let Request { config, samples, seed, seconds, most_weights, store, name, threads, watcher, elsewhere } =
        request;
    let run_config: riemla_files::RunConfig = settings::read("settings of the method", &config)?;
    let elsewhere = elsewhere.map(|start| Arc::new(Workers { start, dim }) as Arc<dyn Elsewhere>);
    let config = SampleConfig {
        seconds,
        name,
        most_weights,
        elsewhere,
        ..SampleConfig::new(run_config, samples, seed)
    };
    let caller = Caller { threads, watcher: watcher.as_ref() };
    let taken = run(py, &caller, |session| work(&config, store.as_deref(), session))?;
    draws::taken(py, taken)
}

/// Workers of the Python side.
struct Workers {
    start: Py<PyAny>,
    dim: usize,
}

/// What arrived: records of draws, and draws that failed.
type Answer = (Vec<PyBackedBytes>, Vec<String>);

impl Elsewhere for Workers {
    fn take(
        &self,
        settings: &PosteriorConfig,
        indices: &[u64],
        halt: &AtomicBool,
        keep: &dyn Fn(&Draw),
    ) -> Result<Vec<(u64, riemla::Error)>, WorkflowError> {
        let begin = |py: Python<'_>| self.start.call1(py, (settings::write(settings)?, indices.to_vec()));
        let answers = Python::attach(begin).map_err(raised)?;
        let mut failed = Vec::new();
        while let Some((records, failures)) = next(&answers, halt).map_err(raised)? {
            for record in records {
                keep(
                    &decode_draw(&record, self.dim)
                        .ok_or_else(|| raised(defect("a record of another format")))?,
                );
            }
            for json in failures {
                failed.push(settings::read::<FailedDraw>("failed draw", &json).map_err(raised)?.into_error());
            }
        }
        Ok(failed)
    }
}

/// The next answer, an empty one if there was none for a while; none at the end, or if no more are wanted.
fn next(answers: &Py<PyAny>, halt: &AtomicBool) -> PyResult<Option<Answer>> {
    Python::attach(|py| {
        let answers = answers.bind(py);
        if halt.load(Ordering::Relaxed) {
            return answers.call_method0("close").map(|_| None);
        }
        answers.try_iter()?.next().map(|answer| answer?.extract()).transpose()
    })
}

/// An exception of the Python side, on its way through the library.
fn raised(error: PyErr) -> WorkflowError {
    riemla::Error::Objective(Failure::new(error)).into()
}

/// A draw whose geodesics did not come to their end: [`riemla::Error::Unfinished`] on its way between processes.
#[derive(Serialize, Deserialize)]
struct FailedDraw {
    draw: u64,
    t: f64,
    status: String,
    attempts: usize,
    remedy: String,
}

impl FailedDraw {
    fn new(error: riemla::Error) -> PyResult<Self> {
        match error {
            riemla::Error::Unfinished { draw, t, status, attempts, remedy } => {
                Ok(Self { draw, t, status, attempts, remedy })
            }
            other => Err(library(other)),
        }
    }

    fn into_error(self) -> (u64, riemla::Error) {
        let Self { draw, t, status, attempts, remedy } = self;
        (draw, riemla::Error::Unfinished { draw, t, status, attempts, remedy })
    }
}

/// A posterior in a process that takes draws for another.
#[pyclass(frozen, module = "riemla._core")]
pub struct Drawer {
    posterior: Posterior,
}

impl Drawer {
    pub fn new(posterior: Posterior) -> Self {
        Self { posterior }
    }
}

#[pymethods]
impl Drawer {
    /// Records of the draws with these indices, and the indices and descriptions of those that failed. After Ctrl-C
    /// some are missing.
    #[allow(clippy::type_complexity)] // lists of tuples in Python
    fn take<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        indices: Vec<u64>,
        threads: Option<usize>,
    ) -> PyResult<(Vec<(u64, Bound<'py, PyBytes>)>, Vec<(u64, String)>)> {
        let set = run(py, &Caller { threads, watcher: None }, |session| {
            let control = Control::default().stopping(session.stop);
            self.posterior.sample_indices(seed, &indices, control).map_err(library)
        })?;
        let record = |draw: &Draw| {
            let bytes = encode_draw(draw).map_err(|error| defect(&error.to_string()))?;
            Ok((draw.index, PyBytes::new(py, &bytes)))
        };
        let failure = |(index, error)| Ok((index, settings::write(&FailedDraw::new(error)?)?));
        let records = set.draws.iter().map(record).collect::<PyResult<_>>()?;
        Ok((records, set.failed.into_iter().map(failure).collect::<PyResult<_>>()?))
    }
}
