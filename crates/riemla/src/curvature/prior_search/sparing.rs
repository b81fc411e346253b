//! What a sparing search does instead: the ladder on some rows, few descents on all, parabolas instead of fine steps.

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
/// Trials at the top of a parabola.
const TOPS: usize = 3;
/// Nats that such a trial must promise.
const PROMISE: f64 = 0.1;
/// Trials on all rows before that: two starts and two rungs.
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
    /// Trials that a refinement is expected to make.
    pub(super) fn expected_refined(&self) -> usize {
        let fine = super::refine::expected(self.dim());
        if self.sparing { TOPS + fine - super::refine::expected(1) } else { fine }
    }

    /// How many trials there will be, and the share of the work that is done if all take the same per row.
    pub(super) fn outlook(&self) -> (usize, f64) {
        let Stages { trials_before, rows_before, trials_after, rows_after } = self.stages;
        let (rows, done) = (self.loss.samples(), self.trials - trials_before);
        let here = if trials_before > 0 { self.expected_on_all() } else { self.expected() }.max(done);
        let (done, all) = (rows_before + done * rows, rows_before + here * rows + rows_after);
        (trials_before + here + trials_after, done as f64 / all as f64)
    }

    fn expected_on_all(&self) -> usize {
        STARTS + self.expected_refined()
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

    /// From the best weights of some rows and from fresh ones, then in both directions while the evidence rises.
    fn all_rows(&mut self) -> Result<()> {
        let Candidate { at, theta, .. } = self.best[0].clone();
        for (theta, start) in [(theta, TrialStart::Warm), (self.fresh(0), TrialStart::Fresh)] {
            if self.try_at(&at, theta, start)?.is_none() {
                return Ok(());
            }
        }
        self.best.retain(|candidate| candidate.evidence > f64::NEG_INFINITY);
        if self.best.is_empty() {
            return Ok(());
        }
        for step in [STEP, -STEP] {
            let start = self.best[0].at[0];
            loop {
                let before = self.best[0].at[0];
                if before + step > self.highest {
                    break;
                }
                if !self.step_to(before + step)? {
                    return Ok(());
                }
                if self.best[0].at[0] == before {
                    break;
                }
            }
            if self.best[0].at[0] != start {
                break;
            }
        }
        Ok(())
    }

    /// Tries the tops of parabolas through the best point and its neighbours; false after a stop.
    pub(super) fn tops(&mut self) -> Result<bool> {
        for _ in 0..TOPS {
            match top(&mut self.seen) {
                Some((x, promise)) if promise > PROMISE => {
                    if !self.step_to(x)? {
                        return Ok(false);
                    }
                }
                _ => break,
            }
        }
        Ok(true)
    }

    /// Tries another first coordinate, with the same shift of all, from the best weights; false after a stop.
    fn step_to(&mut self, x: f64) -> Result<bool> {
        let best = &self.best[0];
        let at: Vec<f64> = best.at.iter().map(|at| at + (x - best.at[0])).collect();
        let theta = best.theta.clone();
        Ok(self.try_at(&at, theta, TrialStart::Refined)?.is_some())
    }
}

/// Where the parabola through the best point and its neighbours has its top, and how far above the best that is; none
/// where the best has no neighbour on one side.
fn top(seen: &mut [(f64, f64)]) -> Option<(f64, f64)> {
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best = (0..seen.len()).max_by(|a, b| seen[*a].1.total_cmp(&seen[*b].1))?;
    let (left, middle, right) = (seen.get(best.checked_sub(1)?)?, seen[best], seen.get(best + 1)?);
    let (h, k) = (middle.0 - left.0, right.0 - middle.0);
    let (rise, fall) = ((middle.1 - left.1) / h, (middle.1 - right.1) / k);
    let bend = (rise + fall) / (h + k);
    let slope = (rise * k - fall * h) / (h + k);
    let shift = slope / (2.0 * bend);
    (shift.is_finite() && bend > 0.0).then_some((middle.0 + shift, 0.5 * slope * shift))
}

#[cfg(test)]
mod tests {
    use super::top;

    #[test]
    fn the_top_of_a_parabola_is_found_from_any_three_points() {
        let parabola = |x: f64| (x, 7.0 - 3.0 * (x - 0.4) * (x - 0.4));
        let (x, promise) = top(&mut [parabola(2.0), parabola(0.0), parabola(-1.0)]).unwrap();
        assert!((x - 0.4).abs() < 1e-12 && (promise - 3.0 * 0.16).abs() < 1e-12, "{x} {promise}");
        assert_eq!(top(&mut [parabola(0.0), parabola(-1.0)]), None, "no neighbour on the right");
        assert_eq!(top(&mut [(0.0, 1.0), (1.0, f64::NEG_INFINITY), (-1.0, 0.0)]), None);
    }
}
