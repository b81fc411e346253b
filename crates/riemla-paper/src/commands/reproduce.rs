//! `riemla reproduce`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use riemla_files::{Existing, Kind, OutputFile, Shard};
use riemla_paper::confirmation;
use riemla_paper::datasets::DataDirs;
use riemla_paper::experiments::{
    self, BUILTIN, Experiment, ExperimentError, Outcome, PriorName, Problem, Request, Setting, Takes,
    builtin, has_results, paper_experiments, prepare, write_report,
};

use riemla_cli::arguments::{ShardArgument, shard, whole};
use riemla_cli::interrupt::stop_flag;
use riemla_cli::output as console;
use riemla_cli::progress::Bar;
use riemla_cli::{FAILED, INTERRUPTED};
use riemla_workflow::watch::Session;

const AFTER_HELP: &str = "\
Examples:
  riemla reproduce list                   all experiments, with their time and memory
  riemla reproduce all --quick            small versions of all, in minutes
  riemla reproduce banana --preset paper --preset calibrated --out results/banana
  riemla reproduce banana --out results/banana --resume     continue after an interruption, or add presets \
and seeds
  riemla reproduce my-banana.toml --out mine                your own copy of experiments/banana.toml
  riemla reproduce report results/banana                    write the report again, from runs.jsonl or \
results.csv
  mpirun -n 8 riemla reproduce banana --out b --shard auto  eight processes; then with --resume and without \
--shard for the report
  riemla reproduce strength --out results/strength          compare rules for the strength of the metric
  riemla reproduce truth --out results/truth                compare methods with exact draws
  riemla reproduce confirmation --out results/confirmation  the defaults on tables that played no part

Every draw is saved as soon as it is finished. Ctrl-C ends the run after the current draws and writes a \
report of the results so far; --resume continues, with the same results as an uninterrupted run.";

/// Run the paper's experiments and compare the results with the published numbers
///
/// EXPERIMENT is a name from `riemla reproduce list`, the path of a TOML file, or `all` (those of the paper).
/// Writes to DIR:
///
///   results.csv   means over seeds, with diagnostics
///   runs.jsonl    one line per posterior and seed: settings, scores, counters
///   report.html   comparison with the published numbers, figures, claims; a single file
///   results.md    the tables as text; figures.md and figures/ the figures as files
///   samples/      all draws; fits/ all trained networks; experiments/ the experiments as run
///   truth.*       of `truth`: distances from exact draws, as truth.csv and truth.md
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, verbatim_doc_comment)]
pub struct Reproduce {
    /// Names or TOML files, `all`, `list`, or `report DIR`
    #[arg(required = true, value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,

    /// Run the small version of each experiment
    #[arg(long)]
    pub quick: bool,

    /// How geodesics are computed; may be given several times. Experiments with their own settings
    /// (strength, truth) ignore it [default: all three with --quick, otherwise paper and calibrated]
    #[arg(long, value_name = "PRESET", value_parser = one_of(Setting::PRESET_HELP).try_map(|name| name.parse::<Setting>()))]
    pub preset: Vec<Setting>,

    /// Number of seeds [default: as in the experiment's file]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, 10_000))]
    pub seeds: Option<u64>,

    /// Draws per posterior [default: as in the experiment's file]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, 1_000_000))]
    pub samples: Option<u64>,

    /// Prior precision: from the marginal likelihood, from the experiment's file, or both
    #[arg(long, value_name = "PRIOR", default_value = BOTH, value_parser = one_of(PRIORS))]
    pub prior: String,

    /// Directory with the data sets [default: $RIEMLA_DATA_DIR, ../shared/data, data, or the user's]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Of `confirmation`: another plan of the form of experiments/confirmation.toml, such as for tables of your own
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Directory to write to, created if needed
    #[arg(long, short, value_name = "DIR", default_value = "riemla-results")]
    pub out: PathBuf,

    /// Continue in a directory that contains results
    #[arg(long)]
    pub resume: bool,

    /// Run part K of N of the posteriors, one process each (or "auto": by the variables of MPI, Slurm and Kubernetes);
    /// a later run with --resume merges all parts, runs what is missing and writes the report
    #[arg(long, value_name = "K/N", value_parser = shard)]
    pub shard: Option<ShardArgument>,
}

/// The priors by name.
const PRIORS: [(&str, &str); 3] = [
    ("optimized", "Maximum of the marginal likelihood"),
    ("fixed", "As in the experiment's file"),
    (BOTH, "One after the other"),
];
const BOTH: &str = "both";

/// Reads one of these names; --help says what they are.
fn one_of(names: [(&'static str, &'static str); 3]) -> PossibleValuesParser {
    names.map(|(name, help)| PossibleValue::new(name).help(help)).into()
}

/// Lists, reports, or runs and reports.
pub fn run(arguments: &Reproduce, quiet: bool) -> anyhow::Result<ExitCode> {
    let words: Vec<&str> = arguments.experiments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => {
            console::print(&list()?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["report", directory] => {
            let (directory, data) = (Path::new(directory), DataDirs::new(arguments.data_dir.as_deref()));
            if !has_results(directory) && !confirmation::Records::is_in(directory) {
                return Err(ExperimentError::NoResults(directory.into()).into());
            }
            report(directory, &data, quiet)?;
            Ok(ExitCode::SUCCESS)
        }
        ["report", ..] => anyhow::bail!("`reproduce report` takes one directory, that of a run (--out)"),
        ["list", ..] => {
            anyhow::bail!("`reproduce list` lists all experiments and takes no further arguments")
        }
        [confirmation::NAME] => confirm(arguments, quiet),
        _ if arguments.plan.is_some() => anyhow::bail!("--plan is of `riemla reproduce confirmation` only"),
        _ => {
            let mut request = request(arguments, &words)?;
            let inputs: Vec<&Path> = words.iter().map(Path::new).collect();
            execute(arguments, &inputs, quiet, |shard, session| {
                request.shard = shard;
                experiments::run(&request, session)
            })
        }
    }
}

/// The defaults on tables that played no part in choosing them.
fn confirm(arguments: &Reproduce, quiet: bool) -> anyhow::Result<ExitCode> {
    if arguments.prior != BOTH || !arguments.preset.is_empty() || arguments.samples.is_some() {
        anyhow::bail!(
            "{} has its own settings: leave out --prior, --preset and --samples",
            confirmation::NAME
        );
    }
    let mut plan = confirmation::Plan::new(arguments.plan.as_deref(), arguments.quick)?;
    plan.seeds = arguments.seeds.unwrap_or(plan.seeds);
    let data = DataDirs::new(arguments.data_dir.as_deref());
    execute(arguments, &[], quiet, |shard, session| {
        confirmation::run(&plan, &arguments.out, &data, shard, session)
    })
}

/// Runs in the output directory and reports what is there, whatever the end.
fn execute(
    arguments: &Reproduce,
    inputs: &[&Path],
    quiet: bool,
    run: impl FnOnce(Option<Shard>, Session<'_>) -> Result<Outcome, ExperimentError>,
) -> anyhow::Result<ExitCode> {
    let shard = arguments.shard.map(ShardArgument::resolve).transpose()?;
    prepare(&arguments.out, arguments.resume, shard, inputs)?;
    let (stop, bar, begun) = (stop_flag(quiet)?, Bar::new(quiet), Instant::now());
    let outcome = run(shard, Session::new(stop, &bar));
    bar.finish();
    let outcome = outcome?;
    // Of all parts together, by a run without --shard.
    if shard.is_none() {
        report(&arguments.out, &DataDirs::new(arguments.data_dir.as_deref()), quiet)?;
    }
    if !quiet {
        eprintln!("{}", closing(&outcome, begun.elapsed().as_secs(), shard));
    }
    outcome.failures.iter().for_each(|failure| eprintln!("error: {failure}"));
    Ok(match outcome {
        Outcome { interrupted: true, .. } => INTERRUPTED.into(),
        Outcome { failures, .. } if !failures.is_empty() => FAILED.into(),
        _ => ExitCode::SUCCESS,
    })
}

/// Writes the pages of all that is in a directory.
fn report(directory: &Path, data: &DataDirs, quiet: bool) -> anyhow::Result<()> {
    if confirmation::Records::is_in(directory) {
        announce(&confirmation::write_reports(directory)?, quiet);
    }
    // A run of experiments has a page even if none of them could be run.
    if !has_results(directory) && !directory.join("experiments").is_dir() {
        return Ok(());
    }
    let page = directory.join("report.html");
    OutputFile::claim(&page, Existing::Refuse, Kind::Report, &[]).map_err(|error| match error {
        riemla_files::Error::Exists { file } => riemla_files::Error::Protected {
            file,
            reason: "riemla did not write it".into(),
            remedy: "move it elsewhere",
        },
        other => other,
    })?;
    announce(&write_report(directory, data)?, quiet);
    Ok(())
}

fn announce(page: &Path, quiet: bool) {
    if !quiet {
        eprintln!("Report: {}", page.display());
    }
}

fn closing(outcome: &Outcome, seconds: u64, shard: Option<Shard>) -> String {
    let end = match outcome {
        Outcome { interrupted: true, .. } => "Interrupted; continue with --resume".to_string(),
        Outcome { failures, .. } if !failures.is_empty() => {
            let what = if failures.len() == 1 { "failure" } else { "failures" };
            format!("Done, with {} {what},", failures.len())
        }
        _ => "Done".to_string(),
    };
    let part = shard.map(|shard| format!("Shard {shard}: ")).unwrap_or_default();
    let next = match shard {
        Some(_) => {
            "\nWhen all shards have ended, the same command with --resume and without --shard merges them."
        }
        None => "",
    };
    format!("{part}{end} after {} min {} s.{next}", seconds / 60, seconds % 60)
}

fn request(arguments: &Reproduce, words: &[&str]) -> anyhow::Result<Request> {
    let mut experiments: Vec<Experiment> = Vec::new();
    for word in words {
        let names = if *word == "all" { paper_experiments() } else { vec![*word] };
        for name in names {
            let mut experiment = experiments::open(name)?.resolve(arguments.quick)?;
            experiment.seeds = arguments.seeds.unwrap_or(experiment.seeds);
            experiment.samples = arguments.samples.unwrap_or(experiment.samples);
            experiment.check(name)?;
            experiments.retain(|other| other.name != experiment.name);
            experiments.push(experiment);
        }
    }
    let unused = arguments.prior != BOTH || !arguments.preset.is_empty();
    if unused && experiments.iter().all(|experiment| experiment.truth.is_some()) {
        anyhow::bail!("{} has its own settings: leave out --prior and --preset", words.join(", "));
    }
    Ok(Request {
        experiments,
        quick: arguments.quick,
        presets: presets(arguments),
        priors: PriorName::named(&arguments.prior).map_or(PriorName::ALL.to_vec(), |prior| vec![prior]),
        out: arguments.out.clone(),
        data: DataDirs::new(arguments.data_dir.as_deref()),
        shard: None,
    })
}

fn presets(arguments: &Reproduce) -> Vec<Setting> {
    if arguments.preset.is_empty() {
        let all = arguments.quick;
        return Setting::PRESETS.into_iter().filter(|preset| all || *preset != Setting::CONVERGED).collect();
    }
    arguments.preset.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// What there is, and what it takes.
fn list() -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, _) in BUILTIN {
        let experiment = builtin(name)?.resolve(false)?;
        let Experiment { title, seeds, samples, takes, problems, .. } = &experiment;
        text += &format!("{name:15} {title}\n{:15} {seeds} seeds, {samples} draws per posterior\n", "");
        text += &needs(takes, problems);
    }
    text += &format!(
        "{:15} The defaults on tables that played no part in choosing them\n{:15} see docs/confirmation.md\n",
        confirmation::NAME,
        ""
    );
    text += "\nTimes were measured on two cores, for both priors and the presets paper and calibrated unless said otherwise.\n";
    Ok(text)
}

/// The line of time, memory and data.
fn needs(takes: &Takes, problems: &[Problem]) -> String {
    let strange = problems.iter().flat_map(|problem| &problem.out_of_distribution);
    let data: BTreeSet<&str> =
        problems.iter().map(|problem| &problem.data).chain(strange).map(String::as_str).collect();
    let data = data.into_iter().collect::<Vec<_>>().join(", ");
    format!("{:15} time: {}; memory: {}; data: {data}\n", "", takes.time, takes.memory)
}
