//! Draws from exp(−L) by the No-U-Turn sampler: what an approximation is compared with.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Convergence;
use super::chain::Plan;
use crate::error::{check_finite, check_len};
use crate::objective::{Objective, check_failure};
use crate::{Control, Error, Result};

/// Settings of [`nuts`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nuts {
    /// Number of chains.
    pub chains: usize,
    /// Steps of every chain in which step size and mass matrix are found; they are not kept.
    pub warmup: u64,
    /// A trajectory has at most 2^`max_depth` steps.
    pub max_depth: u64,
    /// Mean acceptance probability that the step size is chosen for.
    pub target_acceptance: f64,
}

impl Default for Nuts {
    fn default() -> Self {
        Self { chains: 4, warmup: 1000, max_depth: 10, target_acceptance: 0.8 }
    }
}

/// Fewest steps of a warm-up: below, the mass matrix is estimated from next to nothing.
const SHORTEST_WARMUP: u64 = 50;

impl Nuts {
    /// Checks the ranges of the settings.
    pub fn check(&self) -> Result<()> {
        let wrong = |what, value: String, allowed| Err(Error::range(what, value, allowed));
        if !(1..=1000).contains(&self.chains) {
            return wrong("chains", self.chains.to_string(), "from 1 to 1000");
        }
        if self.warmup < SHORTEST_WARMUP {
            return wrong("warmup", self.warmup.to_string(), "at least 50");
        }
        if !(1..=20).contains(&self.max_depth) {
            return wrong("max_depth", self.max_depth.to_string(), "from 1 to 20");
        }
        if !(0.5..1.0).contains(&self.target_acceptance) {
            return wrong(
                "target_acceptance",
                self.target_acceptance.to_string(),
                "at least 0.5 and below 1",
            );
        }
        Ok(())
    }
}

/// One step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Transition {
    /// L where it ended.
    pub loss: f64,
    /// Mean acceptance probability along its trajectory.
    pub acceptance: f64,
    /// Doublings of the trajectory.
    pub depth: u64,
    /// Gradients it took.
    pub gradients: u64,
    /// Whether the integration broke down: many of these mean that parts of the posterior are missed.
    pub diverging: bool,
}

/// Draws of one chain, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chain {
    /// The draws after the warm-up.
    pub draws: Vec<Vec<f64>>,
    /// How each came about.
    pub transitions: Vec<Transition>,
    /// Gradients of the warm-up.
    pub warmup_gradients: u64,
    /// Step size after the warm-up.
    pub step_size: f64,
    /// Whether a stop was requested before it was complete.
    pub stopped: bool,
}

/// What the observer of a [`Control`] sees after every step, from the threads of the chains.
#[derive(Debug, Clone, PartialEq)]
pub struct NutsStep {
    /// Which chain.
    pub chain: usize,
    /// Number of the draw in its chain; none in the warm-up.
    pub draw: Option<usize>,
    /// Where the chain is.
    pub theta: Vec<f64>,
}

/// Several chains of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Chains {
    /// The chains.
    pub chains: Vec<Chain>,
}

/// Runs chains from `starts`, each with `draws` draws after its warm-up, in parallel. After a stop chains
/// end at their next gradient; complete draws are kept.
///
/// Chain c depends on (seed, c, its start, the warm-up) alone: the same bits on any number of threads, and a
/// longer chain begins with the shorter one.
///
/// ```
/// use riemla::objective::Objective;
/// use riemla::Control;
/// use riemla::reference::{Nuts, nuts};
///
/// struct Normal; // L = θ²/2: draws are standard normal
/// impl Objective for Normal {
///     fn dim(&self) -> usize { 1 }
///     fn value(&self, theta: &[f64]) -> f64 { 0.5 * theta[0] * theta[0] }
///     fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
///         gradient[0] = theta[0];
///         self.value(theta)
///     }
/// }
///
/// let starts = vec![vec![-2.0], vec![-1.0], vec![1.0], vec![2.0]];
/// let chains = nuts(&Normal, &starts, 500, 1, &Nuts::default(), Control::default())?;
/// assert!(chains.of(|draw| draw[0])?.r_hat < 1.02);
/// # Ok::<(), riemla::Error>(())
/// ```
pub fn nuts(
    objective: &dyn Objective,
    starts: &[Vec<f64>],
    draws: usize,
    seed: u64,
    config: &Nuts,
    control: Control<'_, NutsStep>,
) -> Result<Chains> {
    config.check()?;
    check_starts(objective, config.chains, starts)?;
    let run = |(index, start): (usize, &Vec<f64>)| {
        let plan = Plan { objective, config, seed, index, draws, control };
        plan.run(start)
    };
    let chains: Vec<Chain> = starts.par_iter().enumerate().with_max_len(1).map(run).collect::<Result<_>>()?;
    Ok(Chains { chains })
}

/// Checks where chains begin.
pub(super) fn check_starts(objective: &dyn Objective, chains: usize, starts: &[Vec<f64>]) -> Result<()> {
    check_len("starts of chains", chains, starts.len())?;
    for (index, start) in starts.iter().enumerate() {
        check_len("length of a start", objective.dim(), start.len())?;
        check_finite("start of a chain", start)?;
        let value = objective.value(start);
        if !value.is_finite() {
            check_failure(objective)?;
            let what = format!("loss at the start of chain {index}");
            return Err(Error::range(what, value, "finite: start closer to the trained weights"));
        }
    }
    Ok(())
}

impl Chains {
    /// Draws that every chain has.
    pub fn rounds(&self) -> usize {
        self.chains.iter().map(|chain| chain.draws.len()).min().unwrap_or(0)
    }

    /// Draws of all chains in turn, so that any first part is fair to all: draw i is of chain i mod C.
    pub fn in_turn(&self) -> Vec<&[f64]> {
        let round = |k: usize| self.chains.iter().map(move |chain| chain.draws[k].as_slice());
        (0..self.rounds()).flat_map(round).collect()
    }

    /// All steps after the warm-up.
    pub fn transitions(&self) -> impl Iterator<Item = &Transition> {
        self.chains.iter().flat_map(|chain| &chain.transitions)
    }

    /// Number of steps, after the warm-up, whose integration broke down.
    pub fn divergences(&self) -> usize {
        self.transitions().filter(|transition| transition.diverging).count()
    }

    /// How a quantity converged.
    pub fn of(&self, quantity: impl Fn(&[f64]) -> f64) -> Result<Convergence> {
        let rounds = self.rounds();
        let values = |chain: &Chain| chain.draws[..rounds].iter().map(|draw| quantity(draw)).collect();
        let values: Vec<Vec<f64>> = self.chains.iter().map(values).collect();
        Convergence::of(&values.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}
