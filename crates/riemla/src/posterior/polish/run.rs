//! The chain of one draw: so many proposals of random length, and what they did.

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::{HamiltonianChain, Transition};
use crate::Control;
use crate::random::Rng;

/// What the chain of a draw did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolishSummary {
    /// Gradients that it took.
    pub gradients: usize,
    /// Proposals.
    pub proposals: usize,
    /// Proposals that were accepted.
    pub accepted: usize,
    /// Mean acceptance probability.
    pub acceptance: f64,
    /// L where it began.
    pub loss_start: f64,
    /// L after the first half of the proposals.
    pub loss_half: f64,
    /// L where it ended.
    pub loss_end: f64,
    /// (θ₀ − θ*)ᵀP(θ₀ − θ*)/K where it began, with P the precision of the Gaussian.
    pub square_start: f64,
    /// The same where it ended.
    pub square_end: f64,
    /// The same product of both.
    pub overlap: f64,
}

/// Step size and length of proposals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proposals {
    pub step: f64,
    /// Leapfrog steps on average.
    pub leaps: usize,
}

impl Proposals {
    /// How many make a chain of about so many gradients. A number that does not depend on the chain, so that where
    /// it ends has nothing to do with where it is.
    pub fn count(&self, gradients: usize) -> usize {
        (gradients as f64 / self.leaps as f64).round().max(1.0) as usize
    }

    /// The next proposal: from half to one and a half times the leaps, so that no period of the dynamics is hit.
    pub fn next(&self, chain: &mut HamiltonianChain<'_>, rng: &mut Rng) -> Transition {
        let leaps = rng.random_range(self.leaps.div_ceil(2)..=self.leaps + self.leaps / 2);
        chain.transition(self.step, leaps, rng)
    }
}

/// A chain under way.
pub(super) struct Course<'a> {
    pub chain: HamiltonianChain<'a>,
    pub rng: Rng,
    proposals: usize,
    accepted: usize,
    acceptance: f64,
    /// The gradient at the start counts.
    gradients: usize,
}

impl<'a> Course<'a> {
    pub fn new(chain: HamiltonianChain<'a>, rng: Rng) -> Self {
        Self { chain, rng, proposals: 0, accepted: 0, acceptance: 0.0, gradients: 1 }
    }

    /// Goes on until there were so many proposals; false after a stop.
    pub fn run_to(&mut self, count: usize, proposals: &Proposals, control: Control<'_>) -> bool {
        while self.proposals < count {
            if control.is_stopped() {
                return false;
            }
            self.step(proposals);
        }
        true
    }

    /// One proposal; its probability to be accepted.
    pub fn step(&mut self, proposals: &Proposals) -> f64 {
        let Transition { acceptance, accepted, gradients } = proposals.next(&mut self.chain, &mut self.rng);
        self.proposals += 1;
        self.accepted += usize::from(accepted);
        self.acceptance += acceptance;
        self.gradients += gradients;
        acceptance
    }

    pub fn gradients(&self) -> usize {
        self.gradients
    }

    /// Fills in what the chain knows.
    pub fn summary(&self, loss_start: f64, loss_half: f64) -> PolishSummary {
        let none = f64::NAN;
        PolishSummary {
            gradients: self.gradients,
            proposals: self.proposals,
            accepted: self.accepted,
            acceptance: self.acceptance / self.proposals.max(1) as f64,
            loss_start,
            loss_half,
            loss_end: self.chain.loss(),
            square_start: none,
            square_end: none,
            overlap: none,
        }
    }
}
