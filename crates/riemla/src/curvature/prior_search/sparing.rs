//! What a sparing search does instead: the ladder on some rows, then few descents on all.

use super::TrialStart;
use super::ladder::STEP;
use super::point::{Candidate, Searcher};
use crate::data::draw_batch;
use crate::objective::NetworkLoss;
use crate::random::{Purpose, stream};
use crate::train::TrainStatus;
use crate::{Error, Result};

/// Rows of the ladder. All rows are taken up to twice as many.
const SOME: usize = 1000;
/// Trials on all rows before they are refined: two starts and two rungs.
const STARTS: usize = 4;

/// Trials and visits of rows of other stages than the present one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stages {
    pub(super) trials_before: usize,
    pub(super) rows_before: usize,
    trials_after: usize,
    rows_after: usize,
}

impl Searcher<'_> {
    /// How many trials there will be, and the share of the work that is done if all take the same per row.
    pub(super) fn outlook(&self) -> (usize, f64) {
        let Stages { trials_before, rows_before, trials_after, rows_after } = self.stages;
        let (rows, done) = (self.loss.samples(), self.trials - trials_before);
        let here = if trials_before > 0 { self.expected_on_all() } else { self.expected() }.max(done);
        let (done, all) = (rows_before + done * rows, rows_before + here * rows + rows_after);
        (trials_before + here + trials_after, done as f64 / all as f64)
    }

    fn expected_on_all(&self) -> usize {
        STARTS + super::refine::expected(self.dim())
    }

    /// Rows for a ladder on some of them; none where all are taken.
    fn some_rows(&self) -> Result<Option<Vec<usize>>> {
        let data = self.loss.data();
        if !self.sparing || self.dim() == 0 || data.len() <= 2 * SOME {
            return Ok(None);
        }
        let mut rng = stream(self.settings.seed, Purpose::Batch, 0);
        draw_batch(data.len(), data.labels(), SOME, &mut rng).map(Some)
    }

    /// The ladder, on some rows where there are many, and its best rung on all.
    pub(super) fn rungs(&mut self) -> Result<()> {
        let Some(rows) = self.some_rows()? else { return self.ladder() };
        let all = self.loss;
        let data = all.data().select(&rows)?;
        let some = NetworkLoss::new(all.network().clone(), data, all.likelihood(), all.prior().clone())?;
        let mut ladder = Searcher::new(self.settings, &some, self.control)?;
        ladder.sparing = true;
        ladder.stages.trials_after = self.expected_on_all();
        ladder.stages.rows_after = self.expected_on_all() * all.samples();
        ladder.ladder()?;
        (self.trials, self.gradients) = (ladder.trials, ladder.gradients);
        self.row_visits = ladder.row_visits;
        (self.sigma, self.noise) = (ladder.sigma, ladder.noise);
        self.stages.trials_before = ladder.trials;
        self.stages.rows_before = ladder.trials * some.samples();
        let Some(mut best) = ladder.best.into_iter().next() else {
            return Err(Error::Stopped { what: "the first descent".into() });
        };
        // The evidence of some rows is not that of all: the candidate counts until there is another.
        if best.evidence == f64::NEG_INFINITY {
            self.failure = ladder.failure;
        }
        best.evidence = f64::NEG_INFINITY;
        best.report.status = TrainStatus::Stopped;
        self.best = vec![best];
        self.all_rows()
    }

    /// From the best weights of some rows and from fresh ones, then to other rungs while the evidence rises.
    fn all_rows(&mut self) -> Result<()> {
        let Candidate { at, theta, .. } = self.best[0].clone();
        for (theta, start) in [(theta, TrialStart::Warm), (self.fresh(0), TrialStart::Fresh)] {
            if self.try_at(&at, theta, start)?.is_none() {
                return Ok(());
            }
        }
        let all: Vec<usize> = (0..self.dim()).collect();
        self.either_way(&all, STEP).map(drop)
    }
}
