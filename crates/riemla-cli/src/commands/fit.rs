//! `riemla fit`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use riemla::curvature::{Curvature, LaplaceConfig, PriorChoice, Refit, Structure, Subset};
use riemla_files::members::write_posteriors;
use riemla_files::{Existing, OutputDirectory, SavedPosterior};
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::{DataFiles, FitConfig, Fitted, fit, memory};

use super::shared::{DataArguments, bytes, facts, model_directories, print_members, print_warnings, prior};
use riemla_cli::arguments::{named, whole};
use riemla_cli::interrupt::stop_flag;
use riemla_cli::progress::Bar;

const AFTER_HELP: &str = "\
Examples:
  riemla fit model/ --data train.csv --out posterior/
  riemla fit model/ --data train.csv --structure kron --prior-precision per-layer --out posterior/
  riemla fit model/ --data train.csv --subset last-layer --out posterior/
  riemla fit model/ --data train.csv --subset 2.weight,2.bias --out posterior/

The command prints how much memory the fit needs before it allocates it. If there is too little, the error lists \
the structures that would fit. Next: riemla sample posterior/";

/// Fit a Laplace approximation at the weights of a model
///
/// The result is a Gaussian over the weights. Its precision is the curvature of the loss plus the prior precision,
/// which stays as it was in training unless you ask for another. Rows of this file that `riemla train` held out are
/// held out again. Data that the model was not trained on are refused. The encoded data are stored in the posterior, so
/// that later commands need no other file.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Fit {
    /// Directory of the model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,

    #[command(flatten)]
    pub data: DataArguments,

    /// Column that says how often each row counts: a row with 2 counts as two equal rows [default: the column used in
    /// training]
    #[arg(long, value_name = "COLUMN", conflicts_with = "labels")]
    pub weights: Option<String>,

    /// Directory of the posterior to write
    #[arg(long, short, value_name = "DIR", default_value = "posterior")]
    pub out: PathBuf,

    /// Curvature of the loss: generalised Gauss-Newton (ggn), exact Hessian (hessian), or empirical Fisher (ef)
    #[arg(long, value_name = "NAME", default_value = "ggn", value_parser = named::<Curvature>(["ggn", "hessian", "ef"]))]
    pub curvature: Curvature,

    /// How much of the curvature to store: all of it, its diagonal, a Kronecker product per layer, or its largest
    /// eigenpairs [default: full; with few rows and many weights all its eigenpairs, which give the same Gaussian faster]
    #[arg(long, value_name = "NAME", value_parser = structure())]
    pub structure: Option<Structure>,

    /// Number of eigenpairs, with --structure low-rank
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<usize>(0, u64::MAX))]
    pub rank: usize,

    /// Which weights are uncertain: all, last-layer, or names of parameters such as 0.weight,0.bias
    #[arg(long, value_name = "NAMES", default_value = "all", value_parser = subset)]
    pub subset: Subset,

    /// Prior precision: model (as in training), auto (the largest marginal likelihood near these weights), per-layer (the
    /// same, with one precision per layer), or a number. With auto and per-layer, weights and prior are optimised in turn
    #[arg(long, value_name = "VALUE", default_value = "model", value_parser = prior_of_fit)]
    pub prior_precision: PriorChoice,

    /// Refit the weights under the prior precision (auto and per-layer always do this)
    #[arg(long)]
    pub refit: bool,

    /// Memory that the fit may use, such as 500M or 8G [default: the free memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<u64>,

    /// Fit to all rows of FILE even if the model was trained on other data
    #[arg(long)]
    pub other_data: bool,

    /// Do not store the data in the posterior; `riemla sample` then needs --data
    #[arg(long)]
    pub without_data: bool,

    /// Replace the posterior at DIR with all its draws; other files are never replaced
    #[arg(long)]
    pub force: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Reads a structure; the rank has an option of its own.
fn structure() -> impl TypedValueParser<Value = Structure> {
    let known = [Structure::Full, Structure::Diagonal, Structure::Kronecker, Structure::LowRank { rank: 0 }];
    let find = move |name: String| known.into_iter().find(|structure| memory::name(*structure) == name);
    PossibleValuesParser::new(known.map(memory::name)).try_map(move |name| find(name).ok_or("no structure"))
}

fn subset(text: &str) -> Result<Subset, String> {
    Ok(match text {
        "all" => Subset::All,
        "last-layer" => Subset::LastLayer,
        names => Subset::Parameters(names.split(',').map(|name| name.trim().to_string()).collect()),
    })
}

fn prior_of_fit(text: &str) -> Result<PriorChoice, String> {
    match text {
        "model" => Ok(PriorChoice::Keep),
        other => prior(other, "auto, per-layer, model, or a number above 0"),
    }
}

/// Fits, writes, prints.
pub fn run(arguments: &Fit, quiet: bool) -> anyhow::Result<ExitCode> {
    let mut inputs = arguments.data.inputs();
    inputs.push(&arguments.model);
    let output = OutputDirectory::claim(&arguments.out, Existing::replace_if(arguments.force), &inputs)?;
    let models = model_directories(&arguments.model)?;
    let config = config(arguments);
    let stop = stop_flag(quiet)?;
    let bar = Bar::new(quiet);
    let fitted: Result<Vec<Fitted>, _> =
        models.into_iter().map(|model| fit(model, &config, Session::new(stop, &bar))).collect();
    bar.finish();
    let fitted = fitted?;
    let posteriors: Vec<SavedPosterior> = fitted.iter().map(|member| member.posterior.clone()).collect();
    write_posteriors(&posteriors, &output)?;
    print_members(&fitted, arguments.json, in_json, in_words)?;
    if !quiet {
        print_warnings(fitted.iter().flat_map(|member| &member.warnings));
        eprintln!("Posterior: {}", arguments.out.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn config(arguments: &Fit) -> FitConfig {
    let optimized =
        matches!(arguments.prior_precision, PriorChoice::Optimize | PriorChoice::OptimizePerLayer);
    let laplace = LaplaceConfig {
        curvature: arguments.curvature,
        structure: match arguments.structure {
            Some(Structure::LowRank { .. }) => Structure::LowRank { rank: arguments.rank },
            other => other.unwrap_or_default(),
        },
        subset: arguments.subset.clone(),
        prior: arguments.prior_precision.clone(),
        // Weights that were trained under another prior are no minimum of the loss under the best one.
        refit: (arguments.refit || optimized).then(Refit::default),
    };
    let memory = arguments.memory.or_else(memory::available);
    FitConfig {
        data: DataFiles { weights: arguments.weights.clone(), ..arguments.data.files() },
        laplace,
        may_be_low_rank: arguments.structure.is_none(),
        memory,
        keep_data: !arguments.without_data,
        other_data: arguments.other_data,
    }
}

fn in_json(fitted: &Fitted) -> serde_json::Value {
    let laplace = &fitted.posterior.laplace;
    serde_json::json!({
        "weights": laplace.gaussian.theta().len(),
        "uncertain_weights": laplace.gaussian.subset().len(),
        "rows": fitted.rows.0,
        "held_out_rows": fitted.rows.1,
        "laplace": fitted.posterior.config,
        "prior_precision": fitted.posterior.prior_precision(),
        "likelihood": laplace.likelihood,
        "log_marginal_likelihood": laplace.log_marginal_likelihood,
        "gradient_norm": laplace.gradient_norm,
        "warnings": fitted.warnings,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

fn in_words(fitted: &Fitted) -> String {
    let laplace = &fitted.posterior.laplace;
    let held_out = if fitted.rows.1 > 0 { format!(" ({} held out)", fitted.rows.1) } else { String::new() };
    let evidence = laplace
        .log_marginal_likelihood
        .map_or(String::new(), |value| format!("log marginal likelihood: {value:.3}\n"));
    format!(
        "{}\nfitted to {} rows{held_out}; {} weights are uncertain\n{evidence}gradient norm at the weights: {:.2e}\n",
        facts(laplace.gaussian.theta().len(), &fitted.posterior.prior_precision(), laplace.likelihood),
        fitted.rows.0,
        laplace.gaussian.subset().len(),
        laplace.gradient_norm
    )
}
