//! Taking the draws that a set misses, one at a time on the disk or in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use riemla::posterior::Draw;
use riemla_files::ours::{LOG_FILE, check_set};
use riemla_files::samples::{drawn_elsewhere, shard_logs, write_samples};
use riemla_files::{Origin, RunConfig, RunInfo, SampleStore, Shard};

use super::budget::until;
use super::diagnostics::{Diagnosis, mixed_processors};
use super::error::{Result, WorkflowError, io};
use super::sample_config::SampleConfig;
use super::samplers::{Finished, Keeper, Log, Made, Sampler};
use super::set_summary::SetSummary;
use crate::watch::Session;

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
    /// What one should know about the log: losses, no locks.
    pub remarks: Vec<String>,
    /// Whether the budget ran out.
    pub out_of_time: bool,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// What the draws have in common, if they are on the disk.
    run: Option<RunInfo>,
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
    session: Session<'_>,
) -> Result<Taken> {
    let begun = Instant::now();
    let settings = sampler.config();
    let set = place.as_ref().map(|(set, _)| *set);
    let kept = collect(sampler, place, config, session)?;
    let all_elsewhere =
        config.shard.is_some() && kept.failed.is_empty() && !kept.out_of_time && !kept.stopped;
    if kept.draws.is_empty() && !all_elsewhere {
        return Err(nothing(&kept.failed, kept.out_of_time));
    }
    // A part of the draws has no files but its log.
    let place = set.zip(kept.run.as_ref()).filter(|_| config.shard.is_none());
    session.watch.begin("checking the draws", 0);
    let mut diagnosis = match kept.draws.is_empty() {
        true => Diagnosis::default(),
        false => kept.finished.diagnose(place, &kept.draws)?,
    };
    if let (Some((set, _)), Some(table)) = (place, &diagnosis.table) {
        table.write(set, kept.draws.len())?;
    }
    diagnosis.warnings.extend(kept.remarks);
    diagnosis.warnings.extend(mixed_processors(&kept.draws));
    if let Some((set, run)) = place {
        SetSummary::new(&kept.draws, &diagnosis).write(set, run)?;
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
    session: Session<'_>,
) -> Result<Kept> {
    let run = |origin| RunInfo::new(sampler.config(), config.seed, sampler.dim(), origin);
    let place = place.map(|(set, origin)| (set, run(origin)));
    let set = place.as_ref().map(|(set, _)| *set);
    let Opened { log, remarks, merged } = match &place {
        Some((set, run)) => open(set, run, config.shard)?,
        None => Opened { log: Log::Memory(BTreeMap::new()), remarks: Vec::new(), merged: Vec::new() },
    };
    let before = log.len();
    let log = Mutex::new(log);
    let (finished, out_of_time) = until(config.seconds, session.stop, |halt| {
        let keeper = Keeper::new(&log, config, set, Session::new(halt, session.watch));
        let finished = sampler.draw(&keeper)?;
        keeper.finish().map(|()| finished)
    });
    let finished = finished.map_err(|error| if out_of_time { error.out_of_time() } else { error })?;
    let mut log = log.into_inner().unwrap_or_else(PoisonError::into_inner);
    let new = log.len().saturating_sub(before);
    let draws = finished.fair(log.draws()?);
    if let Some((set, run)) = place.as_ref().filter(|_| !draws.is_empty() && config.shard.is_none()) {
        write_samples(set, run, &draws)?;
        // Their draws are in the set now.
        merged.iter().for_each(|log| drop(std::fs::remove_file(log)));
    }
    Ok(Kept {
        new: new.min(draws.len()),
        draws,
        failed: finished.failed().iter().map(|(index, error)| (*index, error.to_string())).collect(),
        made: finished.made(),
        remarks,
        out_of_time,
        stopped: session.stopped(),
        run: place.map(|(_, run)| run),
        finished,
    })
}

/// The log of a set, and what was found when it was opened.
struct Opened {
    log: Log,
    /// What one should know about it.
    remarks: Vec<String>,
    /// Logs of shards whose draws it has now.
    merged: Vec<PathBuf>,
}

/// The log of a set on the disk, with the draws of all shards; or that of one shard, and what the others have.
fn open(set: &Path, run: &RunInfo, shard: Option<Shard>) -> Result<Opened> {
    check_set(set)?;
    std::fs::create_dir_all(set).map_err(io(set, "make it"))?;
    if let Some(shard) = shard {
        let file = shard.log_file(set);
        // Before a log is begun: one of another run would be in everybody's way.
        let elsewhere = drawn_elsewhere(set, &file, run)?;
        let store = SampleStore::open(&file, run)?;
        let remarks = remarks(&store, &file);
        let log = Log::Shard { store: Box::new(store), shard, elsewhere };
        return Ok(Opened { log, remarks, merged: Vec::new() });
    }
    let file = set.join(LOG_FILE);
    let mut store = SampleStore::continue_set(&file, set, run)?;
    let mut found = remarks(&store, &file);
    let mut merged = Vec::new();
    for (_, file) in shard_logs(set)? {
        let mut part = SampleStore::open(&file, run)?;
        found.extend(remarks(&part, &file));
        part.read_all()?.iter().try_for_each(|draw| store.append(draw))?;
        merged.push(file);
    }
    Ok(Opened { log: Log::Disk(Box::new(store)), remarks: found, merged })
}

/// Why there is not a single draw.
fn nothing(failed: &[(u64, String)], out_of_time: bool) -> WorkflowError {
    match failed.first() {
        Some((index, error)) => WorkflowError::unfit(format!("no draw succeeded; draw {index}: {error}")),
        None if out_of_time => WorkflowError::Interrupted.out_of_time(),
        None => WorkflowError::Interrupted,
    }
}

/// What one should know about a log: what was lost of it, and that others may write to it.
fn remarks(store: &SampleStore, path: &Path) -> Vec<String> {
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
