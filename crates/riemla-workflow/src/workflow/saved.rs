//! A posterior on the disk, with the loss and the data behind it.

use std::path::Path;
use std::sync::Arc;

use riemla::data::Dataset;
use riemla::nn::Network;
use riemla::objective::NetworkLoss;
use riemla::posterior::{Posterior, PosteriorConfig};
use riemla_files::identity::differences;
use riemla_files::members::members_of;
use riemla_files::{FittedTo, SavedPosterior, TrainingData};

use super::error::{Result, WorkflowError};
use super::fit::{KnownData, training_data};
use super::input::DataFiles;

/// Reads a posterior directory, or says how to make one.
pub fn read_posterior(directory: &Path) -> Result<SavedPosterior> {
    check_posterior(directory)?;
    Ok(SavedPosterior::read(directory)?)
}

pub(super) fn check_posterior(directory: &Path) -> Result<()> {
    if directory.join(riemla_files::posterior::POSTERIOR_FILE).is_file() {
        return Ok(());
    }
    refuse_members(directory)?;
    Err(WorkflowError::NotA {
        path: directory.into(),
        expected: "posterior directory",
        remedy: "make one with `riemla fit model/ --data train.csv --out posterior/`",
    })
}

/// An error if a directory has members, where one posterior is wanted.
pub(super) fn refuse_members(directory: &Path) -> Result<()> {
    let Some(members) = members_of(directory)? else { return Ok(()) };
    let (count, first) = (members.len(), members[0].display());
    Err(WorkflowError::unfit(format!(
        "{} has {count} members, which this takes one at a time: give one of them, such as {first}",
        directory.display()
    )))
}

/// The loss of a saved posterior on its training data.
pub(super) fn loss_of(saved: &SavedPosterior, train: &Dataset) -> Result<NetworkLoss> {
    let network = Arc::new(Network::new(&saved.model.network)?);
    Ok(NetworkLoss::new(network, train.clone(), saved.laplace.likelihood, saved.laplace.prior.clone())?)
}

/// The data of a saved posterior, or those given, which must be the same.
pub(super) fn data_of(saved: &SavedPosterior, given: Option<&DataFiles>) -> Result<TrainingData> {
    let Some(files) = given else {
        return saved.data.clone().ok_or_else(|| {
            WorkflowError::unfit(
                "the posterior was saved without its data: give the training data with --data",
            )
        });
    };
    // What there is to say about these data was said by the fit.
    let data = match training_data(&saved.model, files, &mut Vec::new())? {
        KnownData::Same(data) | KnownData::Unknown(data) | KnownData::Other(data, _) => data,
    };
    let differences = differences(&saved.fitted_to, &FittedTo::from(&data));
    if differences.is_empty() {
        return Ok(data);
    }
    let remedy =
        if saved.data.is_some() { "leave out --data: the posterior contains its data" } else { "give those" };
    Err(WorkflowError::unfit(format!(
        "{} contains other data than the posterior was fitted to ({}): {remedy}, or fit again with `riemla \
         fit`",
        files.data.display(),
        differences.join("; ")
    )))
}

/// The posterior of a saved one with its data, as draws are taken from it.
pub fn posterior_of(saved: &SavedPosterior, settings: &PosteriorConfig) -> Result<Posterior> {
    let loss = loss_of(saved, &data_of(saved, None)?.train)?;
    Ok(Posterior::of_network(&loss, &saved.laplace, settings.clone())?)
}
