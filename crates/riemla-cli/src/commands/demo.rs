//! `riemla demo`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use riemla::posterior::Strength;
use riemla_workflow::demo::{self, DemoConfig, DemoResult, Files, MOST_SAMPLES, OutputDir};
use riemla_workflow::watch::Session;

use riemla_cli::arguments::{strength, whole};
use riemla_cli::interrupt::stop_flag;
use riemla_cli::output as console;
use riemla_cli::progress::Bar;
use riemla_cli::{FAILED, INTERRUPTED};

const DEMO_AFTER_HELP: &str = "\
Examples:
  riemla demo                      writes riemla-demo/report.html: open it in a browser
  riemla demo --out /tmp/demo --seed 7 --samples 200
  riemla demo --quiet --json > results.json

Ctrl-C ends the run and reports on the draws made so far; a second Ctrl-C aborts.
The same seed gives the same results on any number of threads (except times).";

/// Compare all methods on generated data and write a report
///
/// Trains a small network on two noisy half circles, fits a Laplace approximation to it, draws
/// networks from five posteriors with the same random numbers (map, la, lin-la, riem-la,
/// lin-riem-la), prints their scores and writes to DIR:
///
///   report.html          figures and tables with explanations, in a single file
///   results.json         scores and diagnostics of every draw
///   confidence-maps.svg  the predictions over the plane of inputs
///
/// Takes a few seconds and downloads nothing.
#[derive(Debug, Args)]
#[command(after_help = DEMO_AFTER_HELP, verbatim_doc_comment)]
pub struct Demo {
    /// Directory to write to, created if needed
    #[arg(long, short, value_name = "DIR", default_value = "riemla-demo")]
    pub out: PathBuf,

    /// Seed of data, initial weights and draws
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    pub seed: u64,

    /// Draws from each posterior
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<u64>(1, MOST_SAMPLES))]
    pub samples: u64,

    /// Strength of the Riemannian metric: "auto" uses the default metric and chooses the strength so that
    /// the loss rises as it does for exact draws; a number uses the paper's metric at this strength (the
    /// paper uses 1; smaller values let draws move further from the trained weights)
    #[arg(long, value_name = "A", default_value = "auto", value_parser = strength)]
    pub strength: Strength,

    /// Print the results as JSON instead of a table
    #[arg(long)]
    pub json: bool,

    /// Write even if DIR contains other files (these are not touched)
    #[arg(long)]
    pub force: bool,
}

/// Checks the directory, runs, writes, prints.
pub fn run(arguments: &Demo, quiet: bool) -> anyhow::Result<ExitCode> {
    let output = OutputDir::prepare(&arguments.out, arguments.force)?;
    let stop = stop_flag(quiet)?;
    let bar = Bar::new(quiet);
    let result = demo::run(&config(arguments), Session::new(stop, &bar));
    bar.finish();
    let result = result?;
    let files = Files {
        report: demo::report(&result)?.to_html(),
        results: result.to_json(),
        picture: demo::picture(&result)?,
    };
    output.write(&files)?;
    console::print(&if arguments.json { files.results } else { demo::table(&result) })?;
    if !quiet {
        eprintln!("{}", closing(&result, &output));
    }
    Ok(exit_code(&result))
}

/// A method without a single draw is a failure, even though the rest is reported.
fn exit_code(result: &DemoResult) -> ExitCode {
    if result.interrupted.is_some() {
        return INTERRUPTED.into();
    }
    for missing in &result.missing {
        eprintln!("error: no draw from {}: {}", missing.method, missing.reason);
        eprintln!("  help: a smaller --strength makes geodesics easier to follow");
    }
    if result.missing.is_empty() { ExitCode::SUCCESS } else { FAILED.into() }
}

fn config(arguments: &Demo) -> DemoConfig {
    let Demo { seed, samples, strength, .. } = *arguments;
    DemoConfig { seed, samples, strength, ..DemoConfig::default() }
}

fn closing(result: &DemoResult, output: &OutputDir) -> String {
    let interrupted = result.interrupted.map_or(String::new(), |i| {
        format!("Interrupted after {} of {} draws; the report covers these.\n", i.draws, i.of)
    });
    format!("{interrupted}Report: {}", output.report().display())
}

#[cfg(test)]
mod tests {
    use super::super::arguments::{Arguments, Command};
    use super::*;
    use clap::Parser as _;

    #[test]
    fn defaults_are_those_of_the_lab() {
        let Command::Demo(demo) = Arguments::parse_from(["riemla", "demo"]).command else { panic!("demo") };
        let lab = DemoConfig::default();
        assert_eq!((demo.seed, demo.samples, demo.strength), (lab.seed, lab.samples, lab.strength));
    }
}
