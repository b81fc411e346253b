//! The samplers behind `riemla sample`: one file each.
//!
//! A sampler is made with all checks before anything is written ([`sampler`]), takes the draws that are
//! missing ([`Sampler::draw`]), and then tells how the whole set looks ([`Finished::diagnose`]). It does not know
//! whether they are kept on the disk or in memory.

mod ensemble;
mod geodesics;
mod keeper;
mod nuts;
mod problem;
mod swag;

use std::path::Path;
use std::sync::Arc;

use riemla::curvature::Gaussian;
use riemla::posterior::{Draw, Model, PolishFound, Posterior};
use riemla::reference::Reference;
use riemla_files::{RunConfig, RunInfo, SavedPosterior, TrainingData};

pub(crate) use geodesics::Geodesics;
pub(crate) use keeper::{Keeper, Log};
pub use nuts::{ChainRecord, ChainSummary};

use super::diagnostics::Diagnosis;
use super::error::{Result, WorkflowError};
use super::sample_config::SampleConfig;
use crate::strength::FoundStrength;
use nuts::Sampling as Chains;

/// Takes draws.
pub(crate) trait Sampler: Send {
    /// The settings in force, as they are written beside the draws.
    fn config(&self) -> RunConfig;

    /// Number of weights.
    fn dim(&self) -> usize;

    /// Takes the draws that the keeper misses, until it halts.
    fn draw(self: Box<Self>, keeper: &Keeper<'_>) -> Result<Box<dyn Finished>>;
}

/// How draws were made.
#[derive(Debug, Clone, Default)]
pub struct Made {
    /// The strength of the metric in force, for geodesics.
    pub strength: Option<f64>,
    /// How it was found, if by a rule.
    pub found: Option<FoundStrength>,
    /// Step size and length of the chains that polished the draws, if they were.
    pub polish: Option<PolishFound>,
    /// Mean seconds per new draw on its thread, without the search for the strength; none where that means nothing.
    pub seconds_per_draw: Option<f64>,
}

/// A sampler that has done its work.
pub(crate) trait Finished: Send {
    /// Draws that failed, with the reason.
    fn failed(&self) -> &[(u64, riemla::Error)] {
        &[]
    }

    /// How the draws were made.
    fn made(&self) -> Made {
        Made::default()
    }

    /// The draws of the log that make a fair set.
    fn fair(&self, draws: Vec<Draw>) -> Vec<Draw> {
        draws
    }

    /// Looks at all draws of the set; `place` is its directory and what its draws have in common, if it has one.
    fn diagnose(&self, place: Option<(&Path, &RunInfo)>, draws: &[Draw]) -> Result<Diagnosis>;
}

/// The sampler of a method, for a posterior with its data.
pub(crate) fn sampler(
    saved: SavedPosterior,
    data: TrainingData,
    config: &SampleConfig,
) -> Result<Box<dyn Sampler>> {
    Ok(match &config.run {
        RunConfig::Posterior(settings) => Box::new(Geodesics::new(saved, data, settings, config)?),
        RunConfig::Reference(reference) => {
            check_here(reference, config)?;
            match reference {
                Reference::Nuts(settings) => Box::new(Chains::of_network(saved, data, *settings, config)?),
                Reference::Swag(settings) => Box::new(swag::Sampling::new(saved, data, *settings, config)?),
                Reference::Ensemble(settings) => {
                    Box::new(ensemble::Sampling::new(saved, data, *settings, config)?)
                }
                Reference::Mclmc(_) => return Err(only_compared()),
            }
        }
    })
}

/// The same for any model around a Gaussian. What trains again, or needs rows, is left to networks.
pub(crate) fn sampler_of_model(
    model: Arc<dyn Model>,
    gaussian: Arc<Gaussian>,
    config: &SampleConfig,
) -> Result<Box<dyn Sampler>> {
    Ok(match &config.run {
        RunConfig::Posterior(settings) => {
            Box::new(Geodesics::of(Posterior::new(model, gaussian, settings.clone())?, config))
        }
        RunConfig::Reference(reference) => {
            check_here(reference, config)?;
            match reference {
                Reference::Nuts(settings) => Box::new(Chains::new(model, gaussian, *settings, config)?),
                Reference::Mclmc(_) => return Err(only_compared()),
                Reference::Swag(_) | Reference::Ensemble(_) => {
                    return Err(WorkflowError::unfit(format!(
                        "{} trains a network again and needs one with its data; use nuts, la or riem-la for a model of \
                         your own",
                        reference.name()
                    )));
                }
            }
        }
    })
}

fn check_here(reference: &Reference, config: &SampleConfig) -> Result<()> {
    match &config.elsewhere {
        None => Ok(()),
        Some(_) => Err(WorkflowError::unfit(format!(
            "{} runs in one process: leave the executor out (map, la, lin-la, riem-la and lin-riem-la can use one)",
            reference.name()
        ))),
    }
}

fn only_compared() -> WorkflowError {
    WorkflowError::unfit(
        "mclmc is only compared with in `riemla reproduce truth`: its chains are not corrected, so that the draws are \
         biased; use nuts",
    )
}
