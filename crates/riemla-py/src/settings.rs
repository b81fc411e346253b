//! Settings of the library as JSON, which the Python side writes and reads.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use riemla::posterior::{Method, PosteriorConfig};
use riemla::reference::Reference;

/// Reads settings; an error names the field.
pub fn read<T: serde::de::DeserializeOwned>(what: &str, json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

/// Writes settings or results.
pub fn write(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| crate::errors::defect(&error.to_string()))
}

/// The settings of a method as on the command line, in JSON; of the Fisher metric, with the solver that it needs.
#[pyfunction]
#[pyo3(signature = (method, metric))]
pub fn run_config(method: &str, metric: Option<&str>) -> PyResult<String> {
    if let Some(reference) = Reference::named(method) {
        return write(&reference);
    }
    let method: Method = method.parse().map_err(crate::errors::library)?;
    let mut config = PosteriorConfig::of_commands(method);
    match metric {
        None => {}
        Some("fisher") => {
            config = PosteriorConfig { polish: config.polish, ..PosteriorConfig::fisher(method) }
        }
        Some(name) => config.metric = read("metric", &format!("\"{name}\""))?,
    }
    write(&config)
}
