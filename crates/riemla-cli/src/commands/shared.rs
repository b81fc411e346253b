//! Options and phrases that several commands have in common.

use std::path::{Path, PathBuf};

use clap::Args;
use riemla::objective::{Likelihood, PriorPrecision};
use riemla_files::{Model, SavedPosterior};
use riemla_lab::workflow::{DataFiles, WorkflowError};

/// Where data come from.
#[derive(Debug, Args)]
pub struct DataArguments {
    /// CSV, NPY, NPZ, Parquet or IDX, plain or gzip; "-" reads standard input
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,

    /// Targets in a file of their own, for images and arrays
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,

    /// Column of the target [default: the model's, or "y", or the last one]
    #[arg(long, value_name = "COLUMN", conflicts_with = "labels")]
    pub target: Option<String>,
}

impl DataArguments {
    /// In the words of the lab.
    pub fn files(&self) -> DataFiles {
        DataFiles { data: self.data.clone(), labels: self.labels.clone(), target: self.target.clone() }
    }

    /// The files that are read.
    pub fn inputs(&self) -> Vec<&Path> {
        let labels = self.labels.iter();
        [&self.data].into_iter().chain(labels).map(PathBuf::as_path).collect()
    }
}

/// A finite number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "must be a number above 0".into())
}

/// Weights, prior and noise in one line.
pub fn facts(weights: usize, prior: &PriorPrecision, likelihood: Likelihood) -> String {
    let prior = match prior {
        PriorPrecision::Scalar(value) => format!("{value:.4}"),
        PriorPrecision::PerLayer(values) => {
            values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(", ") + " (per layer)"
        }
    };
    let noise = match likelihood {
        Likelihood::Gaussian { sigma_noise } => {
            format!(", sigma_noise {sigma_noise:.4} (in units of the encoded target)")
        }
        _ => String::new(),
    };
    format!("{weights} weights, prior_precision {prior}{noise}")
}

/// Reads a model directory, or says how to make one.
pub fn model_directory(path: &Path) -> anyhow::Result<Model> {
    if !path.join(riemla_files::model::MODEL_FILE).is_file() {
        let remedy = "make one with `riemla train --data train.csv --out model/` or `riemla import`";
        return Err(WorkflowError::NotA { path: path.into(), expected: "model directory", remedy }.into());
    }
    Ok(Model::read(path)?)
}

/// Reads a posterior directory, or says how to make one.
pub fn posterior_directory(path: &Path) -> anyhow::Result<SavedPosterior> {
    Ok(riemla_lab::workflow::read_posterior(path)?)
}
