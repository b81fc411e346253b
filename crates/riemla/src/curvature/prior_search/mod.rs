//! Weights, prior precision and noise of the largest evidence, from fresh weights.
//!
//! The evidence is a function of the prior alone once the weights are a minimum of the loss under it. In
//! regression δ and σ move the minimum through their product ρ = δσ² only, and at a given ρ the best σ is
//! known: σ² = (Σ(f − y)² + ρ‖θ‖²)/N. So there is one number to search for (or one per layer). It is
//! searched for on a ladder from a strong prior to a weak one, with two descents per rung: from the weights
//! of the rung before, and from fresh weights. Then the best rung is refined.
//!
//! Where every output has a noise of its own, ρ is δ times the geometric mean of the σ², and the noises settle in turn with
//! the weights at every ρ (`../output_noise.rs`). Likelihoods without noise have σ = 1.
//!
//! Alternating between weights and prior is not as good: it ends where δ is best for weights that are held
//! fixed, which can be a hundred nats below the best, from any start. It is what is left where a gradient is so
//! much work that a ladder would take hours ([`SearchWay`], docs/decisions/0020-prior-search.md).

mod in_turn;
mod ladder;
mod point;
mod refine;

use serde::{Deserialize, Serialize};

use super::{PriorChoice, Structure};
use crate::nn::Network;
use crate::objective::{NetworkLoss, PriorPrecision};
use crate::train::{Recipe, TrainReport};
use crate::{Control, Error, Result};
use point::Searcher;

/// Up to so many weights the evidence uses the full curvature, beyond it Kronecker factors.
const FULL_EVIDENCE: usize = 1000;

/// Above so many multiplications for the loss of all rows, [`SearchWay::Auto`] takes weights and prior in turn: a ladder makes
/// about 15 000 gradients, each three times that work.
const MOST_WORK: usize = 200_000_000;

/// How the search goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchWay {
    /// The ladder, unless that would take very long.
    #[default]
    Auto,
    /// A ladder of priors with two descents per rung, then a refinement.
    Ladder,
    /// Weights and prior in turn from one start, until the prior settles. Where the prior is given, this is the ladder: of noises,
    /// or of a single rung.
    InTurn,
}

/// Settings of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorSearch {
    /// What is searched for: one precision, one per layer, or, where they are kept or fixed, in regression
    /// the noise alone.
    pub prior: PriorChoice,
    /// Structure of the evidence's curvature; none for full up to 1000 weights and Kronecker beyond.
    pub structure: Option<Structure>,
    /// How it goes about it.
    pub way: SearchWay,
    /// How weights are trained.
    pub recipe: Recipe,
    /// Seed of the fresh weights.
    pub seed: u64,
}

impl Default for PriorSearch {
    fn default() -> Self {
        Self {
            prior: PriorChoice::Optimize,
            structure: None,
            way: SearchWay::Auto,
            recipe: Recipe::default(),
            seed: 1,
        }
    }
}

/// Where the descent of a trial began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialStart {
    /// Fresh weights.
    Fresh,
    /// The weights found under a stronger prior.
    Warm,
    /// The best weights so far, under a prior close to theirs; in turn, the last ones.
    Refined,
}

/// One prior that was tried: what the observer of a search sees.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorTrial {
    /// Its number, from 1.
    pub number: usize,
    /// About how many there will be.
    pub expected: usize,
    /// Where its descent began.
    pub start: TrialStart,
    /// Prior precision.
    pub prior_precision: PriorPrecision,
    /// Noise, or the geometric mean of those of the outputs; none where the likelihood has none.
    pub sigma_noise: Option<f64>,
    /// Log marginal likelihood; none if it could not be computed.
    pub log_marginal_likelihood: Option<f64>,
    /// Gradients of the descent.
    pub gradients: usize,
    /// Whether it is the best so far.
    pub best: bool,
}

/// What a search found.
pub struct PriorFound {
    /// The loss under the prior and noise that were found.
    pub loss: NetworkLoss,
    /// Its minimum.
    pub theta: Vec<f64>,
    /// Log marginal likelihood there; none if the search was stopped before the first one.
    pub log_marginal_likelihood: Option<f64>,
    /// How the last descent to these weights ended.
    pub report: TrainReport,
    /// Priors that were tried.
    pub trials: usize,
    /// Gradients of all descents; an epoch of mini-batches is one.
    pub gradients: usize,
    /// Whether weights and prior were taken in turn.
    pub in_turn: bool,
    /// Whether a stop was requested: these are the best weights until then.
    pub stopped: bool,
}

impl PriorSearch {
    /// Searches with the network, the data and the kind of likelihood of `loss`.
    ///
    /// Its noise does not matter; its prior does for [`PriorChoice::Keep`] only. After a stop the best
    /// weights so far are returned.
    pub fn run(&self, loss: &NetworkLoss, control: Control<'_, PriorTrial>) -> Result<PriorFound> {
        let mut searcher = Searcher::new(self, loss, control)?;
        if searcher.in_turn {
            searcher.take_turns()?;
        } else {
            searcher.ladder()?;
            searcher.confirm()?;
            searcher.refine()?;
        }
        searcher.finish()
    }

    /// Whether this search would take weights and prior in turn.
    pub fn takes_turns(&self, loss: &NetworkLoss) -> bool {
        match self.way {
            SearchWay::Ladder => false,
            SearchWay::InTurn => true,
            SearchWay::Auto => loss.network().work().saturating_mul(loss.data().len()) > MOST_WORK,
        }
    }

    fn structure_for(&self, network: &Network) -> Structure {
        let full = network.dim() <= FULL_EVIDENCE;
        self.structure.unwrap_or(if full { Structure::Full } else { Structure::Kronecker })
    }
}

impl Searcher<'_> {
    /// The best weights, at a minimum.
    fn finish(mut self) -> Result<PriorFound> {
        self.confirm()?;
        if self.best.is_empty() {
            return Err(Error::Stopped { what: "the first descent".into() });
        }
        let best = self.best.swap_remove(0);
        if best.evidence == f64::NEG_INFINITY
            && let Some(error) = self.failure.filter(|error| !matches!(error, Error::Stopped { .. }))
        {
            return Err(error);
        }
        Ok(PriorFound {
            loss: self.loss.with(best.likelihood, best.prior)?,
            theta: best.theta,
            log_marginal_likelihood: Some(best.evidence).filter(|evidence| evidence.is_finite()),
            report: best.report,
            trials: self.trials,
            gradients: self.gradients,
            in_turn: self.in_turn,
            stopped: self.control.is_stopped(),
        })
    }
}
