//! `ensemble`: the network trained again from fresh weights, once per draw.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use riemla::Control;
use riemla::posterior::Draw;
use riemla::reference::{Ensemble, Reference};
use riemla::train::TrainStatus;
use riemla_files::{RunConfig, RunInfo, SavedPosterior, TrainingData};

use super::problem::Problem;
use super::{Finished, Keeper, Sampler};
use crate::workflow::diagnostics::Diagnosis;
use crate::workflow::draw_table::DrawTable;
use crate::workflow::error::Result;
use crate::workflow::sample_config::SampleConfig;

/// Trainings to be made.
pub(super) struct Sampling {
    problem: Problem,
    settings: Ensemble,
}

struct Drawn {
    problem: Problem,
    failed: Vec<(u64, riemla::Error)>,
    /// Trainings of this run that did not reach a minimum, and of how many.
    unfinished: (usize, usize),
}

impl Sampling {
    /// Checks the data.
    pub(super) fn new(
        saved: SavedPosterior,
        data: TrainingData,
        settings: Ensemble,
        config: &SampleConfig,
    ) -> Result<Self> {
        Ok(Self { problem: Problem::new(saved, data, config)?, settings })
    }
}

impl Sampler for Sampling {
    fn config(&self) -> RunConfig {
        Reference::Ensemble(self.settings).into()
    }

    fn dim(&self) -> usize {
        self.problem.weights()
    }

    fn draw(self: Box<Self>, keeper: &Keeper<'_>) -> Result<Box<dyn Finished>> {
        let Self { problem, settings } = *self;
        let missing = keeper.missing();
        keeper.session.watch.begin("training members of the ensemble", missing.len() as u64);
        let failed = Mutex::new(Vec::new());
        let member = |&index: &u64| {
            let control = Control::default().stopping(keeper.session.stop);
            match settings.member(&problem.loss, problem.seed, index, control) {
                // Cut short: not what (seed, index) stands for.
                Ok(member) if keeper.halted() || member.report.status == TrainStatus::Stopped => None,
                Ok(member) => {
                    keeper.keep_weights(index, member.theta);
                    keeper.session.watch.step();
                    Some(matches!(member.report.status, TrainStatus::IterationLimit | TrainStatus::NonFinite))
                }
                Err(error) => {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push((index, error));
                    None
                }
            }
        };
        let ended: Vec<bool> = missing.par_iter().with_max_len(1).filter_map(member).collect();
        let unfinished = (ended.iter().filter(|unfinished| **unfinished).count(), ended.len());
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(Drawn { problem, failed, unfinished }))
    }
}

impl Finished for Drawn {
    fn failed(&self) -> &[(u64, riemla::Error)] {
        &self.failed
    }

    fn diagnose(&self, _: Option<(&Path, &RunInfo)>, draws: &[Draw]) -> Result<Diagnosis> {
        let looks = self.problem.looks(draws)?;
        let mut summary = self.problem.summary(draws, &looks);
        // Members are minima: their gradients vanish, and the ratio is 0 however good they are.
        summary.virial_ratio = None;
        summary.failed = self.failed.len();
        let mut table = DrawTable::new(draws.iter().map(|draw| draw.index));
        let seed = |draw: &Draw| Ensemble::member_seed(self.problem.seed, draw.index).to_string();
        table.words("training_seed", draws.iter().map(seed));
        table.numbers("loss", looks.iter().map(|look| Some(look.loss)));
        table.numbers("gradient_norm", looks.iter().map(|look| Some(look.gradient_norm)));
        let mut warnings = Vec::new();
        if let (count @ 1.., of) = self.unfinished {
            warnings.push(format!("{count} of {of} members did not reach a minimum: increase --iterations"));
        }
        Ok(Diagnosis { summary, table: Some(table), warnings })
    }
}
