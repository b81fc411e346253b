//! Draws around the trained weights: from the Gaussian, or along geodesics.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use riemla::Control;
use riemla::data::Dataset;
use riemla::nn::Network;
use riemla::posterior::{
    BatchSize, Calibration, Draw, NetworkOutputs, Outputs as _, PolishFound, Posterior, PosteriorConfig,
    SampleSet, SearchStatus, Strength,
};
use riemla_files::ours::{POLISH_FILE, STRENGTH_FILE};
use riemla_files::{RunConfig, SavedPosterior, Shard, TrainingData};

use super::{Finished, Keeper, Made, Sampler};
use crate::polish::settle_polish;
use crate::strength::{FoundStrength, SettleControl, Settled, kept_trials, settle};
use crate::workflow::diagnostics::Diagnosis;
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::held_out::too_few;
use crate::workflow::sample::{SampleConfig, loss_of};

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
        (saved, data): (SavedPosterior, TrainingData),
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
        keeper.watch.begin("choosing the strength of the metric", 0);
        let place = keeper.place().map(|(set, run)| (set.join(STRENGTH_FILE), run));
        let place = place.as_ref().map(|(file, run)| (file.as_path(), run));
        if let (Some(shard), Some((file, _))) = (keeper.shard.filter(|shard| !shard.is_first()), place) {
            let rule = self.settings.method.is_riemannian() && self.settings.strength.fixed().is_none();
            wait_for(rule, "strength of the metric", "--strength", (shard, file), keeper)?;
        }
        let control =
            SettleControl { stop: keeper.halt, watch: keeper.watch, draws: keeper.missing().len() as u64 };
        let settled = match (settle(self.posterior, self.seed, place, control), place) {
            (Err(WorkflowError::Library(riemla::Error::Stopped { .. })), Some((file, run))) => {
                let (trials, file) = kept_trials(file, run)?;
                return Err(WorkflowError::Unsettled { trials, file, out_of_time: false });
            }
            (Err(WorkflowError::Library(riemla::Error::Stopped { .. })), None) => {
                return Err(WorkflowError::Interrupted);
            }
            (settled, _) => settled?,
        };
        if let Some(FoundStrength { strength, status, .. }) = &settled.found {
            let converged = *status == SearchStatus::Converged;
            let status = if converged { String::new() } else { format!(" ({status})") };
            keeper.watch.note(&format!("strength of the metric: {strength:.4}{status}"));
        }
        Ok(settled)
    }
}

impl Geodesics {
    /// The size of a batch, where it was not given.
    fn note_batch(&self, keeper: &Keeper<'_>) -> Result<()> {
        if self.settings.batch.is_none_or(|plan| plan.size != BatchSize::Auto) {
            return Ok(());
        }
        keeper.watch.begin("choosing the rows of batches", 0);
        if let (Some(rows), Some(all)) = (self.posterior.batch_rows()?, self.posterior.model().rows()) {
            keeper.watch.note(&format!("rows per batch: {rows} of {all}"));
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
    keeper.watch.begin("choosing the step size of the polish", 0);
    let place = keeper.place().map(|(set, run)| (set.join(POLISH_FILE), run));
    let place = place.as_ref().map(|(file, run)| (file.as_path(), run));
    if let (Some(shard), Some((file, _))) = (keeper.shard.filter(|shard| !shard.is_first()), place) {
        wait_for(true, "step size of the polish", "--polish", (shard, file), keeper)?;
    }
    let control = SettleControl { stop: keeper.halt, watch: keeper.watch, draws: 0 };
    let settled = match settle_polish(posterior, seed, place, control) {
        Err(WorkflowError::Library(riemla::Error::Stopped { .. })) => return Err(WorkflowError::Interrupted),
        settled => settled?,
    };
    if let Some(found) = &settled.1 {
        keeper.watch.note(&format!("polish: {} gradients at step size {:.4}", found.gradients, found.step));
    }
    Ok(settled)
}

/// What all shards share is found by the first; the others wait for its file.
fn wait_for(
    needed: bool,
    what: &str,
    option: &str,
    (shard, file): (Shard, &Path),
    keeper: &Keeper<'_>,
) -> Result<()> {
    if !needed || file.is_file() {
        return Ok(());
    }
    keeper.watch.note(&format!("shard {shard} waits for the {what}, which shard 1 finds"));
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
    let network = Network::new(&saved.model.network)?;
    let model = NetworkOutputs::new(Arc::new(network), saved.laplace.likelihood)?;
    let outputs = model.evaluate(&[saved.laplace.gaussian.theta()], rows.inputs())?.swap_remove(0);
    match too_few(&outputs, saved.laplace.likelihood, rows) {
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
        let (seed, name, rule) = (self.seed, self.name.clone(), self.settings.strength);
        let Settled { posterior, found } = self.settled(keeper)?;
        let (posterior, polish) = settled_polish(posterior, seed, keeper)?;
        let missing = keeper.missing();
        keeper.watch.begin(&format!("drawing from {name}"), missing.len() as u64);
        let progress = |draw: &Draw| {
            keeper.keep(draw);
            keeper.watch.step();
        };
        let begun = Instant::now();
        let set = match keeper.elsewhere {
            Some(elsewhere) => SampleSet {
                method: posterior.config().method,
                seed,
                draws: Vec::new(),
                failed: elsewhere.take(posterior.config(), &missing, keeper.halt, &progress)?,
                stopped: keeper.halted(),
                calibration: None,
                polish: None,
            },
            None => {
                let control = Control::default().observing(&progress).stopping(keeper.halt);
                posterior.sample_indices(seed, &missing, control)?
            }
        };
        Ok(Box::new(Drawn { posterior, rule, found, polish, set, seconds: begun.elapsed().as_secs_f64() }))
    }
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

    fn diagnose(&self, _: Option<&Path>, draws: &[Draw]) -> Result<Diagnosis> {
        let calibration = self.found.as_ref().map(|found| Calibration {
            rule: self.rule,
            strength: found.strength,
            status: found.status,
            trials: Vec::new(),
            counters: found.counters,
        });
        let calibration = calibration.map(Arc::new);
        let polish = self.polish.clone().map(Arc::new);
        let set = SampleSet { draws: draws.to_vec(), calibration, polish, ..self.set.clone() };
        Diagnosis::of_geodesics(&self.posterior, &set)
    }
}
