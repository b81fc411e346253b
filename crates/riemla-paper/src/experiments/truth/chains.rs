//! Markov chains of a target, and whether they can be trusted.

use riemla::reference::{Chains, Convergence, Reference, microcanonical, nuts};
use serde::{Deserialize, Serialize};

use super::super::cell::{Drawn, Wanted, keep};
use super::super::{ExperimentError, Result};
use super::distance::{finite, slices};
use super::plan::ChainPlan;
use super::target::Target;

/// How chains ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChainVerdict {
    /// Largest R-hat of what is judged: predictions and the loss for networks, whose weights can be
    /// exchanged without another prediction; the coordinates and the loss for densities.
    pub r_hat: Option<f64>,
    /// Smallest effective sample size of the same.
    pub bulk_ess: Option<f64>,
    /// The same for the tails.
    pub tail_ess: Option<f64>,
    /// Largest R-hat of single weights.
    pub weights_r_hat: Option<f64>,
    /// Steps whose integration broke down.
    pub divergences: usize,
    /// Gradients before the draws.
    pub warmup_gradients: u64,
    /// Gradients of the draws.
    pub gradients: u64,
    /// Whether R-hat and effective sample sizes keep their limits.
    pub converged: bool,
}

/// Runs chains of NUTS, or microcanonical ones of a step size; draws of one follow those of another.
pub fn run(target: &dyn Target, plan: &ChainPlan, step: Option<f64>, wanted: &Wanted<'_>) -> Result<Drawn> {
    let objective = target.objective(false)?;
    let starts: Vec<Vec<f64>> = (0..plan.chains as u64).map(|c| target.start(wanted.seed, c)).collect();
    let control = wanted.session.control();
    let (chains, config) = match step.map(|step| plan.microcanonical(step)) {
        None => {
            let config = plan.nuts();
            (nuts(&*objective, &starts, plan.draws, wanted.seed, &config, control)?, Reference::Nuts(config))
        }
        Some(config) => {
            let chains = microcanonical(&*objective, &starts, plan.draws, wanted.seed, &config, control)?;
            (chains, Reference::Mclmc(config))
        }
    };
    if chains.chains.iter().any(|chain| chain.stopped) {
        return Err(ExperimentError::Interrupted);
    }
    let summary = summary(target, &chains)?;
    let thetas = chains.chains.into_iter().flat_map(|chain| chain.draws).collect();
    let drawn = Drawn {
        chains: Some(summary),
        ..Drawn::of_gradients(thetas, (summary.gradients + summary.warmup_gradients) as usize)
    };
    keep(wanted, config.into(), target.center().len(), drawn)
}

fn summary(target: &dyn Target, chains: &Chains) -> Result<ChainVerdict> {
    let dim = target.center().len();
    let weights = (0..dim).map(|k| chains.of(|draw| draw[k])).collect::<riemla::Result<Vec<_>>>()?;
    let weights = Convergence::worst(weights);
    let losses: Vec<Vec<f64>> =
        chains.chains.iter().map(|chain| chain.transitions.iter().map(|step| step.loss).collect()).collect();
    let loss = Convergence::of(&slices(&losses))?;
    let judged = match functions(target, chains)? {
        Some(functions) => Convergence::worst([functions, loss]),
        None => Convergence::worst([weights, loss]),
    };
    Ok(ChainVerdict {
        r_hat: finite(judged.r_hat),
        bulk_ess: finite(judged.bulk_ess),
        tail_ess: finite(judged.tail_ess),
        weights_r_hat: finite(weights.r_hat),
        divergences: chains.divergences(),
        warmup_gradients: chains.chains.iter().map(|chain| chain.warmup_gradients).sum(),
        gradients: chains.transitions().map(|step| step.gradients).sum(),
        converged: judged.is_good(),
    })
}

/// The worst convergence of single predictions; none for a density.
fn functions(target: &dyn Target, chains: &Chains) -> Result<Option<Convergence>> {
    let mut all: Vec<Vec<Vec<f64>>> = Vec::new();
    for chain in &chains.chains {
        match target.functions(&slices(&chain.draws), false)? {
            Some(functions) => all.push(functions),
            None => return Ok(None),
        }
    }
    let count = all.first().and_then(|chain| chain.first()).map_or(0, Vec::len);
    let one = |j: usize| {
        let series: Vec<Vec<f64>> =
            all.iter().map(|chain| chain.iter().map(|draw| draw[j]).collect()).collect();
        Convergence::of(&slices(&series))
    };
    Ok(Some(Convergence::worst((0..count).map(one).collect::<riemla::Result<Vec<_>>>()?)))
}
