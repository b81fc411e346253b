//! Which draws a prediction is made of: a set on the disk, or one that is made on the spot.

use std::path::Path;
use std::sync::Arc;

use riemla::nn::Network;
use riemla::posterior::{Method, NetworkOutputs, PosteriorConfig};
use riemla::predict;
use riemla::random::{Purpose, stream};
use riemla_files::identity::differences;
use riemla_files::ours::SHARE_FILE;
use riemla_files::samples::{SAMPLES_FILE, read_samples};
use riemla_files::{Origin, RunConfig, RunInfo, SavedPosterior};

use super::error::{Result, WorkflowError, io};
use super::folds::TrainedShare;
use super::predictor::{Predictor, Way, scales};
use super::sample::SAMPLES_DIRECTORY;
use crate::method::MethodName;

/// Draws made on the spot for methods that cost next to nothing.
pub const QUICK_DRAWS: u64 = 100;
/// Their seed.
pub const QUICK_SEED: u64 = 1;
/// The ending of the name of a method at a temperature fitted to held-out rows.
pub const AT_TEMPERATURE: &str = "-temperature";
/// The ending of the name of draws with the trained weights beside them.
pub const MIXED: &str = "-mixed";

/// Whether there are finished draws of this name.
pub(super) fn is_set(directory: &Path, name: &str) -> bool {
    directory.join(SAMPLES_DIRECTORY).join(name).join(SAMPLES_FILE).is_file()
}

/// Names of the finished sets of draws of a posterior, sorted.
pub fn set_names(directory: &Path) -> Result<Vec<String>> {
    let sets = directory.join(SAMPLES_DIRECTORY);
    if !sets.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&sets).map_err(io(&sets, "list it"))? {
        let entry = entry.map_err(io(&sets, "list it"))?;
        if entry.path().join(SAMPLES_FILE).is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The set to use: the one named, or the only one there is.
pub fn choose(directory: &Path, named: Option<&str>) -> Result<String> {
    let names = set_names(directory)?;
    match (named, names.as_slice()) {
        (Some(name), _) => Ok(name.to_string()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(WorkflowError::unfit(format!(
            "{} has no draws yet: create them with `riemla sample {0}`, or predict with --method lin-la, \
             la or map",
            directory.display()
        ))),
        (None, several) => Err(WorkflowError::unfit(format!(
            "{} has several sets of draws: choose one with --method ({})",
            directory.display(),
            several.join(", ")
        ))),
    }
}

/// The predictor of a set by name. If no set has that name, `map`, `la` and `lin-la` are drawn on the spot;
/// `lin-la-probit` needs no draws.
pub fn predictor(saved: &SavedPosterior, directory: &Path, name: &str) -> Result<Predictor> {
    if name.parse() == Ok(MethodName::LinLaProbit) {
        return closed_form(saved);
    }
    let DrawnSet { config, thetas, .. } = drawn(saved, directory, name)?;
    assembled(saved, &config, thetas)
}

/// Linearised predictions in closed form.
pub(super) fn closed_form(saved: &SavedPosterior) -> Result<Predictor> {
    let config = PosteriorConfig::new(Method::LinLa).into();
    let center = vec![saved.laplace.gaussian.theta().to_vec()];
    Ok(Predictor { way: Way::ClosedForm, ..assembled(saved, &config, center)? })
}

/// A set of draws and where they come from.
pub struct DrawnSet {
    /// The method that drew them, with its settings.
    pub config: RunConfig,
    /// Their seed.
    pub seed: u64,
    /// The draws.
    pub thetas: Vec<Vec<f64>>,
    /// What they have in common, if they are on the disk.
    pub run: Option<RunInfo>,
}

/// The trained weights with their share beside the draws of a set, where `riemla sample` found one.
pub(super) fn trained_beside(
    saved: &SavedPosterior,
    directory: &Path,
    name: &str,
) -> Result<Option<(TrainedShare, Predictor)>> {
    let set = directory.join(SAMPLES_DIRECTORY).join(name);
    if !set.join(SHARE_FILE).is_file() || !is_set(directory, name) {
        return Ok(None);
    }
    let samples = read_samples(&set)?;
    let share = TrainedShare::read(&set, &samples.run, samples.draws.len())?;
    share.map(|share| Ok((share, trained(saved)?))).transpose()
}

/// The trained weights, refitted if the posterior's are.
pub(super) fn trained(saved: &SavedPosterior) -> Result<Predictor> {
    let theta = saved.laplace.gaussian.theta().to_vec();
    assembled(saved, &PosteriorConfig::new(Method::Map).into(), vec![theta])
}

/// The draws of a set, found as by [`predictor`].
pub fn drawn(saved: &SavedPosterior, directory: &Path, name: &str) -> Result<DrawnSet> {
    let set = directory.join(SAMPLES_DIRECTORY).join(name);
    if is_set(directory, name) {
        let samples = read_samples(&set)?;
        check_belongs(saved, &set, &samples.run.depends_on)?;
        let thetas = samples.draws.into_iter().map(|draw| draw.theta).collect();
        let (config, seed) = (samples.run.config.clone(), samples.run.seed);
        return Ok(DrawnSet { config, seed, thetas, run: Some(samples.run) });
    }
    let known = [Method::Map, Method::La, Method::LinLa];
    match known.into_iter().find(|method| method.name() == name) {
        Some(method) => {
            let config = PosteriorConfig::new(method).into();
            Ok(DrawnSet { config, seed: QUICK_SEED, thetas: quick(saved, method)?, run: None })
        }
        None => Err(WorkflowError::unfit(format!(
            "{} has no draws named {name}; existing sets: {}; create them with `riemla sample {0} --method \
             {name}`",
            directory.display(),
            listed(&set_names(directory)?)
        ))),
    }
}

/// An error unless draws were made from this posterior, by whatever version.
fn check_belongs(saved: &SavedPosterior, set: &Path, found: &Origin) -> Result<()> {
    let now = Origin { riemla_version: found.riemla_version.clone(), ..saved.origin() };
    let differences = differences(found, &now);
    if differences.is_empty() {
        return Ok(());
    }
    Err(WorkflowError::unfit(format!(
        "the draws in {} belong to another posterior: {}; remove them and draw again with `riemla sample`",
        set.display(),
        differences.join("; ")
    )))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Draws without geodesics.
fn quick(saved: &SavedPosterior, method: Method) -> Result<Vec<Vec<f64>>> {
    if method == Method::Map {
        return Ok(vec![saved.laplace.gaussian.theta().to_vec()]);
    }
    let draw = |index| saved.laplace.gaussian.draw(&mut stream(QUICK_SEED, Purpose::Draw, index));
    Ok((0..QUICK_DRAWS).map(draw).collect())
}

/// The predictor of draws.
pub(crate) fn assembled(
    saved: &SavedPosterior,
    config: &RunConfig,
    thetas: Vec<Vec<f64>>,
) -> Result<Predictor> {
    let network = Arc::new(Network::new(&saved.model.network)?);
    let outputs = Arc::new(NetworkOutputs::new(network, saved.laplace.likelihood)?);
    let model = match config.posterior_method() {
        Some(method) => predict::Predictor::new(outputs, method, saved.laplace.gaussian.clone()),
        None => predict::Predictor::exact(outputs),
    };
    Ok(Predictor { model, thetas, way: Way::Draws, scales: scales(&saved.model) })
}
