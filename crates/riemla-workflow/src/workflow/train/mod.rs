//! From a table to a trained model: for those who have none yet.

mod baselines;
mod candidates;
mod prepare;
mod search;

use std::path::PathBuf;

use riemla::curvature::{PriorChoice, SearchWay};
use riemla::nn::{Activation, NetworkSpec};
use riemla::train::{TrainReport, TrainStatus};
use riemla_files::{Digest, Model, Task, TrainingRecord};
use serde::Serialize;

use super::error::Result;
use super::input::{ColumnChoices, DataFiles};
use crate::likelihood::LikelihoodName;
use crate::watch::Session;

pub use baselines::Baseline;
pub use candidates::{AUTO_HIDDEN, Tried};
pub use prepare::Prepared;
pub(super) use prepare::prepare;
pub use search::SearchCost;

/// What is asked of a training.
#[derive(Debug, Clone)]
pub struct TrainConfig {
    /// The data; with `labels`, arrays or images without an encoding.
    pub data: DataFiles,
    /// Classes or numbers; by the look of the target if none.
    pub task: Option<Task>,
    /// What the outputs mean, which settles the task; the usual one of the task if none.
    pub likelihood: Option<LikelihoodName>,
    /// What is made of the columns.
    pub columns: ColumnChoices,
    /// The network.
    pub network: NetworkChoice,
    /// Prior precision: by the evidence, or given.
    pub prior: PriorChoice,
    /// How prior and noise are searched for.
    pub search: SearchWay,
    /// Weights of the classes in the loss.
    pub class_weight: ClassWeight,
    /// Share of the rows that is held out.
    pub validation: f64,
    /// Standardise the features.
    pub standardize: bool,
    /// Score a constant and a linear model on the same rows.
    pub baselines: bool,
    /// Most iterations of the last, exact stage.
    pub iterations: usize,
    /// Seed of the split and the initial weights.
    pub seed: u64,
}

/// How much the samples of a class count.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeight {
    /// Every sample once.
    #[default]
    Equal,
    /// Every class the same, however few its samples.
    Balanced,
    /// Given by the names of the classes; 1 for the others.
    Named(Vec<(String, f64)>),
}

/// Which network is trained.
#[derive(Debug, Clone, PartialEq)]
pub enum NetworkChoice {
    /// The best of [`AUTO_HIDDEN`].
    Auto(Activation),
    /// Hidden layers of these sizes; a linear model if there are none.
    Hidden(Vec<usize>, Activation),
    /// Any layers.
    Given(NetworkSpec),
}

impl TrainConfig {
    /// The defaults for a file.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: DataFiles::new(data),
            task: None,
            likelihood: None,
            columns: ColumnChoices::default(),
            network: NetworkChoice::Auto(Activation::Tanh),
            prior: PriorChoice::Optimize,
            search: SearchWay::Auto,
            class_weight: ClassWeight::Equal,
            validation: 0.15,
            standardize: true,
            baselines: true,
            iterations: 2000,
            seed: 1,
        }
    }
}

/// Scores of one part of the data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartScores {
    /// `train` or `validation`.
    pub part: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Names and values.
    pub scores: Vec<(&'static str, f64)>,
}

/// A model and how well it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Its scores.
    pub scores: Vec<PartScores>,
    /// What a constant and a linear model reach on the same rows.
    pub baselines: Vec<Baseline>,
    /// The networks that were compared, if one was to be chosen.
    pub tried: Vec<Tried>,
    /// Log marginal likelihood; none if there was no search for the prior.
    pub log_marginal_likelihood: Option<f64>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// How the last descent ended.
    pub report: TrainReport,
    /// What the training took, baselines included.
    pub cost: SearchCost,
}

/// How weights were found, in words.
const LADDER: &str = "L-BFGS on a ladder of priors";
const IN_TURN: &str = "L-BFGS in turn with the prior";

/// Trains a network on a table.
///
/// Weights, prior precision and noise are those of the largest evidence (see
/// [`riemla::curvature::PriorSearch`]). Once the session is stopped, training ends with the best until then; the notes say so.
pub fn train(config: &TrainConfig, session: Session<'_>) -> Result<Trained> {
    train_on(config, prepare(config)?, session)
}

/// The same with data that are at hand: the files of the settings are not read.
pub fn train_on(config: &TrainConfig, prepared: Prepared, session: Session<'_>) -> Result<Trained> {
    let (prepared, class_weights) = prepare::weighted(prepared, &config.class_weight)?;
    let mut run = search::Run::new(config, &prepared, session)?;
    let candidates::Best { fitted, tried, linear } = run.best_network()?;
    let baselines = if config.baselines { run.baselines(&fitted, linear)? } else { Vec::new() };
    let scores = run.part_scores(&fitted)?;
    let mut notes = std::mem::take(&mut run.notes);
    notes.splice(0..0, prepared.notes.iter().cloned());
    notes.extend(descent_note(&fitted.report));
    if fitted.report.status != TrainStatus::Stopped {
        notes.extend(baselines::warnings(&scores, &baselines));
    }
    let cost = run.cost;
    let model = fitted.model(
        Some(TrainingRecord {
            method: if cost.in_turn { IN_TURN } else { LADDER }.into(),
            seed: Some(config.seed),
            samples: prepared.data.train.len(),
            loss: fitted.report.value,
            gradient_norm: fitted.report.gradient_norm,
            iterations: cost.gradients,
            status: status(fitted.report.status).into(),
            data: Some(Digest::of_data(&prepared.data.train)),
            class_weights,
            held_out: prepared.held_out,
        }),
        prepared.encoding,
    );
    let search::Fitted { report, log_marginal_likelihood, .. } = fitted;
    Ok(Trained { model, scores, baselines, tried, log_marginal_likelihood, notes, report, cost })
}

fn status(status: TrainStatus) -> &'static str {
    match status {
        TrainStatus::Converged => "converged",
        TrainStatus::IterationLimit => "iteration limit",
        TrainStatus::NoProgress => "at the limit of the arithmetic",
        TrainStatus::NonFinite => "not finite",
        TrainStatus::Stopped => "interrupted",
    }
}

/// What the user should know about the end of the last descent.
fn descent_note(report: &TrainReport) -> Option<String> {
    match report.status {
        TrainStatus::Converged | TrainStatus::NoProgress => None,
        TrainStatus::Stopped => Some(
            "interrupted: the weights are the best until then, not at a minimum; train again for better ones"
                .into(),
        ),
        TrainStatus::IterationLimit => Some(format!(
            "not at a minimum after {} iterations (gradient norm {:.1e}): give more with --iterations",
            report.iterations, report.gradient_norm
        )),
        TrainStatus::NonFinite => Some(
            "the loss became infinite; the best weights before that are kept: check the data for huge values"
                .into(),
        ),
    }
}
