//! Draws around the trained weights: from the Gaussian, or along geodesics.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use riemla::Control;
use riemla::data::Dataset;
use riemla::posterior::{
    BatchSize, Calibration, Draw, JUDGES, PolishFound, Posterior, PosteriorConfig, SampleSet, SearchStatus,
    Strength, Verdict,
};
use riemla_files::ours::{POLISH_FILE, STRENGTH_FILE};
use riemla_files::{RunConfig, RunInfo, SavedPosterior, TrainingData};

use super::{Finished, Keeper, Made, Sampler};
use crate::of_run::{self, Place};
use crate::strength::{FoundStrength, LastWord, REMEDY, Settled, kept_trials, settle};
use crate::workflow::diagnostics::Diagnosis;
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::held_out::too_few;
use crate::workflow::predictor::Predictor;
use crate::workflow::sample_config::SampleConfig;
use crate::workflow::saved::loss_of;

/// A posterior of the library, before its draws.
pub(crate) struct Geodesics {
    posterior: Posterior,
    settings: PosteriorConfig,
    seed: u64,
    name: String,
}

/// The same after them.
struct Drawn {
    posterior: Posterior,
    rule: Strength,
    found: Option<FoundStrength>,
    polish: Option<PolishFound>,
    set: SampleSet,
    seconds: f64,
}

impl Geodesics {
    /// Checks data and settings.
    pub(super) fn new(
        saved: SavedPosterior,
        data: TrainingData,
        settings: &PosteriorConfig,
        config: &SampleConfig,
    ) -> Result<Self> {
        let TrainingData { train, validation } = data;
        if let (Strength::HeldOut { .. }, Some(validation)) = (settings.strength, &validation) {
            check_held_out(&saved, validation)?;
        }
        let loss = loss_of(&saved, &train)?;
        let laplace = Arc::new(saved.laplace);
        let posterior = Posterior::of_network(&loss, &laplace, settings.clone())?;
        let posterior = match (settings.strength, validation) {
            (Strength::HeldOut { .. }, Some(validation)) => posterior.with_held_out(validation)?,
            (Strength::HeldOut { .. }, None) => {
                return Err(WorkflowError::unfit(
                    "--strength held-out needs rows that were not used in training: train with \
                     --validation, or use --strength auto",
                ));
            }
            _ => posterior,
        };
        Ok(Self::of(posterior, config))
    }

    /// Of any posterior of the library.
    pub(crate) fn of(posterior: Posterior, config: &SampleConfig) -> Self {
        let settings = posterior.config().clone();
        Self { posterior, settings, seed: config.seed, name: config.set_name() }
    }

    /// The posterior at the strength that its rule finds; found once per set, then kept in a file.
    fn settled(self, keeper: &Keeper<'_>) -> Result<Settled> {
        keeper.session.watch.begin("choosing the strength of the metric", 0);
        let place = keeper.file(STRENGTH_FILE);
        if self.posterior.needs_calibration()? {
            wait_for(place.as_ref(), "strength of the metric", "--strength", keeper)?;
        }
        let draws = keeper.missing().len() as u64;
        let settled = settle(self.posterior, self.seed, place.as_ref(), keeper.session, draws);
        let settled = match (settled, &place) {
            (Err(WorkflowError::Library(riemla::Error::Stopped { .. })), Some(place)) => {
                let (trials, file) = kept_trials(place)?;
                return Err(WorkflowError::Unsettled { trials, file, out_of_time: false });
            }
            (Err(WorkflowError::Library(riemla::Error::Stopped { .. })), None) => {
                return Err(WorkflowError::Interrupted);
            }
            (settled, _) => settled?,
        };
        if let Some(FoundStrength { strength, status, length, .. }) = &settled.found {
            let converged = *status == SearchStatus::Converged;
            let status = if converged { String::new() } else { format!(" ({status})") };
            keeper.session.watch.note(&format!("strength of the metric: {strength:.4}{status}"));
            if *length < 1.0 {
                keeper.session.watch.note(&format!(
                    "draws on batches are shortened to {length:.3} of their length, so that the loss of all rows is right"
                ));
            }
        }
        Ok(settled)
    }

    /// The size of a batch, where it was not given.
    fn note_batch(&self, keeper: &Keeper<'_>) -> Result<()> {
        if self.settings.batch.is_none_or(|plan| plan.size != BatchSize::Auto) {
            return Ok(());
        }
        keeper.session.watch.begin("choosing the rows of batches", 0);
        if let (Some(rows), Some(all)) = (self.posterior.batch_rows()?, self.posterior.model().rows()) {
            keeper.session.watch.note(&format!("rows per batch: {rows} of {all}"));
        }
        Ok(())
    }
}

/// Step size and length of the chains, found once per set, then kept in a file.
fn settled_polish(
    posterior: Posterior,
    seed: u64,
    keeper: &Keeper<'_>,
) -> Result<(Posterior, Option<PolishFound>)> {
    if posterior.config().polish.is_none() {
        return Ok((posterior, None));
    }
    keeper.session.watch.begin("choosing the step size of the polish", 0);
    let place = keeper.file(POLISH_FILE);
    wait_for(place.as_ref(), "step size of the polish", "--polish", keeper)?;
    let find = || match posterior.polish_found(seed, keeper.session.control()) {
        Err(riemla::Error::Stopped { .. }) => Err(WorkflowError::Interrupted),
        found => Ok(found?.map(|found| PolishFound::clone(&found))),
    };
    let Some(found) = of_run::once(place.as_ref(), REMEDY, find)? else { return Ok((posterior, None)) };
    let note = format!("polish: {} gradients at step size {:.4}", found.gradients, found.step);
    keeper.session.watch.note(&note);
    Ok((posterior.with_polish_found(&found)?, Some(found)))
}

/// What all shards share is found by the first; the others wait for its file.
fn wait_for(place: Option<&Place>, what: &str, option: &str, keeper: &Keeper<'_>) -> Result<()> {
    let (Some(shard), Some((file, _))) = (keeper.shard, place) else { return Ok(()) };
    if shard.is_first() || file.is_file() {
        return Ok(());
    }
    keeper.session.watch.note(&format!("shard {shard} waits for the {what}, which shard 1 finds"));
    let begun = Instant::now();
    while !file.is_file() {
        if keeper.halted() {
            return Err(WorkflowError::Interrupted);
        }
        if begun.elapsed() > LONGEST_WAIT {
            return Err(WorkflowError::unfit(format!(
                "shard {shard} has waited {} hours for {}: start shard 1, which finds the {what}, or give a number \
                 with {option}",
                LONGEST_WAIT.as_secs() / 3600,
                file.display()
            )));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Longer than any search that is worth waiting for.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// A strength is chosen by as many rows as a temperature, for the same reason.
fn check_held_out(saved: &SavedPosterior, rows: &Dataset) -> Result<()> {
    let prediction = Predictor::map(&saved.model)?.predict(rows.inputs())?;
    match too_few(&prediction, rows) {
        None => Ok(()),
        Some(reason) => Err(WorkflowError::unfit(format!(
            "--strength held-out would depend on chance: {reason}; hold out more rows in training \
             (--validation), or use --strength auto"
        ))),
    }
}

impl Sampler for Geodesics {
    fn config(&self) -> RunConfig {
        self.settings.clone().into()
    }

    fn dim(&self) -> usize {
        self.posterior.gaussian().theta().len()
    }

    fn draw(self: Box<Self>, keeper: &Keeper<'_>) -> Result<Box<dyn Finished>> {
        self.note_batch(keeper)?;
        let drawing =
            Drawing { seed: self.seed, name: self.name.clone(), rule: self.settings.strength, keeper };
        let Settled { posterior, found } = self.settled(keeper)?;
        let (posterior, polish) = settled_polish(posterior, drawing.seed, keeper)?;
        Ok(Box::new(drawing.all(posterior, found, polish)?))
    }
}

/// Fewer say too little.
const FEWEST_JUDGES: usize = 10;

/// Draws being taken.
struct Drawing<'a> {
    seed: u64,
    name: String,
    rule: Strength,
    keeper: &'a Keeper<'a>,
}

impl Drawing<'_> {
    /// Takes the draws that are missing. The first have the last word on a strength that was found by a rule: if they
    /// contradict the rule, they are made again at the strength that follows from them, once.
    /// Polished draws say nothing of the geodesics that they began with.
    fn all(
        &self,
        mut posterior: Posterior,
        mut found: Option<FoundStrength>,
        polish: Option<PolishFound>,
    ) -> Result<Drawn> {
        let mut first = None;
        let asked = |found: &&mut FoundStrength| found.last_word.is_none() && polish.is_none();
        if let Some(strength) = found.as_mut().filter(asked) {
            let judges: Vec<u64> =
                self.keeper.missing().into_iter().filter(|index| *index < JUDGES).collect();
            let begun = Instant::now();
            let set = self.take(&posterior, &judges)?;
            if !set.stopped && !self.keeper.halted() && self.keeper.shard.is_none() {
                self.last_word(&posterior, strength)?;
            }
            match posterior.config().strength.fixed() == Some(strength.strength) {
                true => first = Some((set, begun.elapsed())),
                false => posterior = posterior.with_strength(strength.strength)?,
            }
        }
        let mut missing = self.keeper.missing();
        if let Some((before, _)) = &first {
            missing.retain(|index| !before.failed.iter().any(|(failed, _)| failed == index));
        }
        let begun = Instant::now();
        let mut set = self.take(&posterior, &missing)?;
        let mut seconds = begun.elapsed().as_secs_f64();
        if let Some((before, time)) = first {
            set.draws.extend(before.draws);
            set.failed.extend(before.failed);
            set.stopped |= before.stopped;
            seconds += time.as_secs_f64();
        }
        Ok(Drawn { posterior, rule: self.rule, found, polish, set, seconds })
    }

    fn take(&self, posterior: &Posterior, indices: &[u64]) -> Result<SampleSet> {
        let keeper = self.keeper;
        keeper.session.watch.begin(&format!("drawing from {}", self.name), indices.len() as u64);
        let progress = |draw: &Draw| {
            keeper.keep(draw);
            keeper.session.watch.step();
        };
        let Some(elsewhere) = keeper.elsewhere else {
            let control = Control::default().observing(&progress).stopping(keeper.session.stop);
            return Ok(posterior.sample_indices(self.seed, indices, control)?);
        };
        Ok(SampleSet {
            method: posterior.config().method,
            seed: self.seed,
            draws: Vec::new(),
            failed: elsewhere.take(posterior.config(), indices, keeper.session.stop, &progress)?,
            stopped: keeper.halted(),
            calibration: None,
            polish: None,
        })
    }

    /// Asks the draws that are there about the strength. If they contradict its rule they are forgotten, and it is
    /// changed.
    fn last_word(&self, posterior: &Posterior, found: &mut FoundStrength) -> Result<()> {
        let keeper = self.keeper;
        let draws = keeper.draws()?;
        let mut word = LastWord { draws: draws.len(), ratio: None, instead_of: None };
        if draws.len() >= FEWEST_JUDGES {
            let verdict = posterior.verdict(self.seed, &calibration(self.rule, found), &draws)?;
            word.ratio = verdict.map(|verdict| (verdict.ratio, verdict.error));
            if let Some(Verdict { ratio, error, better: Some(better) }) = verdict {
                keeper.session.watch.note(&format!(
                    "the first {} draws contradict the rule for the strength: its ratio is {ratio:.3} ± {error:.3} and \
                     should be 1; they are made again at strength {better:.4} instead of {:.4}",
                    draws.len(),
                    found.strength
                ));
                keeper.clear()?;
                draws.iter().filter_map(|draw| draw.geodesic).for_each(|g| found.counters += g.counters);
                word.instead_of = Some(std::mem::replace(&mut found.strength, better));
            }
        }
        found.last_word = Some(word);
        if let Some((file, run)) = keeper.file(STRENGTH_FILE) {
            of_run::write(&file, &run, found)?;
        }
        Ok(())
    }
}

/// What the library would have found.
fn calibration(rule: Strength, found: &FoundStrength) -> Calibration {
    let FoundStrength { strength, slopes, status, length, counters, on_all_rows, .. } = *found;
    Calibration { rule, strength, slopes, status, length, trials: Vec::new(), counters, on_all_rows }
}

impl Finished for Drawn {
    fn failed(&self) -> &[(u64, riemla::Error)] {
        &self.set.failed
    }

    fn made(&self) -> Made {
        let new = self.set.draws.len();
        let threads = rayon::current_num_threads().min(new) as f64;
        Made {
            strength: self.posterior.config().fixed_strength(),
            found: self.found.clone(),
            polish: self.polish.clone(),
            seconds_per_draw: (new > 0).then(|| self.seconds * threads / new as f64),
        }
    }

    fn diagnose(&self, _: Option<(&Path, &RunInfo)>, draws: &[Draw]) -> Result<Diagnosis> {
        let calibration = self.found.as_ref().map(|found| Arc::new(calibration(self.rule, found)));
        let polish = self.polish.clone().map(Arc::new);
        let set = SampleSet { draws: draws.to_vec(), calibration, polish, ..self.set.clone() };
        Diagnosis::of_geodesics(&self.posterior, &set)
    }
}
