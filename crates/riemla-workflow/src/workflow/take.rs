//! Taking the draws that a set misses, one at a time on the disk or in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use riemla::posterior::Draw;
use riemla_files::ours::{LOG_FILE, check_set};
use riemla_files::samples::write_samples;
use riemla_files::{Origin, RunConfig, RunInfo, SampleStore};

use super::budget::until;
use super::diagnostics::Diagnosis;
use super::error::{Result, WorkflowError};
use super::sample::{SampleConfig, damage, io};
use super::samplers::{Finished, Keeper, Log, Made, Sampler};
use super::set_summary::SetSummary;
use crate::watch::Watch;

/// A set of draws, as they are.
pub struct Kept {
    /// The draws, by index.
    pub draws: Vec<Draw>,
    /// How many of them are new.
    pub new: usize,
    /// Draws that failed, with the reason.
    pub failed: Vec<(u64, String)>,
    /// How the draws were made.
    pub made: Made,
    /// What was lost of the log, in words.
    pub damage: Option<String>,
    /// Whether the budget ran out.
    pub out_of_time: bool,
    /// Whether the user stopped it.
    pub stopped: bool,
    finished: Box<dyn Finished>,
}

/// A set of draws, and how they look.
#[derive(Debug, Clone)]
pub struct Taken {
    /// The method with its settings.
    pub config: RunConfig,
    /// The seed of all.
    pub seed: u64,
    /// The draws, by index.
    pub draws: Vec<Draw>,
    /// How many of them are new.
    pub new: usize,
    /// Draws asked for.
    pub asked: u64,
    /// How the draws look.
    pub diagnosis: Diagnosis,
    /// Whether the budget ran out.
    pub out_of_time: bool,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// Seconds spent.
    pub seconds: f64,
}

/// Takes what a set misses, and looks at all of it.
pub(super) fn take(
    sampler: Box<dyn Sampler>,
    place: Option<(&Path, Origin)>,
    config: &SampleConfig,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Taken> {
    let begun = Instant::now();
    let settings = sampler.config();
    let set = place.as_ref().map(|(set, _)| *set);
    let kept = collect(sampler, place, config, stop, watch)?;
    if kept.draws.is_empty() {
        return Err(nothing(&kept.failed, kept.out_of_time));
    }
    watch.begin("checking the draws", 0);
    let mut diagnosis = kept.finished.diagnose(set, &kept.draws)?;
    if let (Some(set), Some(table)) = (set, &diagnosis.table) {
        table.write(set)?;
    }
    diagnosis.warnings.extend(kept.damage);
    if let Some(set) = set {
        SetSummary::new(kept.draws.len(), &diagnosis).write(set)?;
    }
    Ok(Taken {
        config: settings,
        seed: config.seed,
        new: kept.new,
        draws: kept.draws,
        asked: config.samples,
        diagnosis,
        out_of_time: kept.out_of_time,
        stopped: kept.stopped,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// Takes what a set misses: one in memory, or the one in a directory, whose draws depend on the origin.
pub(super) fn collect(
    sampler: Box<dyn Sampler>,
    place: Option<(&Path, Origin)>,
    config: &SampleConfig,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Kept> {
    let run = |origin| RunInfo::new(sampler.config(), config.seed, sampler.dim(), origin);
    let place = place.map(|(set, origin)| (set, run(origin)));
    let set = place.as_ref().map(|(set, _)| *set);
    let (log, damage) = match &place {
        Some((set, run)) => open(set, run)?,
        None => (Log::Memory(BTreeMap::new()), None),
    };
    let before = log.len();
    let log = Mutex::new(log);
    let (finished, out_of_time) = until(config.seconds, stop, |halt| {
        let keeper = Keeper::new(&log, (set, config.samples), halt, watch);
        let finished = sampler.draw(&keeper)?;
        keeper.finish().map(|()| finished)
    });
    let finished = finished.map_err(|error| if out_of_time { error.out_of_time() } else { error })?;
    let log = log.into_inner().unwrap_or_else(PoisonError::into_inner);
    let new = log.len() - before;
    let draws = finished.fair(log.into_draws()?);
    if let Some((set, run)) = place.as_ref().filter(|_| !draws.is_empty()) {
        write_samples(set, run, &draws)?;
    }
    Ok(Kept {
        new: new.min(draws.len()),
        draws,
        failed: finished.failed().iter().map(|(index, error)| (*index, error.to_string())).collect(),
        made: finished.made(),
        damage,
        out_of_time,
        stopped: stop.load(Ordering::Relaxed),
        finished,
    })
}

/// The log of a set on the disk, and what was lost of it.
fn open(set: &Path, run: &RunInfo) -> Result<(Log, Option<String>)> {
    check_set(set)?;
    std::fs::create_dir_all(set).map_err(io(set, "make it"))?;
    let file = set.join(LOG_FILE);
    let store = SampleStore::continue_set(&file, set, run)?;
    let damage = damage(&store, &file);
    Ok((Log::Disk(Box::new(store)), damage))
}

/// Why there is not a single draw.
fn nothing(failed: &[(u64, String)], out_of_time: bool) -> WorkflowError {
    match failed.first() {
        Some((index, error)) => WorkflowError::unfit(format!("no draw succeeded; draw {index}: {error}")),
        None if out_of_time => WorkflowError::Interrupted.out_of_time(),
        None => WorkflowError::Interrupted,
    }
}
