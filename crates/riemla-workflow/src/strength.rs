//! The strength of a metric, searched for once and kept in a file: a resumed run does not search again, and
//! an interrupted search continues after its last trial.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use riemla::geometry::Counters;
use riemla::posterior::{BatchLength, PolishLength, Posterior, SearchStatus, Trial};
use serde::{Deserialize, Serialize};

use crate::of_run::{self, Place};
use crate::watch::Session;
use crate::workflow::Result;

/// The strength that a rule found, and what the search cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundStrength {
    /// The strength.
    pub strength: f64,
    /// How the logarithms of the rule's ratios change there with that of the strength; none where they are not known.
    #[serde(default)]
    pub slopes: Option<[f64; 2]>,
    /// How the search ended.
    pub status: SearchStatus,
    /// How far draws go towards the ends of their geodesics: below 1 where draws on batches are shortened.
    #[serde(default = "full_length")]
    pub length: f64,
    /// What the first finished draws said of it; none before they were asked.
    #[serde(default)]
    pub last_word: Option<LastWord>,
    /// What was tried: strength, and the ratio there unless it was not finite.
    pub trials: Vec<(f64, Option<f64>)>,
    /// What it cost.
    pub counters: Counters,
    /// How many of its gradients were on all rows.
    #[serde(default)]
    pub on_all_rows: usize,
    /// Seconds it took, all parts together.
    pub seconds: f64,
}

/// Of draws that were made before there was another.
fn full_length() -> f64 {
    1.0
}

impl FoundStrength {
    /// The posterior with the strength and the length that were found.
    fn applied_to(&self, posterior: Posterior) -> riemla::Result<Posterior> {
        let posterior = posterior.with_strength(self.strength)?;
        let found = posterior.config().batch.is_some_and(|plan| plan.length == BatchLength::Auto);
        if found { posterior.with_length(BatchLength::Factor(self.length)) } else { Ok(posterior) }
    }
}

/// What finished draws said of the strength that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastWord {
    /// How many draws.
    pub draws: usize,
    /// What the rule wants to be 1, and its standard error; none where the draws could not be asked.
    pub ratio: Option<(f64, f64)>,
    /// The strength that the search had found, if the draws contradicted it.
    pub instead_of: Option<f64>,
}

/// A posterior whose strength is a number.
pub(crate) struct Settled {
    /// The posterior.
    pub posterior: Posterior,
    /// How its strength was found, if by a rule.
    pub found: Option<FoundStrength>,
}

/// The finished trials of a search, during the search.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Unfinished {
    seconds: f64,
    trials: Vec<Trial>,
}

/// Applies the rule of a posterior, with a place to keep what it finds: what it found before in the same run is
/// read from there. `Error::Stopped` if the session was stopped before the search ended; `draws` are to be made afterwards.
pub(crate) fn settle(
    posterior: Posterior,
    seed: u64,
    place: Option<&Place>,
    session: Session<'_>,
    draws: u64,
) -> Result<Settled> {
    if !posterior.needs_calibration()? {
        return Ok(Settled { posterior, found: None });
    }
    let trials = place.map(|(file, run)| (kept_file(file), run.clone()));
    let find = || search(&posterior, seed, trials.as_ref(), session, draws);
    let Some(found) = of_run::once(place, REMEDY, find)? else {
        return Ok(Settled { posterior, found: None });
    };
    if let Some((file, _)) = &trials {
        // If that fails they are in nobody's way.
        let _ = std::fs::remove_file(file);
    }
    let posterior = found.applied_to(posterior)?;
    Ok(Settled { posterior, found: Some(found) })
}

/// Where the trials of an unfinished search are.
fn kept_file(file: &Path) -> PathBuf {
    file.with_extension("trials.json")
}

/// The search, from the trials that are kept on.
fn search(
    posterior: &Posterior,
    seed: u64,
    place: Option<&Place>,
    session: Session<'_>,
    draws: u64,
) -> Result<Option<FoundStrength>> {
    let before = match place {
        Some((file, run)) => of_run::read::<Unfinished>(file, run, REMEDY)?.unwrap_or_default(),
        None => Unfinished::default(),
    };
    let known = before.trials.clone();
    let (begun, spent) = (Instant::now(), before.seconds);
    let seconds = || spent + begun.elapsed().as_secs_f64();
    let ahead = Ahead::of(posterior)?;
    let state = Mutex::new((before, None));
    let progress = |trial: &Trial| {
        let (unfinished, failure) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
        if unfinished.trials.len() == known.len() {
            session.watch.estimate(&Pilot::of(trial, begun.elapsed().as_secs_f64()).estimate(&ahead, draws));
        }
        unfinished.seconds = seconds();
        unfinished.trials.push(trial.clone());
        *failure = place.and_then(|(file, run)| of_run::write(file, run, unfinished).err());
    };
    session.watch.estimate(&first_estimate(posterior, &ahead));
    let calibration = posterior.calibration(seed, &known, session.control().observing(&progress))?;
    if let (_, Some(failure)) = state.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure.into());
    }
    let Some(calibration) = calibration else { return Ok(None) };
    if calibration.status == SearchStatus::Stopped {
        return Err(riemla::Error::Stopped { what: "the strength was found".into() }.into());
    }
    let tried = |trial: &Trial| (trial.strength, Some(trial.value).filter(|value| value.is_finite()));
    Ok(Some(FoundStrength {
        strength: calibration.strength,
        slopes: calibration.slopes,
        status: calibration.status,
        length: calibration.length,
        last_word: None,
        trials: calibration.trials.iter().map(tried).collect(),
        counters: calibration.counters,
        on_all_rows: calibration.on_all_rows,
        seconds: seconds(),
    }))
}

/// Gradients of a pilot, usually. A guess for the first line of progress; the first trial corrects it.
const USUAL_GRADIENTS: f64 = 70.0;
/// Gradients of the chains that polish draws, where their length is found later.
const USUAL_POLISH: usize = 100;

/// What the work after the first pilot is, in pilots.
struct Ahead {
    /// Pilots of the search.
    pilots: f64,
    /// The rows of a draw, as a part of those of a pilot, which can be on all rows where draws are on batches.
    rows: f64,
    /// Gradients of the chain after a draw.
    polish: usize,
}

impl Ahead {
    fn of(posterior: &Posterior) -> Result<Self> {
        let rows = match (posterior.batch_rows()?, posterior.model().rows()) {
            (Some(batch), Some(all)) if posterior.searches_on_all_rows()? => batch as f64 / all as f64,
            _ => 1.0,
        };
        let polish = match posterior.config().polish.map(|polish| polish.length) {
            None => 0,
            Some(PolishLength::Gradients(gradients)) => gradients,
            Some(PolishLength::Auto) => USUAL_POLISH,
        };
        Ok(Self { pilots: posterior.usual_pilots() as f64, rows, polish })
    }
}

/// How long a search will take, in words, by one gradient.
fn first_estimate(posterior: &Posterior, ahead: &Ahead) -> String {
    let mut gradient = vec![0.0; posterior.gaussian().theta().len()];
    let begun = Instant::now();
    posterior.model().value_and_gradient(posterior.gaussian().theta(), &mut gradient);
    let search = in_words(begun.elapsed().as_secs_f64() * USUAL_GRADIENTS * ahead.pilots);
    format!("the search of the strength usually takes {} geodesics: about {search}", ahead.pilots)
}

/// What a pilot of the first trial took.
struct Pilot {
    seconds: f64,
    gradients: f64,
}

impl Pilot {
    fn of(trial: &Trial, seconds: f64) -> Self {
        let pilots = trial.heights.len().max(trial.finished).max(1) as f64;
        Self { seconds: seconds / pilots, gradients: trial.counters.gradients as f64 / pilots }
    }

    /// How long a search and the draws after it will take, in words.
    fn estimate(&self, ahead: &Ahead, draws: u64) -> String {
        let search = in_words(self.seconds * ahead.pilots);
        let polished = 1.0 + ahead.polish as f64 / self.gradients.max(1.0);
        let draw = self.seconds * ahead.rows * polished;
        let draws = format!("then about {} for {draws} draws", in_words(draw * draws as f64));
        format!("estimated time: about {search} for the search of the strength, {draws}")
    }
}

fn in_words(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".into(),
        s if s < 90.0 => format!("{s:.0} seconds"),
        s if s < 5400.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

/// How many trials of an unfinished search are kept, and where.
pub(crate) fn kept_trials((file, run): &Place) -> Result<(usize, PathBuf)> {
    let kept = kept_file(file);
    let found = of_run::read::<Unfinished>(&kept, run, REMEDY)?;
    Ok((found.map_or(0, |unfinished| unfinished.trials.len()), kept))
}

pub(crate) const REMEDY: &str =
    "remove it and run the same command again: the search is repeated and finds the same";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_trial_tells_how_long_all_will_take() {
        let pilot = Pilot { seconds: 0.9, gradients: 50.0 };
        let says = |pilots, rows, polish| pilot.estimate(&Ahead { pilots, rows, polish }, 100);
        let text = |search, draws| {
            format!(
                "estimated time: about {search} for the search of the strength, then about {draws} for 100 draws"
            )
        };
        assert_eq!(says(10.0, 1.0, 0), text("9 seconds", "2 minutes"));
        assert_eq!(says(5.0, 1.0, 100), text("4 seconds", "4 minutes"), "chains of twice the gradients");
        assert_eq!(says(10.0, 0.1, 0), text("9 seconds", "9 seconds"), "batches of a tenth of the rows");
        assert_eq!([0.2, 89.0, 600.0].map(in_words), ["a second", "89 seconds", "10 minutes"]);
    }
}
