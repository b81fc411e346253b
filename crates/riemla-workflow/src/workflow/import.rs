//! Models of other programs: weights in, weights out.

use std::path::{Path, PathBuf};

use riemla::nn::{Activation, LayerSpec, Network, NetworkSpec};
use riemla::objective::{Likelihood, PriorPrecision};
use riemla_files::tensors::TensorFile;
use riemla_files::{
    Encoding, EncodingOptions, ImportedNetwork, ImportedWeights, Model, ModelSpec, TrainingRecord,
    import_onnx, import_state_dict, read_model_spec,
};

use super::error::{Result, WorkflowError};
use super::input::{ColumnChoices, DataFiles};
use crate::likelihood::{LikelihoodName, task_of};

/// What is asked of an import.
#[derive(Debug, Clone)]
pub struct ImportConfig {
    /// `.onnx`, or a state dict in safetensors.
    pub weights: PathBuf,
    /// The network of a state dict.
    pub network: Option<PathBuf>,
    /// What the outputs mean; by the file, or by the number of outputs, if none.
    pub likelihood: Option<LikelihoodName>,
    /// Standard deviation of the noise, for likelihoods that have one.
    pub sigma_noise: f64,
    /// Prior precision (weight decay) it was trained with.
    pub prior_precision: f64,
    /// The training table, to know its columns and classes by name.
    pub data: Option<DataFiles>,
    /// What is made of its columns.
    pub columns: ColumnChoices,
    /// Whether the network was trained on standardised columns of that table.
    pub standardize: bool,
}

/// A model, and what is different from the file.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The model.
    pub model: Model,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Reads a network of another program.
pub fn import(config: &ImportConfig) -> Result<Imported> {
    let path = &config.weights;
    let ImportedNetwork { mut network, theta, likelihood: known, mut notes } = read(config)?;
    let outputs = Network::new(&network)?.outputs();
    let named = config.likelihood.map(|name| name.with_noise(config.sigma_noise, outputs)).transpose()?;
    let likelihood = match named.or(known) {
        Some(likelihood) => likelihood,
        None if outputs > 1 => {
            notes.push(format!("treated as a classifier of {outputs} classes (change it with --likelihood)"));
            Likelihood::Categorical
        }
        None => {
            return Err(WorkflowError::unfit(
                "one output may be a number, the log-odds of two classes or the logarithm of a rate of counts: give \
                 --likelihood gaussian, bernoulli or poisson",
            ));
        }
    };
    likelihood.check_outputs(outputs)?;
    notes.extend(last_activation(&mut network, likelihood));
    let files = config.data.as_ref();
    let encoding = files.map(|files| encoding(files, config, likelihood, &mut notes)).transpose()?;
    let model = Model {
        network,
        likelihood,
        prior_precision: PriorPrecision::Scalar(config.prior_precision),
        encoding,
        training: Some(TrainingRecord {
            class_weights: None,
            method: format!("imported from {}", path.display()),
            seed: None,
            samples: 0,
            loss: f64::NAN,
            gradient_norm: f64::NAN,
            iterations: 0,
            status: "unknown".into(),
            data: None,
            held_out: None,
        }),
        theta,
    };
    model.check(&path.display().to_string())?;
    Ok(Imported { model, notes })
}

/// Leaves out a final sigmoid that the likelihood applies itself; a note about it, or about another activation where
/// outputs are logarithms.
fn last_activation(network: &mut NetworkSpec, likelihood: Likelihood) -> Option<String> {
    let Some(LayerSpec::Activation { function }) = network.layers.last() else { return None };
    let (function, logarithms) = (*function, "the logarithms of");
    match likelihood {
        Likelihood::MultiLabel if function == Activation::Sigmoid => {
            network.layers.pop();
            Some("the final Sigmoid is left out: the multi-label likelihood applies it".into())
        }
        Likelihood::Poisson => Some(format!(
            "the last layer is an activation ({function}), and its outputs are taken as {logarithms} rates; leave it out \
             if they are rates"
        )),
        Likelihood::Heteroscedastic => Some(format!(
            "the last layer is an activation ({function}), and half of its outputs are taken as {logarithms} variances; \
             leave it out if they are variances"
        )),
        _ => None,
    }
}

/// Reads ONNX, or a state dict with the description of its network.
fn read(config: &ImportConfig) -> Result<ImportedNetwork> {
    let path = &config.weights;
    let onnx = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"));
    match (&config.network, onnx) {
        (None, true) => Ok(import_onnx(path)?),
        (Some(_), true) => {
            Err(WorkflowError::unfit("an ONNX file contains its network: leave out --network"))
        }
        (Some(spec), false) => {
            let ModelSpec { network, likelihood } = read_model_spec(spec)?;
            let ImportedWeights { theta, notes } = import_state_dict(path, &network)?;
            Ok(ImportedNetwork { network, theta, likelihood, notes })
        }
        (None, false) => {
            // Perhaps it is none: that would be the first thing to say.
            TensorFile::open(path)?.list()?;
            Err(WorkflowError::unfit(format!(
                "{0}: a state dict contains only weights; describe the network in a file and give it with --network\n  \
                 `riemla import --help` shows such a file\n  `riemla inspect {0}` lists the tensors",
                path.display()
            )))
        }
    }
}

/// The columns of the table that the network was trained on.
fn encoding(
    files: &DataFiles,
    config: &ImportConfig,
    likelihood: Likelihood,
    notes: &mut Vec<String>,
) -> Result<Encoding> {
    let options = EncodingOptions {
        target: files.target.clone(),
        standardize: config.standardize,
        standardize_target: false,
        ..config.columns.options(task_of(likelihood))
    };
    let (encoding, found) = Encoding::fit(&files.table(&config.columns)?, &options)?;
    notes.extend(found);
    Ok(encoding)
}

/// Writes the weights of a model as a PyTorch state dict in safetensors.
pub fn export(model: &Model, path: &Path) -> Result<()> {
    Ok(riemla_files::write_state_dict(path, &Network::new(&model.network)?, &model.theta)?)
}
