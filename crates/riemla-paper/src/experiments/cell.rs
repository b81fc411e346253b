//! The draws of one posterior: taken, kept after every single one, continued where they ended.

use std::fs;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use riemla::Control;
use riemla::posterior::{Draw, Posterior};
use riemla_files::identity::differences;
use riemla_files::samples::{SAMPLES_FILE, SavedSamples, read_samples, write_samples};
use riemla_files::{Origin, RunConfig, RunInfo, SampleStore};

use super::layout::{CellPaths, make_parent, remove};
use super::truth::ChainSummary;
use super::{ExperimentError, Result};
use riemla_workflow::strength::{FoundStrength, SettleControl, Settled, settle};
use riemla_workflow::watch::Watch;
use riemla_workflow::workflow::sample::damage;

/// Draws and how they came about.
#[derive(Debug, Clone, Default)]
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
    /// Gradients of all draws together, where they follow no geodesics.
    pub other_gradients: usize,
    /// How Markov chains ended.
    pub chains: Option<ChainSummary>,
    /// Why the method has no draws here, though nothing failed.
    pub unfit: Option<String>,
}

impl Drawn {
    /// Draws without geodesics that took so many gradients together.
    pub fn of_gradients(thetas: Vec<Vec<f64>>, other_gradients: usize) -> Self {
        let draw = |(index, theta)| Draw { index, theta, geodesic: None };
        Self { draws: (0..).zip(thetas).map(draw).collect(), other_gradients, ..Self::default() }
    }

    /// Gradients of all draws.
    pub fn gradients(&self) -> usize {
        let geodesics = self.draws.iter().filter_map(|draw| draw.geodesic);
        self.other_gradients + geodesics.map(|geodesic| geodesic.counters.gradients).sum::<usize>()
    }
}

/// What is asked for.
pub struct Wanted<'a> {
    /// Where it is kept.
    pub paths: &'a CellPaths,
    /// Seed of the draws.
    pub seed: u64,
    /// How many.
    pub samples: u64,
    /// What they depend on besides method, settings and seed.
    pub origin: &'a Origin,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// Told of every draw.
    pub watch: &'a dyn Watch,
}

/// Takes the draws that are missing and returns all.
pub fn draws(posterior: Posterior, wanted: &Wanted<'_>) -> Result<Drawn> {
    make_parent(&wanted.paths.calibration)?;
    let run_of = |posterior: &Posterior| {
        let dim = posterior.gaussian().theta().len();
        RunInfo::new(posterior.config().clone(), wanted.seed, dim, wanted.origin.clone())
    };
    let search = run_of(&posterior);
    let control = SettleControl { stop: wanted.stop, watch: wanted.watch, draws: wanted.samples };
    let Settled { posterior, found } = match settle(posterior, &search, &wanted.paths.calibration, control) {
        Err(ExperimentError::Library(riemla::Error::Stopped { .. })) => {
            return Err(ExperimentError::Interrupted);
        }
        settled => settled?,
    };
    let strength = posterior.config().fixed_strength();
    let run = run_of(&posterior);
    let mut drawn = Drawn { strength, found, ..Drawn::default() };
    let finished = finished(wanted.paths, &run)?;
    if let Some(finished) = finished.filter(|draws| draws.len() as u64 >= wanted.samples) {
        drawn.draws = finished;
        drawn.draws.truncate(wanted.samples as usize);
        return Ok(drawn);
    }
    make_parent(&wanted.paths.log)?;
    let mut store = SampleStore::continue_set(&wanted.paths.log, &wanted.paths.samples, &run)?;
    damage(&store, &wanted.paths.log).iter().for_each(|damage| wanted.watch.note(damage));
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
        let draw = posterior.draw(wanted.seed, index, Control::default().stopping(wanted.stop));
        let seconds = begun.elapsed().as_secs_f64();
        let failed = match draw {
            Ok(draw) => {
                let mut store = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                store.append(&draw)?;
                note_seconds(wanted.paths, index, seconds)?;
                None
            }
            Err(riemla::Error::Stopped { .. }) => {
                stopped.store(true, Ordering::Relaxed);
                return Ok(None);
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
    let differences = differences(&found, run);
    if !differences.is_empty() {
        let what = differences.join("; ");
        return Err(ExperimentError::Changed { file: paths.samples.clone(), what });
    }
    Ok(Some(draws))
}

/// Keeps draws that were made all at once, in place of those that were there.
pub fn keep(wanted: &Wanted<'_>, config: RunConfig, dim: usize, drawn: Drawn) -> Result<Drawn> {
    finish(wanted.paths, &RunInfo::new(config, wanted.seed, dim, wanted.origin.clone()), &drawn)?;
    Ok(drawn)
}

/// Puts the set in place of the log: in the order of indices, whatever the threads did.
fn finish(paths: &CellPaths, run: &RunInfo, drawn: &Drawn) -> Result<()> {
    fs::create_dir_all(&paths.samples).map_err(ExperimentError::io(&paths.samples, "make this directory"))?;
    write_samples(&paths.samples, run, &drawn.draws)?;
    remove(&paths.log)
}
