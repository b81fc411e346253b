//! From a table to a trained model: for those who have none yet.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure};
use riemla::data::Dataset;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior, PriorPrecision};
use riemla::train::{Recipe, TrainReport, TrainStatus};
use riemla_files::encoding::Tally;
use riemla_files::{
    Digest, Encoding, EncodingOptions, HeldOut, Model, Table, Task, TrainingData, TrainingRecord,
};
use serde::Serialize;

use super::error::{Result, WorkflowError};
use super::input::{ColumnChoices, DataFiles, looks_like_classes};
use super::predictor::Predictor;
use crate::scores::{Scorer, decoded_targets};
use crate::watch::{Watch, steps};

/// Prior precision and noise (of a standardised target) to begin with.
const FIRST_PRIOR: f64 = 1.0;
const FIRST_NOISE: f64 = 0.5;
/// Gradient norm at which a minimum counts as reached on the way; in the end the recipe's does.
const ROUGH: f64 = 1e-2;
/// Prior and weights have settled when log δ and log σ change by less; most rounds until then.
const SETTLED: f64 = 0.02;
const ROUNDS: usize = 15;
/// Up to so many weights the evidence uses the full curvature, beyond Kronecker factors.
const FULL_EVIDENCE: usize = 1000;

/// What is asked of a training.
#[derive(Debug, Clone)]
pub struct TrainConfig {
    /// The data; with `labels`, arrays or images without an encoding.
    pub data: DataFiles,
    /// Classes or numbers; by the look of the target if none.
    pub task: Option<Task>,
    /// What is made of the columns.
    pub columns: ColumnChoices,
    /// Sizes of the hidden layers.
    pub hidden: Vec<usize>,
    /// Their activation.
    pub activation: Activation,
    /// A whole network instead.
    pub network: Option<NetworkSpec>,
    /// Prior precision; by the evidence if none.
    pub prior_precision: Option<f64>,
    /// Share of the rows that is held out.
    pub validation: f64,
    /// Standardise the features.
    pub standardize: bool,
    /// Most iterations of the last, exact stage.
    pub iterations: usize,
    /// Seed of the split and the initial weights.
    pub seed: u64,
}

impl TrainConfig {
    /// The defaults for a file.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: DataFiles::new(data),
            task: None,
            columns: ColumnChoices::default(),
            hidden: vec![50],
            activation: Activation::Tanh,
            network: None,
            prior_precision: None,
            validation: 0.15,
            standardize: true,
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
    /// What the user should know.
    pub notes: Vec<String>,
    /// How the last descent ended.
    pub report: TrainReport,
    /// Gradients of all descents.
    pub evaluations: usize,
    /// Rounds of weights and prior in turn.
    pub rounds: usize,
}

/// Data made ready for training.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The columns of the table; none for arrays.
    pub encoding: Option<Encoding>,
    /// Rows to train on, and rows held out.
    pub data: TrainingData,
    /// How these were chosen.
    pub held_out: Option<HeldOut>,
    /// Classes or numbers.
    pub task: Task,
    /// What the user should know about the table.
    pub notes: Vec<String>,
}

/// Trains a network on a table.
///
/// Adam to come near a minimum, L-BFGS to reach it; then, unless the prior precision is given,
/// weights and prior (and noise) in turn until both settle. Once `stop` is set training ends where
/// it is; the notes say so.
pub fn train(config: &TrainConfig, stop: &AtomicBool, watch: &dyn Watch) -> Result<Trained> {
    train_on(config, prepare(config)?, stop, watch)
}

/// The same with data that are at hand: the files of the settings are not read.
pub fn train_on(
    config: &TrainConfig,
    prepared: Prepared,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Trained> {
    let (spec, likelihood) = network_for(config, &prepared)?;
    let network = Arc::new(Network::new(&spec)?);
    let mut run =
        Run { config, network, stop, watch, notes: prepared.notes.clone(), evaluations: 0, rounds: 0 };
    let train = Arc::new(prepared.data.train.clone());
    let precision = config.prior_precision.unwrap_or(FIRST_PRIOR);
    let prior = Prior::isotropic(precision, run.network.dim())?;
    let loss = NetworkLoss::new(run.network.clone(), train.clone(), likelihood, prior)?;
    let mut theta = run.network.initialize(config.seed);
    run.approach(&loss, &mut theta)?;
    let (loss, report) = run.settle(loss, &mut theta)?;
    run.warn(&report);
    let model = Model {
        network: spec,
        likelihood: loss.likelihood(),
        prior_precision: PriorPrecision::Scalar(loss.prior().scalar().unwrap_or(precision)),
        training: Some(TrainingRecord {
            method: "Adam, then L-BFGS".into(),
            seed: Some(config.seed),
            samples: prepared.data.train.len(),
            loss: report.value,
            gradient_norm: report.gradient_norm,
            iterations: run.evaluations,
            status: status(report.status).into(),
            data: Some(Digest::of_data(&prepared.data.train)),
            held_out: prepared.held_out,
        }),
        encoding: prepared.encoding,
        theta,
    };
    let scores = part_scores(&model, &prepared.data)?;
    let Run { notes, evaluations, rounds, .. } = run;
    Ok(Trained { scores, notes, model, report, evaluations, rounds })
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

/// Largest change of log δ and log σ.
fn change(old: &NetworkLoss, new: &NetworkLoss) -> f64 {
    let precision = |loss: &NetworkLoss| loss.prior().scalar().unwrap_or(f64::NAN).ln();
    let noise = |loss: &NetworkLoss| match loss.likelihood() {
        Likelihood::Gaussian { sigma_noise } => sigma_noise.ln(),
        _ => 0.0,
    };
    (precision(old) - precision(new)).abs().max((noise(old) - noise(new)).abs())
}

struct Run<'a> {
    config: &'a TrainConfig,
    network: Arc<Network>,
    stop: &'a AtomicBool,
    watch: &'a dyn Watch,
    notes: Vec<String>,
    evaluations: usize,
    rounds: usize,
}

impl Run<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn recipe(&self) -> Recipe {
        Recipe { iterations: self.config.iterations, ..Recipe::default() }
    }

    /// Adam: from anywhere to the neighbourhood of a minimum.
    fn approach(&mut self, loss: &NetworkLoss, theta: &mut [f64]) -> Result<()> {
        let recipe = self.recipe();
        self.watch.begin("training (Adam)", recipe.epochs_for(loss.data().len()) as u64);
        let watch = steps(self.watch);
        let control = Control::default().stopping(self.stop).observing(&watch);
        let report = recipe.approach(loss, self.config.seed, theta, control)?;
        self.evaluations += report.evaluations;
        Ok(())
    }

    /// L-BFGS: to the minimum, or near it.
    fn polish(&mut self, loss: &NetworkLoss, theta: &mut [f64], rough: bool) -> Result<TrainReport> {
        self.watch.begin("training (L-BFGS)", self.config.iterations as u64);
        let tolerance = rough.then_some(ROUGH);
        let watch = steps(self.watch);
        let control = Control::default().stopping(self.stop).observing(&watch);
        let report = self.recipe().polish(loss, theta, tolerance, control)?;
        self.evaluations += report.evaluations;
        Ok(report)
    }

    /// The prior precision (and noise) of the largest evidence, in turn with the weights.
    fn settle(&mut self, first: NetworkLoss, theta: &mut [f64]) -> Result<(NetworkLoss, TrainReport)> {
        let mut loss = first;
        let regression = matches!(loss.likelihood(), Likelihood::Gaussian { .. });
        let choose = self.config.prior_precision.is_none() || regression;
        let mut report = self.polish(&loss, theta, choose)?;
        for _ in 0..if choose { ROUNDS } else { 0 } {
            if self.stopped() {
                return Ok((loss, report));
            }
            let Some(next) = self.choose_prior(&loss, theta) else { break };
            let settled = change(&loss, &next) < SETTLED;
            loss = next;
            self.rounds += 1;
            report = self.polish(&loss, theta, !settled)?;
            if settled {
                return Ok((loss, report));
            }
        }
        if choose {
            report = self.polish(&loss, theta, false)?;
        }
        Ok((loss, report))
    }

    /// The loss with the best prior and noise for these weights; none, with a note, if there is none.
    fn choose_prior(&mut self, loss: &NetworkLoss, theta: &[f64]) -> Option<NetworkLoss> {
        self.watch.begin("choosing the prior precision", 0);
        let full = self.network.dim() <= FULL_EVIDENCE;
        let structure = if full { Structure::Full } else { Structure::Kronecker };
        let config = LaplaceConfig { structure, prior: PriorChoice::Optimize, ..LaplaceConfig::default() };
        let fitted = Laplace::fit(loss, theta, &config, Control::default()).and_then(|fitted| {
            let best = fitted.prior.scalar().unwrap_or(FIRST_PRIOR);
            let precision = self.config.prior_precision.unwrap_or(best);
            loss.with(fitted.likelihood, Prior::isotropic(precision, self.network.dim())?)
        });
        match fitted {
            Ok(next) => Some(next),
            Err(error) => {
                let precision = loss.prior().scalar().unwrap_or(f64::NAN);
                self.notes.push(format!("the prior precision stays at {precision:.4}: {error}"));
                None
            }
        }
    }

    fn warn(&mut self, report: &TrainReport) {
        match report.status {
            TrainStatus::Converged | TrainStatus::NoProgress => {}
            TrainStatus::Stopped => self.notes.push(
                "interrupted: the weights are where training stood; train again for better ones".into(),
            ),
            TrainStatus::IterationLimit => self.notes.push(format!(
                "not at a minimum after {} iterations (gradient norm {:.1e}): give more with --iterations",
                report.iterations, report.gradient_norm
            )),
            TrainStatus::NonFinite => self.notes.push(
                "the loss became infinite; the best weights before that are kept: check the data for huge values".into(),
            ),
        }
    }
}

fn held_out_rows(config: &TrainConfig, rows: usize) -> Result<usize> {
    if !(0.0..1.0).contains(&config.validation) {
        let what = "share of rows to hold out";
        return Err(riemla::Error::range(what, config.validation, "at least 0 and below 1").into());
    }
    let held_out = (config.validation * rows as f64).round() as usize;
    Ok(held_out.min(rows.saturating_sub(2)))
}

fn prepare(config: &TrainConfig) -> Result<Prepared> {
    if config.data.labels.is_some() {
        return prepare_arrays(config);
    }
    let table = config.data.table(&config.columns)?;
    let target = target_column(&table, config.data.target.as_deref())?;
    let classes = looks_like_classes(&table, &target)?;
    let task = config.task.unwrap_or(if classes { Task::Classification } else { Task::Regression });
    let held_out = held_out_rows(config, table.rows)?;
    let rows = HeldOut::trained_rows(table.rows, held_out, config.seed);
    let options = EncodingOptions {
        target: Some(target),
        standardize: config.standardize,
        rows,
        ..config.columns.options(task)
    };
    let (encoding, mut notes) = Encoding::fit(&table, &options)?;
    let mut tally = Tally::default();
    let data = encoding.dataset(&table, &mut tally)?;
    notes.extend(tally.notes());
    let (held_out, data) = split(data, held_out, config.seed);
    Ok(Prepared { encoding: Some(encoding), data, held_out, task, notes })
}

/// The named column, or the last one.
fn target_column(table: &Table, named: Option<&str>) -> Result<String> {
    match (named, table.columns.last()) {
        (Some(name), _) => Ok(table.column(name)?.name.clone()),
        (None, Some(last)) => Ok(last.name.clone()),
        (None, None) => Err(WorkflowError::unfit(format!("{} has no columns", table.file))),
    }
}

/// Images and arrays as they are; labels from their own file.
fn prepare_arrays(config: &TrainConfig) -> Result<Prepared> {
    let mut arrays = config.data.arrays()?;
    let target = arrays.take_target(&config.data)?;
    let whole = target.values.iter().all(|value| value.fract() == 0.0 && *value >= 0.0);
    let task = config.task.unwrap_or(if whole { Task::Classification } else { Task::Regression });
    let data = match task {
        Task::Classification if !whole => {
            return Err(WorkflowError::unfit("labels of classes must be whole numbers counted from 0"));
        }
        Task::Classification => {
            let labels = target.values.iter().map(|value| *value as usize).collect();
            Dataset::classification(arrays.values, arrays.width, labels)?
        }
        Task::Regression => Dataset::regression(arrays.values, arrays.width, target.values, target.width)?,
    };
    let held_out = held_out_rows(config, data.len())?;
    let (held_out, data) = split(data, held_out, config.seed);
    Ok(Prepared { encoding: None, data, held_out, task, notes: Vec::new() })
}

fn split(data: Dataset, held_out: usize, seed: u64) -> (Option<HeldOut>, TrainingData) {
    let all = |data| (None, TrainingData { train: data, validation: None });
    if held_out == 0 {
        return all(data);
    }
    match HeldOut::choose(&data, held_out, seed) {
        Some((record, parts)) => (Some(record), parts),
        None => all(data),
    }
}

fn network_for(config: &TrainConfig, prepared: &Prepared) -> Result<(NetworkSpec, Likelihood)> {
    let train = &prepared.data.train;
    let classes = match prepared.encoding.as_ref().and_then(Encoding::classes) {
        Some(classes) => classes.len(),
        None => {
            let all = [Some(train), prepared.data.validation.as_ref()];
            let labels = all.into_iter().flatten().filter_map(Dataset::labels).flatten();
            labels.max().map_or(0, |max| max + 1)
        }
    };
    let (likelihood, outputs) = match (prepared.task, train.targets()) {
        (Task::Classification, _) => (Likelihood::Categorical, classes),
        (Task::Regression, riemla::data::Targets::Values { outputs, .. }) => {
            (Likelihood::Gaussian { sigma_noise: FIRST_NOISE }, *outputs)
        }
        (Task::Regression, _) => (Likelihood::Gaussian { sigma_noise: FIRST_NOISE }, 1),
    };
    let spec = match &config.network {
        Some(spec) => spec.clone(),
        None => {
            let sizes: Vec<usize> = std::iter::once(train.features())
                .chain(config.hidden.iter().copied())
                .chain([outputs])
                .collect();
            NetworkSpec::mlp(&sizes, config.activation)
        }
    };
    Ok((spec, likelihood))
}

/// Scores of the trained weights on both parts.
fn part_scores(model: &Model, data: &TrainingData) -> Result<Vec<PartScores>> {
    let predictor = Predictor::map(model)?;
    let mut all = Vec::new();
    for (part, data) in [("train", Some(&data.train)), ("validation", data.validation.as_ref())] {
        let Some(data) = data else { continue };
        let targets = decoded_targets(data.targets(), predictor.scale);
        let scores = Scorer::default().all(&predictor.predict(data.inputs())?, &targets)?;
        all.push(PartScores { part, rows: data.len(), scores });
    }
    Ok(all)
}
