//! `riemla train`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use riemla::nn::Activation;
use riemla_files::{Existing, OutputDirectory, Task};
use riemla_workflow::report::aligned;
use riemla_workflow::workflow::{TrainConfig, Trained, train};

use super::shared::{ColumnArguments, DataArguments, positive};
use riemla_cli::arguments::whole;
use riemla_cli::interrupt::stop_flag;
use riemla_cli::output::{json, print};
use riemla_cli::progress::Bar;

const AFTER_HELP: &str = "\
Examples:
  riemla train --data train.csv --target species --out model/
  riemla train --data houses.csv --target price --task regression --hidden 50,50 --out model/
  riemla train --data images.idx.gz --labels labels.idx.gz --network cnn.toml --out model/

Ctrl-C ends training where it is and keeps the weights. Next: riemla fit model/ --data train.csv";

/// Train a network on a table: for those who have no model yet
///
/// Standardises numbers, makes one input per category of text columns (at most 100; the rarest share
/// one), holds out a part of the rows, and trains to a minimum of the loss: Adam, then L-BFGS, then weights and prior precision (and in
/// regression the noise) in turn until the marginal likelihood is largest. What the table was
/// encoded with is kept in the model, so that later files are treated alike.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Train {
    #[command(flatten)]
    pub data: DataArguments,

    /// Directory of the model to write
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,

    /// What the target is [default: classification for text and few whole numbers]
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskName>,

    #[command(flatten)]
    pub columns: ColumnArguments,

    /// Sizes of the hidden layers; "none" for a linear model
    #[arg(long, value_name = "SIZES", default_value = "50", value_parser = hidden)]
    pub hidden: Hidden,

    /// Activation of the hidden layers
    #[arg(long, value_name = "NAME", default_value = "tanh")]
    pub activation: ActivationName,

    /// A file that describes the whole network instead (TOML or JSON, as for `riemla import`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hidden", "activation"])]
    pub network: Option<PathBuf>,

    /// Prior precision (weight decay), or "auto" for the largest marginal likelihood
    #[arg(long, value_name = "VALUE", default_value = "auto", value_parser = precision)]
    pub prior_precision: Precision,

    /// Share of the rows to hold out and score on; 0 for none
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, value_parser = share)]
    pub validation: f64,

    /// Take features as they are
    #[arg(long)]
    pub no_standardize: bool,

    /// Most iterations of the last stage
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = whole::<usize>(0, u64::MAX))]
    pub iterations: usize,

    /// Seed of the split and the initial weights
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    pub seed: u64,

    /// Replace the model or posterior at DIR; other files are never replaced
    #[arg(long)]
    pub force: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Sizes of hidden layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Hidden(pub Vec<usize>);

/// A prior precision; none means that the evidence chooses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision(pub Option<f64>);

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TaskName {
    Classification,
    Regression,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ActivationName {
    Tanh,
    Sigmoid,
    Softplus,
    Gelu,
    Silu,
    Relu,
}

impl From<ActivationName> for Activation {
    fn from(name: ActivationName) -> Self {
        match name {
            ActivationName::Tanh => Self::Tanh,
            ActivationName::Sigmoid => Self::Sigmoid,
            ActivationName::Softplus => Self::SOFTPLUS,
            ActivationName::Gelu => Self::Gelu,
            ActivationName::Silu => Self::Silu,
            ActivationName::Relu => Self::Relu,
        }
    }
}

fn hidden(text: &str) -> Result<Hidden, String> {
    if text == "none" {
        return Ok(Hidden(Vec::new()));
    }
    let size = |part: &str| part.trim().parse().ok().filter(|n| (1..=100_000).contains(n));
    let sizes: Option<Vec<usize>> = text.split(',').map(size).collect();
    sizes.map(Hidden).ok_or_else(|| "must be sizes such as 50 or 50,50, or none".into())
}

fn precision(text: &str) -> Result<Precision, String> {
    if text == "auto" { Ok(Precision(None)) } else { positive(text).map(|value| Precision(Some(value))) }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.9).contains(share));
    share.ok_or_else(|| "must be a number from 0 to 0.9".into())
}

/// Trains, writes, prints.
pub fn run(arguments: &Train, quiet: bool) -> anyhow::Result<ExitCode> {
    let mut inputs = arguments.data.inputs();
    inputs.extend(arguments.network.as_deref());
    let output = OutputDirectory::claim(&arguments.out, Existing::replace_if(arguments.force), &inputs)?;
    let config = config(arguments)?;
    let stop = stop_flag(quiet)?;
    let bar = Bar::new(quiet);
    let trained = train(&config, stop, &bar);
    bar.finish();
    let trained = trained?;
    trained.model.write_to(&output)?;
    print(&if arguments.json { in_json(&trained)? } else { in_words(&trained) })?;
    if !quiet {
        trained.notes.iter().for_each(|note| eprintln!("warning: {note}"));
        eprintln!("Model: {}", arguments.out.display());
    }
    Ok(riemla_cli::interrupt::code(stop))
}

fn config(arguments: &Train) -> anyhow::Result<TrainConfig> {
    let network = arguments.network.as_deref().map(riemla_files::read_model_spec).transpose()?;
    Ok(TrainConfig {
        data: arguments.data.files(),
        task: arguments.task.map(|task| match task {
            TaskName::Classification => Task::Classification,
            TaskName::Regression => Task::Regression,
        }),
        columns: arguments.columns.choices(),
        hidden: arguments.hidden.0.clone(),
        activation: arguments.activation.into(),
        network: network.map(|spec| spec.network),
        prior_precision: arguments.prior_precision.0,
        validation: arguments.validation,
        standardize: !arguments.no_standardize,
        iterations: arguments.iterations,
        seed: arguments.seed,
    })
}

fn in_json(trained: &Trained) -> anyhow::Result<String> {
    let model = &trained.model;
    json(&serde_json::json!({
        "weights": model.theta.len(),
        "network": model.network,
        "likelihood": model.likelihood,
        "prior_precision": model.prior_precision,
        "training": model.training,
        "scores": trained.scores,
        "notes": trained.notes,
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

fn in_words(trained: &Trained) -> String {
    let mut rows = Vec::new();
    if let Some(first) = trained.scores.first() {
        let names = first.scores.iter().map(|(name, _)| name.to_string());
        rows.push(["part".to_string(), "rows".into()].into_iter().chain(names).collect());
    }
    for part in &trained.scores {
        let values = part.scores.iter().map(|(_, value)| format!("{value:.4}"));
        rows.push([part.part.to_string(), part.rows.to_string()].into_iter().chain(values).collect());
    }
    let model = &trained.model;
    let facts = super::shared::facts(model.theta.len(), &model.prior_precision, model.likelihood);
    let ended = model.training.as_ref().map_or(String::new(), |training| {
        format!("training: {}, gradient norm {:.1e}\n", training.status, training.gradient_norm)
    });
    format!("{}\n{facts}\n{ended}", aligned(&rows))
}
