//! The draws of one posterior: taken, kept after every single one, continued where they ended.

use std::fs;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use riemla::geometry::Counters;
use riemla::posterior::{Control, Draw, MetricChoice, Posterior, SearchStatus, Trial};
use riemla_files::samples::{SAMPLES_FILE, SavedSamples, read_samples, write_samples};
use riemla_files::{RunInfo, SampleStore};
use serde::{Deserialize, Serialize};

use super::layout::{CellPaths, make_parent, read_json, remove, write_json};
use super::{ExperimentError, Result};
use crate::watch::Watch;

/// The strength that a rule found, and what the search cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundStrength {
    /// The strength.
    pub strength: f64,
    /// How the search ended.
    pub status: SearchStatus,
    /// Virial ratio of the pilots there.
    pub virial_ratio: Option<f64>,
    /// What was tried: strength, and the ratio there unless it was not finite.
    pub trials: Vec<(f64, Option<f64>)>,
    /// What it cost.
    pub counters: Counters,
    /// Seconds it took.
    pub seconds: f64,
}

/// Draws and how they came about.
pub struct Drawn {
    /// The draws, by index.
    pub draws: Vec<Draw>,
    /// Draws that failed, with the reason.
    pub failed: Vec<(u64, String)>,
    /// Mean seconds per draw; none where they were not measured.
    pub seconds_per_sample: Option<f64>,
    /// The strength in force, for geodesics.
    pub strength: Option<f64>,
    /// How it was found, if by a rule.
    pub found: Option<FoundStrength>,
    /// Whether a stop was requested before all were drawn.
    pub stopped: bool,
}

/// What is asked for.
pub struct Wanted<'a> {
    /// Where it is kept.
    pub paths: &'a CellPaths,
    /// Seed of the draws.
    pub seed: u64,
    /// How many.
    pub samples: u64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// Told of every draw.
    pub watch: &'a dyn Watch,
}

/// Takes the draws that are missing and returns all.
pub fn draws(posterior: Posterior, wanted: &Wanted<'_>) -> Result<Drawn> {
    let (posterior, found, pilots) = settle_strength(posterior, wanted)?;
    let config = posterior.config();
    let has_strength = config.method.is_riemannian() && config.metric != MetricChoice::Fisher;
    let strength = config.strength.fixed().filter(|_| has_strength);
    let theta = posterior.laplace().theta.clone();
    let run = RunInfo::new(posterior.config().clone(), wanted.seed, &theta);
    let mut drawn = Drawn {
        draws: Vec::new(),
        failed: Vec::new(),
        seconds_per_sample: None,
        strength,
        found,
        stopped: false,
    };
    if let Some(finished) = finished(wanted.paths, &run)? {
        if finished.len() as u64 >= wanted.samples {
            drawn.draws = finished;
            drawn.draws.truncate(wanted.samples as usize);
            return Ok(drawn);
        }
        continue_from(wanted.paths, &run, &finished)?;
    }
    make_parent(&wanted.paths.log)?;
    let mut store = SampleStore::open(&wanted.paths.log, &run)?;
    pilots.iter().filter(|draw| draw.index < wanted.samples).try_for_each(|draw| store.append(draw))?;
    let missing = store.missing(wanted.samples);
    (drawn.failed, drawn.stopped) = take(&posterior, wanted, &mut store, &missing)?;
    drawn.draws = store.read_all()?;
    drawn.draws.retain(|draw| draw.index < wanted.samples);
    drawn.seconds_per_sample = mean_seconds(wanted.paths);
    if !drawn.stopped {
        finish(wanted.paths, &run, &drawn)?;
    }
    Ok(drawn)
}

/// Finds the strength if a rule asks for it (once: it is kept), and fixes it.
fn settle_strength(
    posterior: Posterior,
    wanted: &Wanted<'_>,
) -> Result<(Posterior, Option<FoundStrength>, Vec<Draw>)> {
    if !posterior.config().method.is_riemannian() || posterior.config().strength.fixed().is_some() {
        return Ok((posterior, None, Vec::new()));
    }
    let file = &wanted.paths.calibration;
    if let Some(found) = read_json::<FoundStrength>(file)? {
        let strength = found.strength;
        return Ok((posterior.with_strength(strength)?, Some(found), Vec::new()));
    }
    let begun = Instant::now();
    let control = Control { progress: None, stop: Some(wanted.stop) };
    let set = posterior.sample_indices(wanted.seed, &[], control);
    let calibration = match set.calibration {
        Some(calibration) if calibration.status != SearchStatus::Stopped => calibration,
        Some(_) => return Err(ExperimentError::Interrupted),
        // The search failed on a mistake in the settings: asking again returns it.
        None => posterior.calibration(wanted.seed)?.ok_or(ExperimentError::Interrupted)?,
    };
    let found = FoundStrength {
        strength: calibration.strength,
        status: calibration.status,
        virial_ratio: Some(calibration.virial_ratio).filter(|ratio| ratio.is_finite()),
        trials: calibration.trials.iter().map(tried).collect(),
        counters: calibration.counters,
        seconds: begun.elapsed().as_secs_f64(),
    };
    write_json(file, &found)?;
    let strength = found.strength;
    // The pilots are draws 0, 1, … at this strength: the same bits as if they were drawn below.
    Ok((posterior.with_strength(strength)?, Some(found), calibration.draws.clone()))
}

fn tried(trial: &Trial) -> (f64, Option<f64>) {
    (trial.strength, Some(trial.value).filter(|value| value.is_finite()))
}

/// Draws in parallel; each is on disk before the next begins on its thread.
fn take(
    posterior: &Posterior,
    wanted: &Wanted<'_>,
    store: &mut SampleStore,
    missing: &[u64],
) -> Result<(Vec<(u64, String)>, bool)> {
    (missing.len() as u64..wanted.samples).for_each(|_| wanted.watch.step());
    let kept = Mutex::new(store);
    let stopped = AtomicBool::new(false);
    let one = |&index: &u64| -> Result<Option<(u64, String)>> {
        if wanted.stop.load(Ordering::Relaxed) {
            stopped.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let begun = Instant::now();
        let draw = posterior.draw(wanted.seed, index);
        let seconds = begun.elapsed().as_secs_f64();
        let failed = match draw {
            Ok(draw) => {
                let mut store = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                store.append(&draw)?;
                note_seconds(wanted.paths, index, seconds)?;
                None
            }
            Err(error) => Some((index, error.to_string())),
        };
        wanted.watch.step();
        Ok(failed)
    };
    let results: Vec<Result<_>> = missing.par_iter().with_max_len(1).map(one).collect();
    let failed = results.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>>>()?;
    Ok((failed, stopped.into_inner()))
}

fn note_seconds(paths: &CellPaths, index: u64, seconds: f64) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    let file = options.create(true).append(true).open(&paths.seconds);
    let written = file.and_then(|mut file| file.write_all(format!("{index} {seconds}\n").as_bytes()));
    written.map_err(ExperimentError::io(&paths.seconds, "add a line to it"))
}

/// A measurement, not a result: a damaged line is left out.
fn mean_seconds(paths: &CellPaths) -> Option<f64> {
    let text = fs::read_to_string(&paths.seconds).ok()?;
    let seconds = |line: &str| line.split_once(' ').and_then(|(_, seconds)| seconds.parse::<f64>().ok());
    let all: Vec<f64> = text.lines().filter_map(seconds).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// The finished set, if there is one of this run.
fn finished(paths: &CellPaths, run: &RunInfo) -> Result<Option<Vec<Draw>>> {
    if !paths.samples.join(SAMPLES_FILE).is_file() {
        return Ok(None);
    }
    let SavedSamples { run: found, draws } = read_samples(&paths.samples)?;
    if found != *run {
        let what = "settings of the draws, or the weights they start from".into();
        return Err(ExperimentError::Changed { file: paths.samples.clone(), what });
    }
    Ok(Some(draws))
}

/// Begins a log with the draws of a finished set, to add more.
fn continue_from(paths: &CellPaths, run: &RunInfo, draws: &[Draw]) -> Result<()> {
    make_parent(&paths.log)?;
    let mut store = SampleStore::open(&paths.log, run)?;
    Ok(draws.iter().try_for_each(|draw| store.append(draw))?)
}

/// Puts the set in place of the log: in the order of indices, whatever the threads did.
fn finish(paths: &CellPaths, run: &RunInfo, drawn: &Drawn) -> Result<()> {
    fs::create_dir_all(&paths.samples).map_err(ExperimentError::io(&paths.samples, "make this directory"))?;
    write_samples(&paths.samples, run, &drawn.draws)?;
    remove(&paths.log)
}
