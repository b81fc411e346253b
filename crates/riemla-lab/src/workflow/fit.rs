//! From a model and its data to a posterior.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig};
use riemla::nn::Network;
use riemla::objective::{NetworkLoss, Prior};
use riemla_files::{HeldOut, Model, SavedPosterior, TrainingData};

use super::error::{Result, WorkflowError};
use super::input::DataFiles;
use super::memory::check_fit;
use crate::watch::Watch;

/// What is asked of a fit.
#[derive(Debug, Clone)]
pub struct FitConfig {
    /// The data the model was trained on.
    pub data: DataFiles,
    /// Curvature, structure, subset, prior.
    pub laplace: LaplaceConfig,
    /// Bytes that may be used; no limit if none.
    pub memory: Option<u64>,
    /// Keep the encoded data in the posterior, so that geodesics need no other file.
    pub keep_data: bool,
}

/// A posterior and what was noticed on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The posterior.
    pub posterior: SavedPosterior,
    /// Rows it was fitted to, and rows held out as in training.
    pub rows: (usize, usize),
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Fits a Laplace approximation at the weights of a model.
///
/// Rows that training held out are held out again if the data are the same.
pub fn fit(model: Model, config: &FitConfig, stop: &AtomicBool, watch: &dyn Watch) -> Result<Fitted> {
    let network = Arc::new(Network::new(&model.network)?);
    let laplace = &config.laplace;
    let needed = check_fit(&network, laplace.structure, &laplace.subset, config.memory)?;
    watch.note(&format!("memory: about {}", super::memory::in_words(needed)));
    watch.begin("reading the data", 0);
    let mut notes = Vec::new();
    let data = training_data(&model, &config.data, &mut notes)?;
    watch.begin("Laplace approximation", 0);
    let prior = Prior::new(&model.prior_precision, &network)?;
    let loss = NetworkLoss::new(network, data.train.clone(), model.likelihood, prior)?;
    let laplace = match Laplace::fit(&loss, &model.theta, laplace, Control::default().stopping(stop)) {
        Err(riemla::Error::Stopped { .. }) => return Err(WorkflowError::Interrupted),
        fitted => fitted?,
    };
    if laplace.stopped {
        return Err(WorkflowError::Interrupted);
    }
    let rows = (data.train.len(), data.validation.as_ref().map_or(0, |data| data.len()));
    let data = config.keep_data.then_some(data);
    let posterior = SavedPosterior { model, config: config.laplace.clone(), laplace, data };
    Ok(Fitted { posterior, rows, notes })
}

/// The data in the parts that training made of them; all of them, if they are other data.
pub(super) fn training_data(
    model: &Model,
    files: &DataFiles,
    notes: &mut Vec<String>,
) -> Result<TrainingData> {
    let data = files.labelled(model, notes)?;
    let held_out = model.training.as_ref().and_then(|training| training.held_out);
    let parts = held_out.and_then(|held_out: HeldOut| held_out.split(&data));
    Ok(parts.unwrap_or(TrainingData { train: data, validation: None }))
}
