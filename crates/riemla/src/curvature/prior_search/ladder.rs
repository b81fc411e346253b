//! The ladder of priors, from strong to weak.

use super::TrialStart;
use super::point::{Candidate, Searcher};
use crate::Result;

/// The first rung, the last one that is always tried, and the ends that may be reached.
const FIRST: f64 = 1000.0;
const LAST: f64 = 0.01;
const STRONGEST: f64 = 1e9;
const WEAKEST: f64 = 1e-8;
/// From rung to rung, log ρ changes by this: two rungs are a power of ten.
pub(super) const STEP: f64 = 0.5 * std::f64::consts::LN_10;
/// A stronger prior than all others must gain so many nats, or the search for stronger ones ends.
const GAIN: f64 = 0.1;
/// Nats below the best at which a rung counts as lost, if its likelihood is higher.
const LOST: f64 = 10.0;
/// Share of fresh weights that is added to the weights of a rung before the next: a network whose units
/// are all at 0, or equal, would stay so.
const SHAKE: f64 = 0.01;

impl Searcher<'_> {
    /// Trials that a search is expected to make.
    pub(super) fn expected(&self) -> usize {
        let rungs = 1 + ((FIRST / LAST).ln() / STEP).round() as usize;
        match self.dim() {
            0 => 1,
            _ if self.in_turn => super::in_turn::EXPECTED,
            dim => 2 * rungs + super::refine::expected(dim),
        }
    }

    /// Tries all rungs.
    pub(super) fn ladder(&mut self) -> Result<()> {
        let dim = self.dim();
        if dim == 0 {
            self.try_at(&[], self.fresh(0), TrialStart::Fresh)?;
            return Ok(());
        }
        let mut x = FIRST.ln().min(self.highest).max(LAST.ln());
        let mut last: Option<Candidate> = None;
        let mut lost = 0;
        while x > WEAKEST.ln() - 0.5 * STEP {
            let Some(rung) = self.rung(x, last.as_ref())? else { return Ok(()) };
            let best = &self.best[0];
            let falls = last.as_ref().is_some_and(|last| rung.evidence < last.evidence);
            let overfits = rung.evidence < best.evidence - LOST && rung.log_likelihood > best.log_likelihood;
            lost = if falls && overfits { lost + 1 } else { 0 };
            let improving = best.at[0] < x + 1.5 * STEP;
            last = Some(rung);
            x -= STEP;
            if lost == 2 || (x < LAST.ln() - 0.5 * STEP && !improving) {
                break;
            }
        }
        self.stronger()
    }

    /// Goes on to stronger priors while the strongest is the best.
    fn stronger(&mut self) -> Result<()> {
        let mut x = FIRST.ln();
        while self.best[0].at[0] >= x - 0.5 * STEP && x < STRONGEST.ln().min(self.highest) {
            let before = self.best[0].evidence;
            x += STEP;
            let from = self.best[0].clone();
            if self.rung(x, Some(&from))?.is_none() || self.best[0].evidence < before + GAIN {
                break;
            }
        }
        Ok(())
    }

    /// The better of two descents: from the weights of another rung, and from fresh ones.
    fn rung(&mut self, x: f64, from: Option<&Candidate>) -> Result<Option<Candidate>> {
        let at = vec![x; self.dim()];
        let Some(fresh) = self.try_at(&at, self.fresh(0), TrialStart::Fresh)? else { return Ok(None) };
        let Some(from) = from else { return Ok(Some(fresh)) };
        let mut theta = from.theta.clone();
        theta.iter_mut().zip(self.fresh(self.trials as u64)).for_each(|(t, f)| *t += SHAKE * f);
        let Some(warm) = self.try_at(&at, theta, TrialStart::Warm)? else { return Ok(None) };
        Ok(Some(if warm.evidence >= fresh.evidence { warm } else { fresh }))
    }

    pub(super) fn fresh(&self, offset: u64) -> Vec<f64> {
        self.loss.network().initialize(self.settings.seed.wrapping_add(offset))
    }
}
