//! `riemla train`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValue;
use riemla::curvature::{PriorChoice, SearchWay};
use riemla::nn::Activation;
use riemla_files::members::write_models;
use riemla_files::{Existing, Model, OutputDirectory, Task};
use riemla_workflow::likelihood::LikelihoodName;
use riemla_workflow::report::aligned;
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::members::train_members;
use riemla_workflow::workflow::{ClassWeight, DataFiles, NetworkChoice, TrainConfig, Trained};

use super::shared::{ColumnArguments, DataArguments, likelihood, print_members, print_warnings, prior};
use riemla_cli::arguments::{named, number, whole};
use riemla_cli::interrupt::stop_flag;
use riemla_cli::progress::Bar;

const AFTER_HELP: &str = "\
Examples:
  riemla train --data train.csv --target species --out model/
  riemla train --data houses.csv --target price --task regression --hidden 50,50 --out model/
  riemla train --data train.csv --target species --hidden 50 --prior-precision per-layer --out model/
  riemla train --data fraud.csv --target fraud --class-weight balanced --out model/
  riemla train --data train.csv --target species --members 5 --out model/
  riemla train --data visits.csv --target visits --likelihood poisson --out model/
  riemla train --data parts.csv --target length,width --weights copies --out model/
  riemla train --data images.idx.gz --labels labels.idx.gz --network cnn.toml --out model/

About 30 priors are tried per network, from strong to weak; the command prints how many it tried, and the gradients \
and seconds they took. With many rows and a large network, weights and prior are improved in turn instead (--search). \
Ctrl-C ends training and keeps the best weights so far. Next: riemla fit model/ --data train.csv";

/// Train a network on a table, if you have no model yet
///
/// Standardises numbers, makes one input per category of text columns (at most 100; the rarest categories share one), and
/// holds out a part of the rows. Then it searches for the prior precision (and in regression the noise) with the largest
/// marginal likelihood, with the weights at a minimum of the loss under each prior. The encoding of the table is stored in
/// the model, so that later files are treated in the same way. A constant and a linear model are scored on the same rows,
/// for comparison.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Train {
    #[command(flatten)]
    pub data: DataArguments,

    /// Directory of the model to write
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,

    /// What the target is [default: classification for text and few different whole numbers, otherwise regression]
    #[arg(long, value_name = "TASK", conflicts_with = "likelihood", value_parser = named::<Task>(["classification", "regression"]))]
    pub task: Option<Task>,

    /// What the outputs mean, more precisely than --task [default: categorical or gaussian; with several target columns
    /// multi-label if each has two values, otherwise gaussian-per-output]
    #[arg(long, value_name = "NAME", value_parser = likelihood())]
    pub likelihood: Option<LikelihoodName>,

    /// Column that says how often each row counts in training: a row with 2 counts as two equal rows
    #[arg(long, value_name = "COLUMN", conflicts_with = "labels")]
    pub weights: Option<String>,

    #[command(flatten)]
    pub columns: ColumnArguments,

    /// Sizes of the hidden layers: "none" for a linear model, or "auto" for the best of none, 16, 50 and 50,50 (by
    /// marginal likelihood)
    #[arg(long, value_name = "SIZES", default_value = "auto", value_parser = hidden)]
    pub hidden: Hidden,

    /// Activation of the hidden layers
    #[arg(long, value_name = "NAME", default_value = "tanh", value_parser = named::<Activation>(ACTIVATIONS))]
    pub activation: Activation,

    /// File that describes the whole network (TOML or JSON, as for `riemla import`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hidden", "activation"])]
    pub network: Option<PathBuf>,

    /// Prior precision (weight decay): auto (the largest marginal likelihood), per-layer (the same, with one precision per
    /// layer), or a number
    #[arg(long, value_name = "VALUE", default_value = "auto", value_parser = prior_of_training)]
    pub prior_precision: PriorChoice,

    /// How the prior precision is searched for
    #[arg(long, value_name = "WAY", default_value = "auto", value_parser = named::<SearchWay>(SEARCHES.map(|(name, help)| PossibleValue::new(name).help(help))))]
    pub search: SearchWay,

    /// Weights of the classes in the loss: "balanced" (each class counts the same), or CLASS=WEIGHT, such as fraud=10
    #[arg(long, value_name = "WEIGHTS", value_parser = class_weight)]
    pub class_weight: Option<ClassWeight>,

    /// Share of the rows to hold out and score on; 0 for none
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, value_parser = share)]
    pub validation: f64,

    /// Do not standardise the features
    #[arg(long)]
    pub no_standardize: bool,

    /// Maximum number of iterations of the last training stage
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = whole::<usize>(0, u64::MAX))]
    pub iterations: usize,

    /// Number of networks to train on the same rows, each from its own initial weights (member k has the seed plus k − 1);
    /// fit, sample, evaluate and predict treat them as one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>(1, 1000))]
    pub members: usize,

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

/// Sizes of hidden layers; none means that the best of a few is chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Hidden(pub Option<Vec<usize>>);

const SEARCHES: [(&str, &str); 3] = [
    ("auto", "ladder, or in-turn where the ladder would take too long"),
    ("ladder", "about 30 priors, each with the weights at a minimum of the loss"),
    (
        "in-turn",
        "from one start: the weights, then the best prior for them, repeated until the prior settles",
    ),
];

const ACTIVATIONS: [&str; 6] = ["tanh", "sigmoid", "softplus", "gelu", "silu", "relu"];

fn class_weight(text: &str) -> Result<ClassWeight, String> {
    if text == "balanced" {
        return Ok(ClassWeight::Balanced);
    }
    let one = |part: &str| {
        let (name, weight) = part.rsplit_once('=')?;
        let weight = weight.trim().parse().ok().filter(|w: &f64| w.is_finite() && *w > 0.0)?;
        Some((name.trim().to_string(), weight))
    };
    let named: Option<Vec<_>> = text.split(',').map(one).collect();
    named
        .map(ClassWeight::Named)
        .ok_or_else(|| "must be balanced, or CLASS=WEIGHT,… with weights above 0".into())
}

fn hidden(text: &str) -> Result<Hidden, String> {
    match text {
        "none" => return Ok(Hidden(Some(Vec::new()))),
        "auto" => return Ok(Hidden(None)),
        _ => {}
    }
    let size = |part: &str| part.trim().parse().ok().filter(|n| (1..=100_000).contains(n));
    let sizes: Option<Vec<usize>> = text.split(',').map(size).collect();
    let sizes = sizes.ok_or("must be sizes such as 50 or 50,50, or none, or auto")?;
    Ok(Hidden(Some(sizes)))
}

fn prior_of_training(text: &str) -> Result<PriorChoice, String> {
    prior(text, "auto, per-layer, or a number above 0")
}

fn share(text: &str) -> Result<f64, String> {
    number(text, |share| (0.0..=0.9).contains(&share), "a number from 0 to 0.9")
}

/// Trains, writes, prints.
pub fn run(arguments: &Train, quiet: bool) -> anyhow::Result<ExitCode> {
    let mut inputs = arguments.data.inputs();
    inputs.extend(arguments.network.as_deref());
    let output = OutputDirectory::claim(&arguments.out, Existing::replace_if(arguments.force), &inputs)?;
    let config = config(arguments)?;
    let stop = stop_flag(quiet)?;
    let bar = Bar::new(quiet);
    let trained = train_members(&config, arguments.members, Session::new(stop, &bar));
    bar.finish();
    let trained = trained?;
    let models: Vec<Model> = trained.iter().map(|member| member.model.clone()).collect();
    write_models(&models, &output)?;
    print_members(&trained, arguments.json, in_json, in_words)?;
    if !quiet {
        print_warnings(trained.iter().flat_map(|member| &member.notes));
        eprintln!("Model: {}", arguments.out.display());
    }
    Ok(riemla_cli::interrupt::code(stop))
}

fn config(arguments: &Train) -> anyhow::Result<TrainConfig> {
    let activation = arguments.activation;
    let network = match (&arguments.network, &arguments.hidden.0) {
        (Some(file), _) => NetworkChoice::Given(riemla_files::read_model_spec(file)?.network),
        (None, Some(sizes)) => NetworkChoice::Hidden(sizes.clone(), activation),
        (None, None) => NetworkChoice::Auto(activation),
    };
    Ok(TrainConfig {
        data: DataFiles { weights: arguments.weights.clone(), ..arguments.data.files() },
        likelihood: arguments.likelihood,
        task: arguments.task,
        columns: arguments.columns.choices(),
        baselines: true,
        network,
        prior: arguments.prior_precision.clone(),
        search: arguments.search,
        class_weight: arguments.class_weight.clone().unwrap_or_default(),
        validation: arguments.validation,
        standardize: !arguments.no_standardize,
        iterations: arguments.iterations,
        seed: arguments.seed,
    })
}

fn in_json(trained: &Trained) -> serde_json::Value {
    let model = &trained.model;
    serde_json::json!({
        "weights": model.theta.len(),
        "network": model.network,
        "likelihood": model.likelihood,
        "prior_precision": model.prior_precision,
        "training": model.training,
        "log_marginal_likelihood": trained.log_marginal_likelihood,
        "scores": trained.scores,
        "baselines": trained.baselines,
        "tried": trained.tried,
        "trials": trained.cost.trials,
        "gradients": trained.cost.gradients,
        "notes": trained.notes,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

fn in_words(trained: &Trained) -> String {
    let mut rows = Vec::new();
    if let Some(first) = trained.scores.first() {
        let names = first.scores.iter().map(|(name, _)| name.to_string());
        rows.push(["model".to_string(), "part".into(), "rows".into()].into_iter().chain(names).collect());
    }
    let baselines = trained.baselines.iter().map(|baseline| (baseline.name, &baseline.scores));
    for (name, parts) in [("network", &trained.scores)].into_iter().chain(baselines) {
        for part in parts {
            let values = part.scores.iter().map(|(_, value)| format!("{value:.4}"));
            let head = [name.to_string(), part.part.to_string(), part.rows.to_string()];
            rows.push(head.into_iter().chain(values).collect());
        }
    }
    let model = &trained.model;
    let facts = super::shared::facts(model.theta.len(), &model.prior_precision, model.likelihood);
    let evidence = trained
        .log_marginal_likelihood
        .map_or(String::new(), |value| format!("log marginal likelihood: {value:.3}\n"));
    let ended = model.training.as_ref().map_or(String::new(), |training| {
        format!("training: {}, gradient norm {:.1e}\n", training.status, training.gradient_norm)
    });
    let cost = trained.cost;
    format!(
        "{}{}\n{facts}\n{evidence}{ended}priors tried: {}, with {} gradients in {:.1} s\n",
        tried(trained),
        aligned(&rows),
        cost.trials,
        cost.gradients,
        cost.seconds
    )
}

/// The networks that were compared, if there were several.
fn tried(trained: &Trained) -> String {
    if trained.tried.is_empty() {
        return String::new();
    }
    let mut rows = vec![
        ["hidden", "weights", "log marginal likelihood", "held-out log loss", ""].map(String::from).to_vec(),
    ];
    let number =
        |value: Option<f64>, digits: usize| value.map_or("–".into(), |value| format!("{value:.digits$}"));
    for tried in &trained.tried {
        rows.push(vec![
            tried.name(),
            tried.weights.to_string(),
            number(tried.log_marginal_likelihood, 2),
            number(tried.held_out, 4),
            if tried.chosen { "chosen".into() } else { String::new() },
        ]);
    }
    format!("{}\n", aligned(&rows))
}
