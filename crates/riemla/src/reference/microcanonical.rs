//! Microcanonical Langevin chains of the crate `nuts-rs`: a rival to compare with. They are not corrected: without a
//! Metropolis test the error of their steps stays in the draws.

use nuts_rs::{Chain as _, CpuMath, DiagMclmcSettings, MclmcTrajectoryKind, Settings as _};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chain::Density;
use super::nuts::{Chain, Chains, NutsStep, Transition, check_starts};
use crate::objective::{Objective, check_failure};
use crate::random::{Purpose, stream};
use crate::{Control, Error, Result};

/// Settings of [`microcanonical`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Microcanonical {
    /// Number of chains.
    pub chains: usize,
    /// Steps of every chain in which the diagonal mass matrix is found; they are not kept.
    pub warmup: u64,
    /// Step size, in standard deviations of the weights. The bias of the draws falls with its square; nothing chooses it.
    pub step: f64,
    /// Length after which the direction is forgotten, in the same unit; between two draws a chain goes as far.
    pub length: f64,
}

impl Default for Microcanonical {
    /// Step and length as in `nuts-rs`.
    fn default() -> Self {
        Self { chains: 4, warmup: 1000, step: 0.5, length: 3.0 }
    }
}

impl Microcanonical {
    /// Checks the ranges of the settings.
    pub fn check(&self) -> Result<()> {
        if !(1..=1000).contains(&self.chains) {
            return Err(Error::range("chains", self.chains, "from 1 to 1000"));
        }
        for (what, value) in [("step", self.step), ("length", self.length)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::range(what, value, "finite and above 0"));
            }
        }
        Ok(())
    }

    fn settings(&self) -> DiagMclmcSettings {
        DiagMclmcSettings {
            step_size: self.step,
            momentum_decoherence_length: self.length,
            num_tune: self.warmup,
            trajectory_kind: MclmcTrajectoryKind::EuclideanEarlyThenMicrocanonical,
            store_divergences: false,
            ..DiagMclmcSettings::default()
        }
    }
}

/// Runs chains from `starts`, each with `draws` draws after its warm-up, in parallel; see [`super::nuts`]. The draws are
/// those of exp(−L) up to a bias that falls with the step. At least two parameters.
pub fn microcanonical(
    objective: &dyn Objective,
    starts: &[Vec<f64>],
    draws: usize,
    seed: u64,
    config: &Microcanonical,
    control: Control<'_, NutsStep>,
) -> Result<Chains> {
    config.check()?;
    check_starts(objective, config.chains, starts)?;
    let run =
        |(index, start): (usize, &Vec<f64>)| chain(objective, (index, start), draws, seed, config, control);
    let chains: Vec<Chain> = starts.par_iter().enumerate().with_max_len(1).map(run).collect::<Result<_>>()?;
    Ok(Chains { chains })
}

fn chain(
    objective: &dyn Objective,
    (index, start): (usize, &[f64]),
    draws: usize,
    seed: u64,
    config: &Microcanonical,
    control: Control<'_, NutsStep>,
) -> Result<Chain> {
    let failure = |error: &dyn std::fmt::Display| {
        Error::Unsupported(format!("microcanonical chain {index} could not continue: {error}"))
    };
    let mut rng = stream(seed, Purpose::Chain, index as u64);
    let math = CpuMath::new(Density::new(objective, control));
    let made = config.settings().new_chain(index as u64, math, &mut rng);
    let mut sampler = made.map_err(|error| failure(&error))?;
    let mut chain = Chain { step_size: config.step, ..Chain::default() };
    let mut moved = sampler.set_position(start);
    for step in 0..config.warmup as usize + draws {
        let drawn = match moved {
            Ok(()) => sampler.draw(),
            Err(error) => Err(error),
        };
        let (theta, progress) = match drawn {
            Ok(drawn) => drawn,
            Err(error) => {
                check_failure(objective)?;
                chain.stopped = control.is_stopped();
                return if chain.stopped { Ok(chain) } else { Err(failure(&error)) };
            }
        };
        moved = Ok(());
        let draw = step.checked_sub(config.warmup as usize);
        control.report(&NutsStep { chain: index, draw, theta: theta.to_vec() });
        if draw.is_none() {
            chain.warmup_gradients += progress.num_gradients;
            continue;
        }
        chain.transitions.push(Transition {
            loss: objective.value(&theta),
            // Nothing is ever rejected.
            acceptance: 1.0,
            depth: 0,
            gradients: progress.num_gradients,
            diverging: progress.diverging,
        });
        chain.draws.push(theta.into_vec());
    }
    Ok(chain)
}
