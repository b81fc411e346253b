//! One chain: the bridge from an [`Objective`] to the crate `nuts-rs`, which moves it.

use std::collections::HashMap;

use nuts_rs::{Chain as _, CpuLogpFunc, CpuMath, CpuMathError, HasDims, LogpError, Settings as _};

use super::nuts::{Chain, Nuts, NutsStep, Transition};
use crate::objective::{Objective, Probe, check_failure};
use crate::random::{Purpose, stream};
use crate::{Control, Error, Result};

/// With a diagonal mass matrix. One of low rank, or the Gaussian of a Laplace approximation, cost as many
/// gradients per effective draw on a network of 46 weights (docs/decisions/0015-reference-samplers.md).
type Settings = nuts_rs::DiagNutsSettings;

/// exp(−L) as `nuts-rs` sees it.
pub(super) struct Density<'a> {
    probe: Box<dyn Probe + 'a>,
    dim: usize,
    objective: &'a dyn Objective,
    control: Control<'a, NutsStep>,
}

/// Why there is no density at a point.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoDensity {
    #[error("outside the domain of the loss")]
    Outside,
    #[error("stopped on request")]
    Stopped,
    #[error("the objective failed")]
    Failed,
}

impl<'a> Density<'a> {
    pub(super) fn new(objective: &'a dyn Objective, control: Control<'a, NutsStep>) -> Self {
        Self { probe: objective.probe(), dim: objective.dim(), objective, control }
    }
}

impl LogpError for NoDensity {
    fn is_recoverable(&self) -> bool {
        matches!(self, Self::Outside)
    }
}

impl HasDims for Density<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".into(), self.dim as u64)])
    }
}

impl CpuLogpFunc for Density<'_> {
    type LogpError = NoDensity;
    type FlowParameters = ();
    type ExpandedVector = ();

    fn dim(&self) -> usize {
        self.dim
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> std::result::Result<f64, NoDensity> {
        if self.control.is_stopped() {
            return Err(NoDensity::Stopped);
        }
        let value = self.probe.value(position);
        if !value.is_finite() {
            let failed = self.objective.failure().is_some();
            return Err(if failed { NoDensity::Failed } else { NoDensity::Outside });
        }
        self.probe.gradient(gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        Ok(-value)
    }

    fn expand_vector<R: rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        _: &[f64],
    ) -> std::result::Result<(), CpuMathError> {
        Ok(())
    }
}

/// What a chain is made of.
pub(super) struct Plan<'a> {
    pub(super) objective: &'a dyn Objective,
    pub(super) config: &'a Nuts,
    pub(super) seed: u64,
    pub(super) index: usize,
    pub(super) draws: usize,
    pub(super) control: Control<'a, NutsStep>,
}

impl Plan<'_> {
    fn settings(&self) -> Settings {
        let mut settings = Settings {
            num_tune: self.config.warmup,
            maxdepth: self.config.max_depth,
            store_divergences: false,
            ..Settings::default()
        };
        settings.adapt_options.step_size_settings.target_accept = self.config.target_acceptance;
        settings
    }

    /// Runs the chain: warm-up, then draws.
    pub(super) fn run(&self, start: &[f64]) -> Result<Chain> {
        let Self { objective, control, .. } = *self;
        let density = Density::new(objective, control);
        let index = self.index as u64;
        let mut rng = stream(self.seed, Purpose::Chain, index);
        let made = self.settings().new_chain(index, CpuMath::new(density), &mut rng);
        let mut sampler = made.map_err(|error| self.failure(&error))?;
        let mut chain = Chain::default();
        if let Err(error) = sampler.set_position(start) {
            return self.ended(chain, &error);
        }
        for step in 0..self.config.warmup as usize + self.draws {
            let (theta, stats, progress) = match sampler.expanded_draw() {
                Ok((theta, _, stats, progress)) => (theta, stats, progress),
                Err(error) => return self.ended(chain, &error),
            };
            let draw = step.checked_sub(self.config.warmup as usize);
            let theta = theta.into_vec();
            control.report(&NutsStep { chain: self.index, draw, theta: theta.clone() });
            if draw.is_none() {
                chain.warmup_gradients += progress.num_gradients;
                chain.step_size = progress.step_size;
                continue;
            }
            chain.transitions.push(Transition {
                loss: -stats.point.logp,
                acceptance: stats.adapt.step_size.mean_tree_accept,
                depth: stats.depth,
                gradients: progress.num_gradients,
                diverging: progress.diverging,
            });
            chain.draws.push(theta);
        }
        Ok(chain)
    }

    /// A chain that could not continue: because of a stop, or with its reason.
    fn ended(&self, mut chain: Chain, error: &dyn std::fmt::Display) -> Result<Chain> {
        check_failure(self.objective)?;
        if self.control.is_stopped() {
            chain.stopped = true;
            return Ok(chain);
        }
        Err(self.failure(error))
    }

    fn failure(&self, error: &dyn std::fmt::Display) -> Error {
        Error::Unsupported(format!("chain {} of NUTS could not continue: {error}", self.index))
    }
}
