//! Draws from a posterior: on the disk, where nothing that was drawn is lost, or in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use riemla::data::Dataset;
use riemla::nn::Network;
use riemla::objective::{NetworkLoss, TargetKind};
use riemla::posterior::{BatchDesign, BatchPlan, Posterior, PosteriorConfig};
use riemla_files::identity::differences;
use riemla_files::members::members_of;
pub use riemla_files::ours::SAMPLES_DIRECTORY;
use riemla_files::{FittedTo, InUse, Origin, RunConfig, SampleStore, SavedPosterior, Shard, TrainingData};

use super::elsewhere::Elsewhere;
use super::error::{Result, WorkflowError};
use super::fit::{KnownData, training_data};
use super::input::DataFiles;
use super::samplers::{Geodesics, sampler};
use super::take::{Kept, Taken, collect, take};
use crate::watch::Watch;

/// What is asked of a sampling.
#[derive(Debug, Clone)]
pub struct SampleConfig {
    /// The method with its settings.
    pub run: RunConfig,
    /// Number of draws in the set.
    pub samples: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Seconds after which no draw is begun or finished any more.
    pub seconds: Option<f64>,
    /// Name of the set; that of the method if none.
    pub name: Option<String>,
    /// The training data, if the posterior does not hold them.
    pub data: Option<DataFiles>,
    /// Uncertain weights up to which NUTS is run.
    pub most_weights: usize,
    /// The part of the draws that this process takes; all if none.
    pub shard: Option<Shard>,
    /// Who takes the draws; this process if none.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
}

/// Uncertain weights up to which NUTS is run by default: hours, not days.
pub const MOST_WEIGHTS: usize = 2000;

impl SampleConfig {
    /// Draws by a method, without a limit of time.
    pub fn new(run: impl Into<RunConfig>, samples: u64, seed: u64) -> Self {
        let run = run.into();
        Self {
            run,
            samples,
            seed,
            seconds: None,
            name: None,
            data: None,
            most_weights: MOST_WEIGHTS,
            shard: None,
            elsewhere: None,
        }
    }

    /// Uniform batches keep the frequencies of classes; numbers have none.
    fn for_model(&self, saved: &SavedPosterior) -> Self {
        let mut config = self.clone();
        let classes = saved.laplace.likelihood.kind() == TargetKind::Classes;
        if let RunConfig::Posterior(posterior) = &mut config.run {
            let uniform = |batch: &&mut BatchPlan| classes && batch.design == BatchDesign::Uniform;
            posterior
                .batch
                .iter_mut()
                .filter(uniform)
                .for_each(|batch| batch.design = BatchDesign::Stratified);
        }
        config
    }

    /// The name of the set.
    pub fn set_name(&self) -> String {
        let kind = match &self.run {
            RunConfig::Posterior(posterior) if posterior.batch.is_some() => "-batches",
            RunConfig::Posterior(posterior) if is_polished_otherwise(posterior) => "-polished",
            _ => "",
        };
        self.name.clone().unwrap_or_else(|| format!("{}{kind}", self.run.method()))
    }
}

/// Whether draws are polished in another way than by default.
fn is_polished_otherwise(config: &PosteriorConfig) -> bool {
    config.polish.is_some() && config.polish != PosteriorConfig::of_commands(config.method).polish
}

/// A set of draws on the disk.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// Where the set is.
    pub directory: PathBuf,
    /// The draws and how they look.
    pub taken: Taken,
}

/// Draws what is missing of a set of a posterior on the disk. Once `stop` is set or the budget is used up,
/// draws under way are given up and what is there is kept.
pub fn sample(
    directory: &Path,
    config: &SampleConfig,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Sampled> {
    watch.begin("reading the posterior", 0);
    check_posterior(directory)?;
    let _in_use = InUse::claim(directory)?;
    let saved = read_posterior(directory)?;
    let config = &config.for_model(&saved);
    let set = directory.join(SAMPLES_DIRECTORY).join(config.set_name());
    let data = data_of(&saved, config.data.as_ref())?;
    let origin = saved.origin();
    let taken = take(sampler((saved, data), config)?, Some((&set, origin)), config, stop, watch)?;
    Ok(Sampled { directory: set, taken })
}

/// The same draws of a posterior in memory, kept there.
pub fn sample_in_memory(
    saved: &SavedPosterior,
    config: &SampleConfig,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Taken> {
    let config = &config.for_model(saved);
    let data = data_of(saved, config.data.as_ref())?;
    take(sampler((saved.clone(), data), config)?, None, config, stop, watch)
}

/// Draws from a posterior of any model, in memory or in a directory with what tells the model from others.
pub fn sample_model(
    posterior: Posterior,
    set: Option<(&Path, Origin)>,
    config: &SampleConfig,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Taken> {
    take(Box::new(Geodesics::of(posterior, config)), set, config, stop, watch)
}

/// The posterior of a saved one with its data, as draws are taken from it.
pub fn posterior_of(saved: &SavedPosterior, settings: &PosteriorConfig) -> Result<Posterior> {
    let loss = loss_of(saved, &data_of(saved, None)?.train)?;
    Ok(Posterior::of_network(&loss, &saved.laplace, settings.clone())?)
}

/// The same without a look at the draws, for those who judge them in their own way; there may be none.
pub fn draw_model(
    posterior: Posterior,
    set: Option<(&Path, Origin)>,
    config: &SampleConfig,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Kept> {
    collect(Box::new(Geodesics::of(posterior, config)), set, config, stop, watch)
}

/// What one should know about a log: what was lost of it, and that others may write to it.
pub(super) fn remarks(store: &SampleStore, path: &Path) -> Vec<String> {
    let bytes = store.damaged_bytes();
    let damage = (bytes > 0).then(|| {
        format!(
            "{} was damaged: {bytes} bytes of draws could not be read; the missing draws were drawn again, \
             with the same values; check the disk",
            path.display()
        )
    });
    damage.into_iter().chain(store.unlocked().map(String::from)).collect()
}

/// Reads a posterior directory, or says how to make one.
pub fn read_posterior(directory: &Path) -> Result<SavedPosterior> {
    check_posterior(directory)?;
    Ok(SavedPosterior::read(directory)?)
}

fn check_posterior(directory: &Path) -> Result<()> {
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

pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> WorkflowError + use<> {
    let file = path.display().to_string();
    move |source| riemla_files::Error::Io { file, action, source }.into()
}

/// The loss of a saved posterior on its training data.
pub(super) fn loss_of(saved: &SavedPosterior, train: &Dataset) -> Result<NetworkLoss> {
    let network = Arc::new(Network::new(&saved.model.network)?);
    Ok(NetworkLoss::new(network, train.clone(), saved.laplace.likelihood, saved.laplace.prior.clone())?)
}

/// The data of a saved posterior, or those given, which must be the same.
fn data_of(saved: &SavedPosterior, given: Option<&DataFiles>) -> Result<TrainingData> {
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
