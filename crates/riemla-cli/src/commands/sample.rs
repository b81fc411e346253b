//! `riemla sample`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use riemla::nn::Arithmetic;
use riemla::posterior::{
    BatchDesign, BatchLength, BatchPlan, BatchSize, Method, MetricChoice, Polish, PolishLength, PolishReport,
    PosteriorConfig, Strength,
};
use riemla::reference::Reference;
use riemla_files::{RunConfig, Shard};
use riemla_workflow::method::MethodName;
use riemla_workflow::report::aligned;
use riemla_workflow::setting::Setting;
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::members::sample_members;
use riemla_workflow::workflow::{DataFiles, FOLDS, SampleConfig, Sampled};

use super::sample_reference::{ReferenceArguments, chain_rows};
use super::shared::{ReadingArguments, positive, print_members};
use riemla_cli::arguments::{ShardArgument, named, preset, shard, whole};
use riemla_cli::interrupt::{code, stop_flag};
use riemla_cli::progress::Bar;

const AFTER_HELP: &str = "\
Examples:
  riemla sample posterior/                                 100 polished draws of riem-la, strength found automatically
  riemla sample posterior/ --method lin-riem-la --samples 30
  riemla sample posterior/ --batch 1000 --seconds 600      a new batch per draw, ten minutes at most
  riemla sample posterior/ --samples 200                   adds 100 draws to the first 100
  riemla sample posterior/ --polish 0 --name geodesics     geodesics alone: half the time, further from exact draws
  mpirun -n 8 riemla sample posterior/ --shard auto        eight processes; run it without --shard to merge
  riemla sample posterior/ --method nuts                   exact draws, for small networks
  riemla sample posterior/ --method ensemble -n 10         trains ten networks from new initial weights

Every draw is saved as soon as it is finished. After Ctrl-C, a crash or the end of the time budget, the same \
command continues where it stopped; only the chains of nuts start again, and they give the same draws. The \
same seed gives the same draws on any number of threads.
Next: riemla predict posterior/ --data new.csv --out predictions.csv";

/// Draw weights from a posterior
///
/// Writes the draws, and a table of diagnostics with one line per draw, to POSTERIOR/samples/NAME.
///
/// riem-la follows geodesics of the loss, so that draws stay where the loss is low. la draws from the Gaussian. lin-la and
/// lin-riem-la predict with the network linearised at the trained weights. For comparison: nuts runs Markov chains on the
/// exact posterior and reports R-hat and the effective sample size, which show whether the chains have converged; swag uses
/// the mean and covariance of stochastic gradient descent; ensemble trains the network again from new initial weights. All
/// methods use the prior and noise of the fit.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Sample {
    /// Directory of the posterior
    #[arg(value_name = "POSTERIOR")]
    pub posterior: PathBuf,

    /// Method: riem-la, lin-riem-la, la or lin-la; for comparison nuts, swag or ensemble
    #[arg(long, short, value_name = "METHOD", default_value = "riem-la", value_parser = method)]
    pub method: MethodName,

    /// Number of draws in the set [default: 100; 1000 for nuts, 5 for ensemble]
    #[arg(long, short = 'n', value_name = "N", value_parser = whole::<u64>(1, 1_000_000))]
    pub samples: Option<u64>,

    /// Use a new batch of ROWS rows for each draw: a number, or auto (as many rows as hold 90 % of the curvature of the
    /// loss) [default: all rows]
    #[arg(long, value_name = "ROWS", value_parser = batch_size)]
    pub batch: Option<BatchSize>,

    /// How the rows of a batch are chosen: uniform (at random, as in the paper, but keeping the frequencies of classes),
    /// leverage (rows that contribute more to the curvature of the loss are drawn more often, with a smaller weight), or
    /// leverage=SHARE (SHARE, below 1, says how far the probabilities follow these contributions; leverage alone is 0.5)
    /// [default: uniform]
    #[arg(long, value_name = "DESIGN", requires = "batch", value_parser = batch_design)]
    pub batch_design: Option<BatchDesign>,

    /// How far draws on batches go: full (to the ends of their geodesics, as in the paper), auto (all shortened towards the
    /// trained weights by one factor, so that their virial ratio on all rows is 1), or a factor of at most 1
    /// [default: auto with the preset calibrated, otherwise full]
    #[arg(long, value_name = "LENGTH", requires = "batch", value_parser = batch_length)]
    pub batch_length: Option<BatchLength>,

    /// Preset of metric, strength and integrator
    #[arg(long, value_name = "NAME", default_value = "calibrated", value_parser = preset())]
    pub preset: Setting,

    /// Strength of the metric: a number (smaller values let draws move further), or the rule that finds it. auto: the loss
    /// rises by half the number of weights, and the loss of the data by at most half the number of weights that the data
    /// determine; where the loss grows much faster than a quadratic, as virial. loss-rise: as auto, but without the condition
    /// on the loss of the data. virial: the virial ratio is 1. held-out: the best score on the held-out rows (needs at least
    /// 50, in classification 5 of them misclassified). With --batch, rules use all rows for riem-la with --batch-length auto,
    /// and the batches otherwise [default: from the preset]
    #[arg(long, value_name = "VALUE", value_parser = strength)]
    pub strength: Option<Strength>,

    /// Metric: auto (fisher for models without hidden layers or with only the last layer uncertain, otherwise
    /// preconditioned); preconditioned (built from the loss, relative to the Gaussian; exact if the posterior is Gaussian);
    /// loss (the paper's metric); or fisher (no strength to choose; for small models) [default: from the preset]
    #[arg(long, value_name = "NAME", conflicts_with = "preset", value_parser = named::<MetricChoice>(METRICS))]
    pub metric: Option<MetricChoice>,

    /// Polish the draws: each draw becomes the start of a Markov chain (Hamiltonian, with Metropolis correction) of about N
    /// gradients on all rows, whose end is closer to the exact posterior. "auto" takes as many gradients as the loss of
    /// pilot chains needs to settle; 0 turns polish off [default: 100 for riem-la with the preset calibrated on all rows,
    /// otherwise 0]
    #[arg(long, value_name = "N", value_parser = polish, conflicts_with = "batch")]
    pub polish: Option<PolishArgument>,

    /// Arithmetic of the matrix products when the loss is evaluated: double (64 bits), or single (32 bits, for linear
    /// layers with at least 32 inputs and outputs; faster for wide networks). Weights, sums, geodesics and predictions
    /// are double in both cases [default: double]
    #[arg(long, value_name = "NAME", value_parser = arithmetic)]
    pub arithmetic: Option<Arithmetic>,

    /// Make only part K of N of the draws, so that N processes can share the work; "auto" takes K and N from the variables
    /// of MPI, Slurm or Kubernetes. A later run without --shard merges all parts and makes the missing draws
    #[arg(long, value_name = "K/N", value_parser = shard)]
    pub shard: Option<ShardArgument>,

    /// Stop after SECONDS and keep the finished draws
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub seconds: Option<f64>,

    /// Number of folds that decide how much the trained weights count in predictions with these draws; 0 turns this off.
    /// Only for polished draws of riem-la on all rows and weights, for classes or numbers, with 20 to 250 training rows and
    /// at most about 2000 weights. Each fold is left out once, after the draws are finished (its time does not count
    /// towards --seconds) [default: 5]
    #[arg(long, value_name = "N", value_parser = folds)]
    pub folds: Option<usize>,

    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    pub seed: u64,

    /// Name of the set of draws [default: the name of the method, with -batches added for --batch, and -polished for a
    /// --polish that is neither the default nor 0]
    #[arg(long, value_name = "NAME", value_parser = set_name)]
    pub name: Option<String>,

    /// Training data, for a posterior that was saved without data
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,

    /// Separate file with the targets, for images and arrays
    #[arg(long, value_name = "FILE", requires = "data")]
    pub labels: Option<PathBuf>,

    /// Column of the target in --data [default: the model's, or "y", or the last one]
    #[arg(long, value_name = "COLUMN", requires = "data", conflicts_with = "labels")]
    pub target: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub reference: ReferenceArguments,

    #[command(flatten)]
    pub reading: ReadingArguments,
}

const METRICS: [&str; 4] = ["auto", "loss", "preconditioned", "fisher"];

fn method(text: &str) -> Result<MethodName, String> {
    match text.parse() {
        Ok(MethodName::Map) => Err("map is a single point and needs no draws".into()),
        Ok(method) if method.posterior().is_some() && !method.batched() => Ok(method),
        Ok(method) if Reference::named(method.name()).is_some() && method != MethodName::Mclmc => Ok(method),
        _ => Err("must be riem-la, lin-riem-la, la, lin-la, nuts, swag or ensemble".into()),
    }
}

/// The shard of this process; chains are not divided.
fn shard_of(arguments: &Sample) -> anyhow::Result<Option<Shard>> {
    if arguments.shard.is_some() && arguments.method == MethodName::Nuts {
        anyhow::bail!("the chains of nuts are not divided into shards: run them in one process");
    }
    arguments.shard.map(ShardArgument::resolve).transpose()
}

/// Default number of draws: enough to judge chains, few trainings.
fn samples(method: MethodName) -> u64 {
    match method {
        MethodName::Nuts => 1000,
        MethodName::Ensemble => 5,
        _ => 100,
    }
}

fn strength(text: &str) -> Result<Strength, String> {
    match text {
        "held-out" => Ok(Strength::held_out()),
        "virial" => Ok(Strength::virial()),
        "loss-rise" => Ok(Strength::loss_rise()),
        other => riemla_cli::arguments::strength(other)
            .map_err(|_| "must be auto, loss-rise, virial, held-out, or a number above 0".into()),
    }
}

/// How draws are polished, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolishArgument {
    /// Not at all.
    Not,
    /// By chains of this length.
    By(PolishLength),
}

fn polish(text: &str) -> Result<PolishArgument, String> {
    match text {
        "auto" => Ok(PolishArgument::By(PolishLength::Auto)),
        "0" => Ok(PolishArgument::Not),
        number => match number.parse() {
            Ok(gradients @ 1..=1_000_000) => Ok(PolishArgument::By(PolishLength::Gradients(gradients))),
            _ => Err("must be auto, or a number of gradients up to 1000000, such as 100 (0: none)".into()),
        },
    }
}

fn folds(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n != 1 && *n <= 20);
    number.ok_or_else(|| "must be a whole number from 2 to 20, or 0".into())
}

fn arithmetic(text: &str) -> Result<Arithmetic, String> {
    text.parse().map_err(|_| "must be double or single".into())
}

fn batch_size(text: &str) -> Result<BatchSize, String> {
    let rows = || text.parse().ok().filter(|rows| *rows > 0).map(BatchSize::Rows);
    let size = if text == "auto" { Some(BatchSize::Auto) } else { rows() };
    size.ok_or_else(|| "must be auto, or a whole number of rows of at least 1".into())
}

fn batch_design(text: &str) -> Result<BatchDesign, String> {
    text.parse().map_err(|error: riemla::Error| error.to_string())
}

fn batch_length(text: &str) -> Result<BatchLength, String> {
    text.parse().map_err(|error: riemla::Error| error.to_string())
}

/// What to say where folds were asked for and not made.
fn unused_folds(arguments: &Sample, sampled: &[Sampled]) -> Option<&'static str> {
    let made = |one: &Sampled| one.trained_share.is_some() || one.taken.stopped || one.taken.out_of_time;
    let asked = arguments.folds.is_some_and(|folds| folds > 0);
    (asked && !sampled.iter().any(made)).then_some(
        "note: --folds was not used: it is for polished draws of riem-la of all weights of one network with up to about 2000 \
         weights, on 20 to 250 rows with classes or numbers, without --shard",
    )
}

/// A name that is one directory.
fn set_name(text: &str) -> Result<String, String> {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let valid = plain && !text.is_empty() && !text.starts_with('.') && text.len() <= 100;
    valid
        .then(|| text.to_string())
        .ok_or_else(|| "must consist of letters, digits, -, _ and ., and not begin with .".into())
}

/// Draws, prints, warns.
pub fn run(arguments: &Sample, quiet: bool) -> anyhow::Result<ExitCode> {
    let config = config(arguments)?;
    let stop = stop_flag(quiet)?;
    let bar = Bar::new(quiet);
    let sampled = sample_members(&arguments.posterior, &config, Session::new(stop, &bar));
    bar.finish();
    let sampled = sampled?;
    print_members(&sampled, arguments.json, in_json, in_words)?;
    if !quiet {
        for member in &sampled {
            member.taken.diagnosis.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            eprintln!("{}", closing(member, config.shard));
        }
        if let Some(note) = unused_folds(arguments, &sampled) {
            eprintln!("{note}");
        }
    }
    Ok(code(stop))
}

fn config(arguments: &Sample) -> anyhow::Result<SampleConfig> {
    let name = arguments.method.name();
    if let Some((option, of)) = arguments.reference.misplaced(name) {
        anyhow::bail!("{option} is an option of {of}, not of {name}");
    }
    if arguments.metric == Some(MetricChoice::Fisher) && arguments.strength.is_some() {
        anyhow::bail!("the Fisher metric has no strength: leave out --strength");
    }
    let run = match (arguments.method.posterior(), Reference::named(name)) {
        (Some(method), _) => RunConfig::Posterior(posterior(arguments, method)),
        (None, None) => anyhow::bail!("{name} is a single point and has no draws"),
        (None, Some(reference)) => {
            let geodesic = [
                ("--batch", arguments.batch.is_some()),
                ("--strength", arguments.strength.is_some()),
                ("--metric", arguments.metric.is_some()),
                ("--polish", arguments.polish.is_some()),
                ("--arithmetic", arguments.arithmetic.is_some()),
            ];
            if let Some((option, _)) = geodesic.into_iter().find(|(_, given)| *given) {
                anyhow::bail!("{option} is an option of riem-la and its relatives, not of {name}");
            }
            RunConfig::Reference(arguments.reference.settings(reference))
        }
    };
    Ok(SampleConfig {
        run,
        samples: arguments.samples.unwrap_or(samples(arguments.method)),
        seed: arguments.seed,
        seconds: arguments.seconds,
        folds: Some(arguments.folds.unwrap_or(FOLDS)),
        name: arguments.name.clone(),
        data: arguments.data.as_ref().map(|data| DataFiles {
            labels: arguments.labels.clone(),
            target: arguments.target.clone(),
            ..arguments.reading.file(data)
        }),
        most_weights: arguments.reference.most_weights(),
        shard: shard_of(arguments)?,
        elsewhere: None,
    })
}

fn posterior(arguments: &Sample, method: Method) -> PosteriorConfig {
    let preset = arguments.preset.config(method);
    let design = arguments.batch_design.unwrap_or_default();
    let mut posterior = match arguments.metric {
        None => preset,
        Some(MetricChoice::Fisher) => PosteriorConfig::fisher(method),
        Some(metric) => PosteriorConfig { metric, ..preset },
    };
    posterior.strength = arguments.strength.unwrap_or(posterior.strength);
    let by_default = arguments.preset == Setting::CALIBRATED && arguments.batch.is_none();
    posterior.polish = match arguments.polish {
        Some(PolishArgument::Not) => None,
        Some(PolishArgument::By(length)) => Some(Polish { length, ..Polish::default() }),
        None => PosteriorConfig::of_commands(method).polish.filter(|_| by_default),
    };
    posterior.arithmetic = arguments.arithmetic.unwrap_or_default();
    let length = arguments.batch_length.unwrap_or(arguments.preset.batch_length());
    posterior.batch = arguments.batch.map(|size| BatchPlan { size, design, length });
    posterior
}

fn in_json(sampled: &Sampled) -> serde_json::Value {
    let taken = &sampled.taken;
    serde_json::json!({
        "directory": sampled.directory,
        "draws": taken.draws.len(),
        "new_draws": taken.new,
        "asked": taken.asked,
        "out_of_time": taken.out_of_time,
        "seconds": taken.seconds,
        "seed": taken.seed,
        "summary": taken.diagnosis.summary,
        "warnings": taken.diagnosis.warnings,
        "trained_share": sampled.trained_share,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

fn in_words(sampled: &Sampled) -> String {
    let taken = &sampled.taken;
    let summary = &taken.diagnosis.summary;
    let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let mut rows =
        vec![row("draws", taken.draws.len().to_string()), row("of which new", taken.new.to_string())];
    let some = |name: &str, value: Option<f64>, digits| value.map(|_| row(name, number(value, digits)));
    rows.extend(some("virial ratio (ideal: 1)", summary.virial_ratio, 3));
    rows.extend(some("strength of the metric", summary.strength, 4));
    rows.extend(some("length of the draws (geodesics: 1)", summary.length, 3));
    rows.extend(some("rise of the loss, mean", summary.loss_rise, 2));
    rows.extend(some("gradients per draw", summary.gradients, 1));
    if let Some(share) = summary.unfinished {
        rows.push(row("unfinished geodesics", format!("{:.1} %", 100.0 * share)));
    }
    rows.extend(summary.polish.iter().flat_map(polish_rows));
    if let Some(found) = &sampled.trained_share {
        let value =
            format!("{:.2} (from {} rows in {} folds or held out)", found.share, found.rows, found.folds);
        rows.push(row("share of the trained weights", value));
    }
    let chains = summary.chains.as_ref().map(chain_rows).unwrap_or_default();
    rows.extend(chains.into_iter().map(Vec::from));
    if summary.failed > 0 {
        rows.push(row("failed draws", summary.failed.to_string()));
    }
    aligned(&rows)
}

/// What the chains that polished draws did.
fn polish_rows(report: &PolishReport) -> Vec<Vec<String>> {
    let PolishReport { gradients, acceptance, change, drift, drift_error, memory, nested_r_hat, .. } = report;
    [
        ("polish: gradients per draw", format!("{gradients:.1}")),
        ("polish: accepted", format!("{:.0} %", 100.0 * acceptance)),
        ("polish: change of the loss", format!("{change:.2}")),
        ("polish: of which in the second half", format!("{drift:.2} ± {drift_error:.2}")),
        ("polish: correlation with the start", format!("{memory:.2} (nested R-hat {nested_r_hat:.2})")),
    ]
    .map(|(name, value)| vec![name.to_string(), value])
    .to_vec()
}

fn closing(sampled: &Sampled, shard: Option<Shard>) -> String {
    let taken = &sampled.taken;
    if let Some(shard) = shard {
        return format!(
            "Shard {shard}: {} draws in {}. When all shards have ended, run the same command without --shard to merge them.",
            taken.draws.len(),
            shard.log_file(&sampled.directory).display()
        );
    }
    let missing = taken.asked.saturating_sub(taken.draws.len() as u64);
    let short = if missing == 0 {
        String::new()
    } else {
        let why = if taken.out_of_time { "Time limit reached" } else { "Ended early" };
        format!("{why}: {missing} of {} draws are missing; run the same command to continue.\n", taken.asked)
    };
    format!("{short}Draws: {}", sampled.directory.display())
}
