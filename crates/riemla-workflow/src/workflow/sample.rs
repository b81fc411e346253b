//! Draws from a posterior, one at a time on the disk: nothing that was drawn is lost.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use riemla::data::Dataset;
use riemla::nn::Network;
use riemla::objective::{Likelihood, NetworkLoss};
use riemla_files::identity::differences;
pub use riemla_files::ours::SAMPLES_DIRECTORY;
use riemla_files::ours::{LOG_FILE, check_set};
use riemla_files::samples::write_samples;
use riemla_files::{FittedTo, InUse, RunConfig, RunInfo, SampleStore, SavedPosterior, TrainingData};

use super::budget::until;
use super::diagnostics::Diagnosis;
use super::error::{Result, WorkflowError};
use super::fit::{KnownData, training_data};
use super::input::DataFiles;
use super::samplers::{Keeper, sampler};
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
}

/// Uncertain weights up to which NUTS is run by default: hours, not days.
pub const MOST_WEIGHTS: usize = 2000;

impl SampleConfig {
    /// Batches keep the frequencies of classes; numbers have none.
    fn for_model(&self, saved: &SavedPosterior) -> Self {
        let mut config = self.clone();
        let classes = !matches!(saved.laplace.likelihood, Likelihood::Gaussian { .. });
        if let RunConfig::Posterior(posterior) = &mut config.run {
            posterior.batch.iter_mut().for_each(|batch| batch.stratified = classes);
        }
        config
    }

    /// The name of the set.
    pub fn set_name(&self) -> String {
        let batched = matches!(&self.run, RunConfig::Posterior(posterior) if posterior.batch.is_some());
        let batches = if batched { "-batches" } else { "" };
        self.name.clone().unwrap_or_else(|| format!("{}{batches}", self.run.method()))
    }
}

/// What a sampling did.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// Where the set is.
    pub directory: PathBuf,
    /// Draws in the set now, and how many of them are new.
    pub draws: (usize, usize),
    /// Draws asked for.
    pub asked: u64,
    /// The seed of all.
    pub seed: u64,
    /// How the draws look.
    pub diagnosis: Diagnosis,
    /// Whether the budget ran out.
    pub out_of_time: bool,
    /// Seconds spent.
    pub seconds: f64,
}

/// Draws what is missing of a set. Once `stop` is set or the budget is used up, draws under way are
/// given up and what is there is kept.
pub fn sample(
    directory: &Path,
    config: &SampleConfig,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Sampled> {
    let begun = Instant::now();
    watch.begin("reading the posterior", 0);
    check_posterior(directory)?;
    let _in_use = InUse::claim(directory)?;
    let saved = read_posterior(directory)?;
    let config = &config.for_model(&saved);
    let set = directory.join(SAMPLES_DIRECTORY).join(config.set_name());
    let data = data_of(&saved, config.data.as_ref())?;
    let (dim, origin) = (saved.laplace.gaussian.theta().len(), saved.origin());
    let sampler = sampler((saved, data), config)?;
    let run = RunInfo::new(sampler.config(), config.seed, dim, origin);
    check_set(&set)?;
    std::fs::create_dir_all(&set).map_err(io(&set, "make it"))?;
    let store = SampleStore::continue_set(&set.join(LOG_FILE), &set, &run)?;
    let before = store.len();
    let damage = damage(&store, &set.join(LOG_FILE));
    let store = Mutex::new(store);
    let (finished, out_of_time) = until(config.seconds, stop, |halt| {
        let keeper = Keeper::new(&store, (&set, config.samples), halt, watch);
        let finished = sampler.draw(&keeper)?;
        keeper.finish().map(|()| finished)
    });
    let finished = finished.map_err(|error| if out_of_time { error.out_of_time() } else { error })?;
    let mut store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    let new = store.len() - before;
    let draws = finished.fair(store.read_all()?);
    if draws.is_empty() {
        return Err(nothing(finished.failed(), out_of_time));
    }
    write_samples(&set, &run, &draws)?;
    watch.begin("checking the draws", 0);
    let mut diagnosis = finished.diagnose(&set, &draws)?;
    diagnosis.warnings.extend(damage);
    let (asked, seed) = (config.samples, config.seed);
    let seconds = begun.elapsed().as_secs_f64();
    let draws = (draws.len(), new.min(draws.len()));
    Ok(Sampled { directory: set, draws, asked, seed, diagnosis, out_of_time, seconds })
}

/// What was lost of a log, in words.
pub fn damage(store: &SampleStore, path: &Path) -> Option<String> {
    let bytes = store.damaged_bytes();
    (bytes > 0).then(|| {
        format!(
            "{} was damaged: {bytes} bytes of draws could not be read; the missing draws were drawn again, \
             with the same values; check the disk",
            path.display()
        )
    })
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
    Err(WorkflowError::NotA {
        path: directory.into(),
        expected: "posterior directory",
        remedy: "make one with `riemla fit model/ --data train.csv --out posterior/`",
    })
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

/// Why there is not a single draw.
fn nothing(failed: &[(u64, riemla::Error)], out_of_time: bool) -> WorkflowError {
    match failed.first() {
        Some((index, error)) => WorkflowError::unfit(format!("no draw succeeded; draw {index}: {error}")),
        None if out_of_time => WorkflowError::Interrupted.out_of_time(),
        None => WorkflowError::Interrupted,
    }
}
