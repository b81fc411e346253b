//! Model directories: `model.json` and `weights.safetensors`.

use std::path::Path;

use riemla::data::Dataset;
use riemla::nn::NetworkSpec;
use riemla::objective::{Likelihood, Prior, PriorPrecision};
use serde::{Deserialize, Serialize};

use crate::data::{TrainingData, crc32};
use crate::error::name;
use crate::identity::Digest;
use crate::json::{FORMAT_VERSION, any_number, read_json, write_json};
use crate::output::{Existing, OutputDirectory};
use crate::spec::network;
use crate::state_dict::{read_state_dict, write_state_dict};
use crate::tensors::TensorFile;
use crate::{Encoding, Error, Result};

/// Name of the description in a model directory.
pub const MODEL_FILE: &str = "model.json";
/// Name of the weights in a model directory.
pub const WEIGHTS_FILE: &str = "weights.safetensors";

/// What to do about a damaged file of a model.
const REMEDY: &str =
    "copy the directory again, or create the model again with `riemla train` or `riemla import`";

/// How the weights came about, for the reader of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingRecord {
    /// What made them, for example `lbfgs` or `imported from net.safetensors`.
    pub method: String,
    /// Seed of initialisation and splits.
    pub seed: Option<u64>,
    /// Rows trained on.
    pub samples: usize,
    /// Loss at the weights.
    #[serde(with = "any_number")]
    pub loss: f64,
    /// Norm of its gradient there.
    #[serde(with = "any_number")]
    pub gradient_norm: f64,
    /// Iterations or epochs.
    pub iterations: usize,
    /// How training ended.
    pub status: String,
    /// The data after encoding, rows held out not among them; none if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Digest>,
    /// The weight of every class in the loss; none if all samples count once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<Vec<f64>>,
    /// The rows that were not trained on; none if all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
}

/// Which rows of a table were held out of training, so that a later fit can do the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// How many rows.
    pub rows: usize,
    /// Seed of the random choice.
    pub seed: u64,
    /// Of how many rows.
    pub of: usize,
    /// CRC-32 of these rows after encoding.
    pub crc32: u32,
}

impl HeldOut {
    /// Splits data the way it was split for training; none if they are other data.
    pub fn split(&self, data: &Dataset) -> Option<TrainingData> {
        (data.len() == self.of && crc32(data) == self.crc32).then(|| self.parts(data)).flatten()
    }

    /// The rows of a table that are left for training when `held_out` of them are held out.
    pub fn trained_rows(of: usize, held_out: usize, seed: u64) -> Option<Vec<usize>> {
        let sizes = [of.checked_sub(held_out)?, held_out];
        riemla::data::split(of, &sizes, seed).ok()?.into_iter().next()
    }

    /// Chooses `rows` rows to hold out.
    pub fn choose(data: &Dataset, rows: usize, seed: u64) -> Option<(Self, TrainingData)> {
        let chosen = Self { rows, seed, of: data.len(), crc32: crc32(data) };
        chosen.parts(data).map(|parts| (chosen, parts))
    }

    fn parts(&self, data: &Dataset) -> Option<TrainingData> {
        let sizes = [data.len().checked_sub(self.rows)?, self.rows];
        let rows = riemla::data::split(data.len(), &sizes, self.seed).ok()?;
        let part = |k: usize| data.select(&rows[k]).ok();
        Some(TrainingData { train: part(0)?, validation: Some(part(1)?) })
    }
}

/// A trained network with all that is needed to use it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The network.
    pub network: NetworkSpec,
    /// What its outputs mean.
    pub likelihood: Likelihood,
    /// The prior it was trained under.
    pub prior_precision: PriorPrecision,
    /// How tables become its inputs; none for images and raw arrays.
    pub encoding: Option<Encoding>,
    /// How it was trained, if known.
    pub training: Option<TrainingRecord>,
    /// Weights, flat, in the order of the network's parameters.
    pub theta: Vec<f64>,
}

/// `model.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelJson {
    format_version: u64,
    riemla_version: String,
    network: NetworkSpec,
    likelihood: Likelihood,
    prior_precision: PriorPrecision,
    encoding: Option<Encoding>,
    training: Option<TrainingRecord>,
}

impl Model {
    /// Writes a model directory in one step.
    pub fn write(&self, directory: &Path, existing: Existing) -> Result<()> {
        self.write_to(&OutputDirectory::claim(directory, existing, &[])?)
    }

    /// As [`Model::write`], to a place that was claimed before.
    pub fn write_to(&self, output: &OutputDirectory) -> Result<()> {
        self.check(&name(output.path()))?;
        output.write(|temporary| self.write_into(temporary))
    }

    /// Writes the two files into a directory that is there; the description last.
    pub(crate) fn write_into(&self, directory: &Path) -> Result<()> {
        let network = network(&name(directory), &self.network)?;
        write_state_dict(&directory.join(WEIGHTS_FILE), &network, &self.theta)?;
        let json = ModelJson {
            format_version: FORMAT_VERSION,
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            network: self.network.clone(),
            likelihood: self.likelihood,
            prior_precision: self.prior_precision.clone(),
            encoding: self.encoding.clone(),
            training: self.training.clone(),
        };
        write_json(&directory.join(MODEL_FILE), &json)
    }

    /// Reads and checks a model directory.
    pub fn read(directory: &Path) -> Result<Self> {
        Self::read_with(directory, REMEDY)
    }

    /// As [`Model::read`], with what to do about damage.
    pub(crate) fn read_with(directory: &Path, remedy: &'static str) -> Result<Self> {
        let path = directory.join(MODEL_FILE);
        let json: ModelJson = read_json(&path, remedy)?;
        let weights = TensorFile::open_ours(&directory.join(WEIGHTS_FILE), remedy)?;
        let theta = read_state_dict(&weights, &json.network)?;
        let model = Self {
            network: json.network,
            likelihood: json.likelihood,
            prior_precision: json.prior_precision,
            encoding: json.encoding,
            training: json.training,
            theta,
        };
        model.check(&name(&path))?;
        Ok(model)
    }

    /// All that predictions of the trained weights depend on.
    pub fn digest(&self) -> Digest {
        let Self { network, likelihood, prior_precision, encoding, theta, .. } = self;
        let theta = Digest::of_numbers([theta.as_slice()]);
        Digest::of_json(&(network, likelihood, prior_precision, encoding, theta))
    }

    /// Checks that the parts fit together; `file` is for messages.
    pub fn check(&self, file: &str) -> Result<()> {
        let network = network(file, &self.network)?;
        riemla::error::check_len("weights", network.dim(), self.theta.len()).map_err(Error::content(file))?;
        riemla::error::check_finite("weights", &self.theta).map_err(Error::content(file))?;
        self.likelihood.check_outputs(network.outputs()).map_err(Error::content(file))?;
        Prior::new(&self.prior_precision, &network).map_err(Error::content(file))?;
        let Some(encoding) = &self.encoding else { return Ok(()) };
        encoding.check(file)?;
        let shape = |what, expected, found| Error::content(file)(riemla::Error::shape(what, expected, found));
        if encoding.width() != network.inputs() {
            return Err(shape("inputs of the encoding", network.inputs(), encoding.width()));
        }
        let (kind, outputs) = (self.likelihood.kind(), network.outputs());
        if encoding.target.kind() != kind {
            return Err(Error::content(file)(riemla::Error::Unsupported(
                "classes need a categorical or bernoulli likelihood, numbers a gaussian or heteroscedastic one, counts \
                 poisson, labels multi-label"
                    .into(),
            )));
        }
        match (encoding.classes(), self.likelihood.classes(outputs)) {
            (Some(classes), Some(expected)) if classes.len() != expected => {
                Err(shape("classes of the encoding", expected, classes.len()))
            }
            (None, None) => {
                let (expected, found) =
                    (self.likelihood.targets_per_sample(outputs), encoding.target_columns().len());
                let fits = expected == found;
                fits.then_some(()).ok_or_else(|| shape("target columns of the encoding", expected, found))
            }
            _ => Ok(()),
        }
    }
}
