//! The command line: what all commands share. The options of a command stand in its file under
//! `commands`; help, completions and manual pages are made from these descriptions.

use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
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
  130  interrupted by Ctrl-C or SIGTERM; what was finished is kept";

/// Riemannian Laplace approximations: from a trained neural network to a Bayesian one.
#[derive(Debug, Parser)]
#[command(name = "riemla", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Arguments {
    /// Worker threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = whole::<usize>(1, 1024))]
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

impl Arguments {
    /// Reads the command line. A negative number is a value, so that the message says what is wrong with it,
    /// not that there is no option `-1`.
    pub fn read() -> Self {
        let numbers =
            |arg: Arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg };
        let command = Self::command().mut_args(numbers).mut_subcommands(|command| command.mut_args(numbers));
        Self::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
    }
}

/// Reads a whole number in a range.
pub fn whole<N>(least: u64, most: u64) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: TryFrom<u64> + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| match most {
            u64::MAX => format!("must be a whole number, at least {least}"),
            most => format!("must be a whole number, at least {least} and at most {most}"),
        })
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

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
