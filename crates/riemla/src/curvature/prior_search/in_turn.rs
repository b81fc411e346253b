//! Weights and prior in turn: for networks whose gradient is too much work for a ladder.

use super::TrialStart;
use super::point::{Candidate, Searcher, Unknown, geometric_mean};
use crate::Result;
use crate::curvature::hyperparameters::noise_of;
use crate::curvature::{Laplace, LaplaceConfig, output_noise};
use crate::objective::{Likelihood, Prior};
use crate::train::TrainStatus;

/// Rounds that are expected, and the most there are.
pub(super) const EXPECTED: usize = 4;
const MOST: usize = 8;
/// Settled when no log ρ moves by more: the evidence is flat there.
const SETTLED: f64 = 0.1;
/// log ρ of the first descent: weak enough that weights grow where the data want them to.
const FIRST: f64 = 0.0;

impl Searcher<'_> {
    /// Descends, takes the prior and noise of the largest evidence at the weights found, and again until they settle.
    pub(super) fn take_turns(&mut self) -> Result<()> {
        let mut at = vec![FIRST; self.dim()];
        let mut theta = self.fresh(0);
        let mut start = TrialStart::Fresh;
        for round in 0..MOST {
            let Some(found) = self.turn(&at, theta, start)? else { return Ok(()) };
            self.tell(&found, start);
            let moved = found.at.iter().zip(&at).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max);
            // A network can shrink one layer and grow the next, round after round, while the evidence falls. The first round can be
            // at a saddle, whose evidence is too high.
            let worse = self.best.first().is_some_and(|last| found.evidence < last.evidence);
            if at.len() > 1 && round > 1 && worse {
                let kept = self.best[0].likelihood;
                self.noise_is(kept);
                return Ok(());
            }
            (at, theta, start) = (found.at.clone(), found.theta.clone(), TrialStart::Refined);
            // Saddles again: the last round counts, not the best.
            self.best = vec![found];
            if moved < SETTLED || self.control.is_stopped() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// One round: weights at a minimum under the prior of a point, and the prior that is best for them. None after a stop or
    /// where there is no curvature.
    fn turn(&mut self, at: &[f64], mut theta: Vec<f64>, start: TrialStart) -> Result<Option<Candidate>> {
        let report = self.settle(at, &mut theta, start == TrialStart::Fresh, false)?;
        let loss = self.loss_at(at)?;
        let mut candidate = Candidate {
            at: at.to_vec(),
            prior: loss.prior().clone(),
            likelihood: loss.likelihood(),
            log_likelihood: loss.log_likelihood(&theta),
            evidence: f64::NEG_INFINITY,
            exact: false,
            theta,
            report,
        };
        let prior = self.settings.prior.clone();
        let config = LaplaceConfig { structure: self.structure, prior, ..LaplaceConfig::default() };
        let finite = candidate.report.status != TrainStatus::NonFinite && !self.control.is_stopped();
        let fitted =
            finite.then(|| Laplace::fit(&loss, &candidate.theta, &config, self.control.quiet())).transpose();
        match fitted {
            Ok(Some(fitted)) => {
                self.noise_is(fitted.likelihood);
                candidate.at = self.coordinates(&fitted.prior);
                (candidate.prior, candidate.likelihood) = (fitted.prior, fitted.likelihood);
                candidate.evidence = fitted.log_marginal_likelihood.unwrap_or(f64::NEG_INFINITY);
                return Ok(Some(candidate));
            }
            Ok(None) => {}
            Err(error) => self.failure = Some(error),
        }
        if self.best.is_empty() {
            self.keep(candidate);
        }
        Ok(None)
    }

    fn noise_is(&mut self, likelihood: Likelihood) {
        self.noise = output_noise::of(likelihood);
        let several = self.noise.as_ref().map(geometric_mean);
        self.sigma = noise_of(likelihood).or(several).unwrap_or(1.0);
    }

    /// Where a prior is, at the noise of this search.
    fn coordinates(&self, prior: &Prior) -> Vec<f64> {
        let log_rho = |delta: f64| (delta * self.sigma * self.sigma).ln();
        match &self.unknown {
            Unknown::Scalar => prior.scalar().map(log_rho).into_iter().collect(),
            Unknown::PerLayer(_) => {
                let of_layers = self.loss.network().layer_ranges();
                let precisions = prior.diagonal();
                of_layers.iter().map(|range| log_rho(precisions[range.start])).collect()
            }
            Unknown::Noise(_) | Unknown::Nothing(_) => Vec::new(),
        }
    }
}
