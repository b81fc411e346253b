//! The strength of a metric, searched for once and kept in a file: a resumed run does not search again, and
//! a search that was killed goes on after its last trial.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use riemla::Control;
use riemla::geometry::Counters;
use riemla::posterior::{Posterior, SearchStatus, Trial};
use riemla_files::RunInfo;
use riemla_files::identity::expect;
use riemla_files::json::{FORMAT_VERSION, read_json, write_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The strength that a rule found, and what the search cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundStrength {
    /// The strength.
    pub strength: f64,
    /// How the search ended.
    pub status: SearchStatus,
    /// What was tried: strength, and the ratio there unless it was not finite.
    pub trials: Vec<(f64, Option<f64>)>,
    /// What it cost.
    pub counters: Counters,
    /// Seconds it took, all parts together.
    pub seconds: f64,
}

/// A posterior whose strength is a number.
pub struct Settled {
    /// The posterior.
    pub posterior: Posterior,
    /// How its strength was found, if by a rule.
    pub found: Option<FoundStrength>,
}

/// A file with the run that it belongs to.
#[derive(Serialize, Deserialize)]
struct OfRun<T> {
    format_version: u64,
    run: RunInfo,
    #[serde(flatten)]
    value: T,
}

/// What is kept of a search while it goes on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Unfinished {
    seconds: f64,
    trials: Vec<KeptTrial>,
}

/// A trial; JSON has no infinite numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptTrial {
    strength: f64,
    value: Option<f64>,
    error: Option<f64>,
    finished: usize,
    counters: Counters,
}

impl From<&Trial> for KeptTrial {
    fn from(trial: &Trial) -> Self {
        let Trial { strength, value, error, finished, counters } = *trial;
        let [value, error] = [value, error].map(|number| Some(number).filter(|number| number.is_finite()));
        Self { strength, value, error, finished, counters }
    }
}

impl From<&KeptTrial> for Trial {
    fn from(kept: &KeptTrial) -> Self {
        let &KeptTrial { strength, value, error, finished, counters } = kept;
        let value = value.unwrap_or(f64::INFINITY);
        Self { strength, value, error: error.unwrap_or(f64::NAN), finished, counters }
    }
}

/// Applies the rule of a posterior in a run, or reads from `file` what it found before in the same run.
/// `Error::Stopped` if `stop` was set before the search ended.
pub fn settle<E: From<riemla::Error> + From<riemla_files::Error>>(
    posterior: Posterior,
    run: &RunInfo,
    file: &Path,
    stop: &AtomicBool,
) -> Result<Settled, E> {
    if !posterior.config().method.is_riemannian() || posterior.config().strength.fixed().is_some() {
        return Ok(Settled { posterior, found: None });
    }
    if let Some(found) = read::<FoundStrength>(file, run)? {
        forget(&kept_file(file));
        let posterior = posterior.with_strength(found.strength)?;
        return Ok(Settled { posterior, found: Some(found) });
    }
    let Some(found) = search::<E>(&posterior, run, &kept_file(file), stop)? else {
        return Ok(Settled { posterior, found: None });
    };
    write(file, run, &found)?;
    forget(&kept_file(file));
    let posterior = posterior.with_strength(found.strength)?;
    Ok(Settled { posterior, found: Some(found) })
}

/// Removes the trials of a search that is finished. If that fails they are in nobody's way.
fn forget(kept: &Path) {
    let _ = std::fs::remove_file(kept);
}

/// Where the trials of an unfinished search are.
fn kept_file(file: &Path) -> PathBuf {
    file.with_extension("trials.json")
}

/// The search, from the trials in `file` on.
fn search<E: From<riemla::Error> + From<riemla_files::Error>>(
    posterior: &Posterior,
    run: &RunInfo,
    file: &Path,
    stop: &AtomicBool,
) -> Result<Option<FoundStrength>, E> {
    let before = read::<Unfinished>(file, run)?.unwrap_or_default();
    let known: Vec<Trial> = before.trials.iter().map(Trial::from).collect();
    let (begun, spent) = (Instant::now(), before.seconds);
    let seconds = || spent + begun.elapsed().as_secs_f64();
    let state = Mutex::new((before, None));
    let progress = |trial: &Trial| {
        let (unfinished, failure) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.seconds = seconds();
        unfinished.trials.push(trial.into());
        *failure = write(file, run, unfinished).err();
    };
    let control = Control::default().stopping(stop).observing(&progress);
    let calibration = posterior.calibration(run.seed, &known, control)?;
    if let (_, Some(failure)) = state.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure.into());
    }
    let Some(calibration) = calibration else { return Ok(None) };
    if calibration.status == SearchStatus::Stopped {
        return Err(riemla::Error::Stopped { what: "the strength was found".into() }.into());
    }
    Ok(Some(FoundStrength {
        strength: calibration.strength,
        status: calibration.status,
        trials: calibration.trials.iter().map(tried).collect(),
        counters: calibration.counters,
        seconds: seconds(),
    }))
}

fn tried(trial: &Trial) -> (f64, Option<f64>) {
    (trial.strength, Some(trial.value).filter(|value| value.is_finite()))
}

const REMEDY: &str =
    "remove it and run the same command again: the strength is searched for again, to the same value";

fn write<T: Serialize>(path: &Path, run: &RunInfo, value: &T) -> riemla_files::Result<()> {
    write_json(path, &OfRun { format_version: FORMAT_VERSION, run: run.clone(), value })
}

/// What [`write`] wrote; none if there is no such file, an error if it is of another run.
fn read<T: DeserializeOwned>(path: &Path, run: &RunInfo) -> riemla_files::Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let found: OfRun<T> = read_json(path, REMEDY)?;
    expect(&path.display().to_string(), &found.run, run)?;
    Ok(Some(found.value))
}
