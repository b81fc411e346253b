//! What is asked of a sampling.

use std::sync::Arc;

use riemla::objective::TargetKind;
use riemla::posterior::{BatchDesign, BatchPlan, PosteriorConfig};
use riemla_files::{RunConfig, SavedPosterior, Shard};

use super::elsewhere::Elsewhere;
use super::input::DataFiles;

/// What is asked of a sampling.
#[derive(Debug, Clone)]
pub struct SampleConfig {
    /// The method with its settings.
    pub run: RunConfig,
    /// Number of draws in the set.
    pub samples: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Seconds after which no draw is begun or finished any more.
    pub seconds: Option<f64>,
    /// Parts of the rows that are left out in turn, to find how much the trained weights should count beside the draws: of tables with
    /// few rows only. Below 2: not at all, and what was found before is forgotten; none: what was found before stays.
    pub folds: Option<usize>,
    /// Name of the set; that of the method if none.
    pub name: Option<String>,
    /// The training data, if the posterior does not hold them.
    pub data: Option<DataFiles>,
    /// Uncertain weights up to which NUTS is run.
    pub most_weights: usize,
    /// The part of the draws that this process takes; all if none.
    pub shard: Option<Shard>,
    /// Who takes the draws; this process if none.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
}

/// Uncertain weights up to which NUTS is run by default: hours, not days.
pub const MOST_WEIGHTS: usize = 2000;

impl SampleConfig {
    /// Draws by a method, without a limit of time.
    pub fn new(run: impl Into<RunConfig>, samples: u64, seed: u64) -> Self {
        let run = run.into();
        Self {
            run,
            samples,
            seed,
            seconds: None,
            folds: None,
            name: None,
            data: None,
            most_weights: MOST_WEIGHTS,
            shard: None,
            elsewhere: None,
        }
    }

    /// Uniform batches keep the frequencies of classes; numbers have none.
    pub(super) fn for_model(&self, saved: &SavedPosterior) -> Self {
        let mut config = self.clone();
        let classes = saved.laplace.likelihood.kind() == TargetKind::Classes;
        if let RunConfig::Posterior(posterior) = &mut config.run {
            let uniform = |batch: &&mut BatchPlan| classes && batch.design == BatchDesign::Uniform;
            posterior
                .batch
                .iter_mut()
                .filter(uniform)
                .for_each(|batch| batch.design = BatchDesign::Stratified);
        }
        config
    }

    /// The name of the set.
    pub fn set_name(&self) -> String {
        let kind = match &self.run {
            RunConfig::Posterior(posterior) if posterior.batch.is_some() => "-batches",
            RunConfig::Posterior(posterior) if is_polished_otherwise(posterior) => "-polished",
            _ => "",
        };
        self.name.clone().unwrap_or_else(|| format!("{}{kind}", self.run.method()))
    }
}

/// Whether draws are polished in another way than by default.
fn is_polished_otherwise(config: &PosteriorConfig) -> bool {
    config.polish.is_some() && config.polish != PosteriorConfig::of_commands(config.method).polish
}
