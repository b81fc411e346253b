//! The command line: what all commands share. The options of a command stand in its file under
//! `commands`; help, completions and manual pages are made from these descriptions.

use clap::{Parser, Subcommand};
use riemla::posterior::Strength;

use crate::commands::compare::Compare;
use crate::commands::data::Data;
use crate::commands::demo::Demo;
use crate::commands::evaluate::Evaluate;
use crate::commands::fit::Fit;
use crate::commands::import::{Export, Import};
use crate::commands::inspect::Inspect;
use crate::commands::predict::Predict;
use crate::commands::reproduce::Reproduce;
use crate::commands::sample::Sample;
use crate::commands::shell::{Completions, Man};
use crate::commands::train::Train;

const AFTER_HELP: &str = "\
Examples:
  riemla demo                      compare all methods on generated data, in seconds

  From a table to calibrated predictions:
  riemla train --data train.csv --target species --out model/      (or riemla import net.onnx)
  riemla fit model/ --data train.csv --out posterior/
  riemla sample posterior/
  riemla evaluate posterior/ --data test.csv --report report.html
  riemla predict posterior/ --data new.csv --out predictions.csv

Exit codes:
    0  success
    1  failure: the message on stderr says why and what to do
    2  mistake in the arguments
  130  interrupted by Ctrl-C; what was finished is kept";

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
    Train(Train),
    Import(Import),
    Export(Export),
    Fit(Fit),
    Sample(Sample),
    Predict(Predict),
    Evaluate(Evaluate),
    Compare(Compare),
    Inspect(Inspect),
    Completions(Completions),
    Man(Man),
    Data(Data),
    Reproduce(Reproduce),
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1024) => Ok(n),
        _ => Err("must be a whole number, at least 1 and at most 1024".into()),
    }
}

/// A strength of the metric, or the rule that finds it.
pub fn strength(text: &str) -> Result<Strength, String> {
    if text == "auto" {
        return Ok(Strength::typical());
    }
    let a = text.parse().ok().filter(|a: &f64| a.is_finite() && *a > 0.0);
    a.map(Strength::Fixed).ok_or_else(|| "must be a number above 0, or auto".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
