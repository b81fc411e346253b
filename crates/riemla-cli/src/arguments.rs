//! The command line. Every option is described here once; help is made from it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use riemla::posterior::Strength;
use riemla_lab::demo::MOST_SAMPLES;

const AFTER_HELP: &str = "\
Examples:
  riemla demo                      compare all methods on generated data, in seconds
  riemla demo --json | jq .methods[].scores

Exit codes:
    0  success
    1  failure: the message on stderr says why and what to do
    2  mistake in the arguments
  130  interrupted by Ctrl-C; what was finished is kept";

const DEMO_AFTER_HELP: &str = "\
Examples:
  riemla demo                      writes riemla-demo/report.html: open it in a browser
  riemla demo --out /tmp/demo --seed 7 --samples 200
  riemla demo --quiet --json > results.json

Ctrl-C ends the run and reports on what was drawn so far; a second Ctrl-C aborts.
The same seed gives the same results on any number of threads (times aside).";

/// Riemannian Laplace approximations: from a trained neural network to a Bayesian one.
#[derive(Debug, Parser)]
#[command(name = "riemla", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Arguments {
    /// Worker threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,

    /// No progress bars and notes on stderr
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(Demo),
}

/// Compare all methods on generated data and write a report
///
/// Trains a small network on two noisy half circles, fits a Laplace approximation to it, draws
/// networks from five posteriors with the same random numbers (map, la, lin-la, riem-la,
/// lin-riem-la), prints their scores and writes to DIR:
///
///   report.html          pictures and tables with explanations, one file for the browser
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
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Draws from each posterior
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = samples)]
    pub samples: u64,

    /// Strength of the Riemannian metric: a number (1 is the paper's; smaller lets draws go further
    /// from the trained weights), or "auto" to choose it so that the draws' virial ratio is 1
    #[arg(long, value_name = "A", default_value = "auto", value_parser = strength)]
    pub strength: Strength,

    /// Print the results as JSON instead of a table
    #[arg(long)]
    pub json: bool,

    /// Write even if DIR holds other files (they are left alone)
    #[arg(long)]
    pub force: bool,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("must be a whole number, at least 1 and at most 1024".into()),
    }
}

fn samples(text: &str) -> Result<u64, String> {
    let n = text.parse().ok().filter(|n| (1..=MOST_SAMPLES).contains(n));
    n.ok_or_else(|| format!("must be a whole number, at least 1 and at most {MOST_SAMPLES}"))
}

fn strength(text: &str) -> Result<Strength, String> {
    if text == "auto" {
        return Ok(Strength::virial());
    }
    let a = text.parse().ok().filter(|a: &f64| a.is_finite() && *a > 0.0);
    a.map(Strength::Fixed).ok_or_else(|| "must be a number above 0, or auto".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use riemla_lab::demo::DemoConfig;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn defaults_are_those_of_the_lab() {
        let Command::Demo(demo) = Arguments::parse_from(["riemla", "demo"]).command;
        let lab = DemoConfig::default();
        assert_eq!((demo.seed, demo.samples, demo.strength), (lab.seed, lab.samples, lab.strength));
    }
}
