//! Draws of a target held against its truth: distances, loss, predictions, cost.

use std::cell::OnceCell;
use std::path::PathBuf;

use riemla::posterior::{PolishReport, SearchStatus, virial_ratio};
use riemla_files::samples::read_samples;
use serde::{Deserialize, Serialize};

use super::super::bench::{Bench, Source, Verdict};
use super::super::cell::{Drawn, Wanted};
use super::super::record::{CellKey, MadeFrom, ModelSummary, Score};
use super::super::{ExperimentError, MethodName, Result};
use super::chains::{self, ChainVerdict};
use super::distance::{Distances, Truth, finite};
use super::plan::TruthPlan;
use super::target::Target;

/// Draws of a truth that is exact.
const EXACT_DRAWS: u64 = 4000;

/// How far the draws of a cell are from the truth, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TruthNumbers {
    /// Number of weights.
    pub dim: usize,
    /// Whether the truth is exact, or from chains.
    pub exact_truth: bool,
    /// Whether the rule that found the strength is met there; none without a rule.
    pub rule_met: Option<bool>,
    /// How far from the truth.
    pub distances: Distances,
    /// Mean of L(θ) − L(θ*) over K/2; 1 for a Gaussian posterior.
    pub loss_rise: Option<f64>,
    /// Negative log-likelihood per test row.
    pub nll: Option<f64>,
    /// Gradients of the searches for strength, step size and length.
    pub search_gradients: usize,
    /// Gradients per draw, without search and warm-up where there are any.
    pub gradients_per_draw: Option<f64>,
    /// All gradients, search and warm-up too, per independent draw.
    pub gradients_per_effective_draw: Option<f64>,
    /// What the chains that polished the draws did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polish: Option<PolishNumbers>,
    /// How chains ended.
    pub chains: Option<ChainVerdict>,
}

/// The chains of polished draws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PolishNumbers {
    /// Step size.
    pub step: f64,
    /// Mean acceptance probability.
    pub acceptance: f64,
    /// Mean change of the loss over the second halves of the chains.
    pub drift: Option<f64>,
    /// Its standard error.
    pub drift_error: Option<f64>,
    /// Nested R-hat of ends grouped by their starts.
    pub nested_r_hat: Option<f64>,
}

impl PolishNumbers {
    fn of(drawn: &Drawn) -> Option<Self> {
        let (found, report) = (drawn.made.polish.as_ref()?, PolishReport::of(&drawn.draws)?);
        let PolishReport { acceptance, drift, drift_error, nested_r_hat, .. } = report;
        let [drift, drift_error, nested_r_hat] = [drift, drift_error, nested_r_hat].map(finite);
        Some(Self { step: found.step, acceptance, drift, drift_error, nested_r_hat })
    }
}

/// A target under one seed, with its truth: made when the first draws are judged.
pub struct Against<'a> {
    target: &'a dyn Target,
    plan: &'a TruthPlan,
    seed: u64,
    /// Where the draws of its chains are.
    chains: PathBuf,
    truth: OnceCell<Truth>,
}

impl<'a> Against<'a> {
    /// Whose chains are at `chains`.
    pub fn new(target: &'a dyn Target, plan: &'a TruthPlan, seed: u64, chains: PathBuf) -> Self {
        Self { target, plan, seed, chains, truth: OnceCell::new() }
    }

    fn exact(&self) -> Option<Vec<Vec<f64>>> {
        self.target.exact(self.seed, EXACT_DRAWS)
    }

    /// Exact draws, or those of the chains, which are the first cell of a target.
    fn truth(&self) -> Result<&Truth> {
        if let Some(truth) = self.truth.get() {
            return Ok(truth);
        }
        let thetas = match self.exact() {
            Some(exact) => exact,
            None => read_samples(&self.chains)?.draws.into_iter().map(|draw| draw.theta).collect(),
        };
        let truth = Truth::new(self.target, thetas)?;
        Ok(self.truth.get_or_init(|| truth))
    }

    fn distances(&self, key: &CellKey, thetas: &[&[f64]]) -> Result<Distances> {
        let distances = self.truth()?.distances(self.target, thetas, key.method.is_linearized())?;
        // Chains that are the truth themselves have no distance from it.
        Ok(match key.method == MethodName::Nuts && self.exact().is_none() {
            true => Distances { weights: None, functions: None, deviation_ratio: None, ..distances },
            false => distances,
        })
    }
}

impl Source for Against<'_> {
    fn draws(&self, key: &CellKey, wanted: &Wanted<'_>) -> Result<Drawn> {
        match key.method {
            MethodName::Nuts | MethodName::Mclmc => {
                chains::run(self.target, &self.plan.chains, key.setting.step(), wanted)
            }
            _ => self.target.draws(key, wanted),
        }
    }

    fn model(&self) -> Option<ModelSummary> {
        self.target.model()
    }

    fn gradient_seconds(&self, key: &CellKey) -> Result<Option<f64>> {
        self.target.gradient_seconds(key)
    }

    fn made_from(&self) -> &MadeFrom {
        self.target.made_from()
    }
}

impl Bench for Against<'_> {
    fn judge(&self, key: &CellKey, drawn: &Drawn) -> Result<Verdict> {
        let thetas: Vec<&[f64]> = drawn.draws.iter().map(|draw| draw.theta.as_slice()).collect();
        if thetas.len() < 2 {
            let reason = format!("{} draws failed, and one has no spread", drawn.failed.len());
            return Err(ExperimentError::no_draw(key, &reason));
        }
        let (center, linearized) = (self.target.center(), key.method.is_linearized());
        let objective = self.target.objective(linearized)?;
        let (n, half) = (thetas.len() as f64, 0.5 * center.len() as f64);
        let lowest = objective.value(center);
        let rise = thetas.iter().map(|theta| objective.value(theta) - lowest).sum::<f64>() / (n * half);
        let (chains, search) = (drawn.chains, drawn.search_gradients());
        let warmup = chains.map_or(0, |chains| chains.warmup_gradients) as f64;
        let all = (drawn.gradients() + search) as f64;
        let effective = chains.map_or(Some(n), |chains| chains.bulk_ess);
        let numbers = TruthNumbers {
            dim: center.len(),
            exact_truth: self.exact().is_some(),
            rule_met: drawn.made.found.as_ref().map(|found| found.status == SearchStatus::Converged),
            distances: self.distances(key, &thetas)?,
            loss_rise: finite(rise),
            nll: self.target.score(&thetas, linearized)?,
            search_gradients: search,
            gradients_per_draw: finite((drawn.gradients() as f64 - warmup) / n),
            gradients_per_effective_draw: effective.and_then(|effective| finite(all / effective)),
            polish: PolishNumbers::of(drawn),
            chains,
        };
        let Distances { weights, functions, .. } = numbers.distances;
        let scores = [("w1", weights), ("function_w1", functions), ("nll", numbers.nll)];
        let score = |(score, value): (&str, Option<f64>)| {
            Some(Score { test_set: key.problem.clone(), score: score.into(), value: value? })
        };
        Ok(Verdict {
            scores: scores.into_iter().filter_map(score).collect(),
            virial_ratio: Some(virial_ratio(&*objective, center, &thetas)),
            truth: Some(numbers),
        })
    }
}
