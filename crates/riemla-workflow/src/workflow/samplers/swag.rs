//! `swag`: a Gaussian with the moments of SGD's iterates.

use std::path::Path;

use riemla::Control;
use riemla::posterior::{Draw, Misplaced, VIRIAL_SLACK};
use riemla::random::{Purpose, stream};
use riemla::reference::{Reference, Swag, swag};
use riemla_files::{RunConfig, RunInfo, SavedPosterior, TrainingData};

use super::problem::Problem;
use super::{Finished, Keeper, Sampler};
use crate::watch::steps;
use crate::workflow::diagnostics::Diagnosis;
use crate::workflow::draw_table::DrawTable;
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::sample_config::SampleConfig;

/// A descent to be made.
pub(super) struct Sampling {
    problem: Problem,
    settings: Swag,
}

struct Drawn(Problem);

impl Sampling {
    /// Checks data and settings.
    pub(super) fn new(
        saved: SavedPosterior,
        data: TrainingData,
        settings: Swag,
        config: &SampleConfig,
    ) -> Result<Self> {
        let problem = Problem::new(saved, data, config)?;
        let settings = settings.for_rows(problem.loss.data().len());
        settings.check()?;
        Ok(Self { problem, settings })
    }
}

impl Sampler for Sampling {
    fn config(&self) -> RunConfig {
        Reference::Swag(self.settings).into()
    }

    fn dim(&self) -> usize {
        self.problem.weights()
    }

    fn draw(self: Box<Self>, keeper: &Keeper<'_>) -> Result<Box<dyn Finished>> {
        let Self { problem, settings } = *self;
        let missing = keeper.missing();
        if missing.is_empty() {
            return Ok(Box::new(Drawn(problem)));
        }
        keeper.session.watch.begin("gradient descent", settings.epochs as u64);
        let watch = steps(keeper.session.watch);
        let control = Control::default().stopping(keeper.session.stop).observing(&watch);
        let theta = problem.laplace.gaussian.theta();
        let found = swag(&problem.loss, theta, problem.seed, &settings, control);
        let (moments, _) = match found {
            Err(riemla::Error::Stopped { .. }) => return Err(WorkflowError::Interrupted),
            found => found?,
        };
        keeper.session.watch.begin("drawing from swag", missing.len() as u64);
        for index in missing {
            if keeper.halted() {
                break;
            }
            let mut rng = stream(problem.seed, Purpose::Draw, index);
            keeper.keep_weights(index, moments.draw(settings.scale, &mut rng));
            keeper.session.watch.step();
        }
        Ok(Box::new(Drawn(problem)))
    }
}

impl Finished for Drawn {
    fn diagnose(&self, _: Option<(&Path, &RunInfo)>, draws: &[Draw]) -> Result<Diagnosis> {
        let looks = self.0.looks(draws)?;
        let summary = self.0.summary(draws, &looks);
        let mut table = DrawTable::new(draws.iter().map(|draw| draw.index));
        table.numbers("loss", looks.iter().map(|look| Some(look.loss)));
        let far = |ratio: &f64| (ratio - 1.0).abs() > VIRIAL_SLACK;
        let warning = summary.virial_ratio.filter(far).map(in_words);
        Ok(Diagnosis { summary, table: Some(table), warnings: warning.into_iter().collect() })
    }
}

/// A virial ratio far from 1.
fn in_words(ratio: f64) -> String {
    let misplaced = Misplaced::of(ratio);
    let change = if misplaced == Misplaced::TooClose { "raise" } else { "lower" };
    format!(
        "the draws of swag {misplaced}: their virial ratio is {ratio:.2}, but should be 1; their spread comes from the \
         noise of gradient descent and is not fitted to the posterior: {change} --learning-rate"
    )
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn draws_that_left_the_basin_need_a_lower_rate() {
        for (ratio, place, change) in [
            (0.4, "too close", "raise --learning-rate"),
            (1.9, "overshoot", "lower --learning-rate"),
            (-0.4, "have left the basin", "lower --learning-rate"),
        ] {
            let text = in_words(ratio);
            assert!(text.contains(place) && text.contains(change), "{text}");
        }
    }
}
