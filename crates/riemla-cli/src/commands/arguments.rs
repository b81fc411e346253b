//! The command line of `riemla`. The options of a command stand in its file under
//! `commands`; help, completions and manual pages are made from these descriptions.

use clap::{Parser, Subcommand};
use riemla_cli::arguments::Common;

use crate::commands::compare::Compare;
use crate::commands::demo::Demo;
use crate::commands::evaluate::Evaluate;
use crate::commands::fit::Fit;
use crate::commands::import::{Export, Import};
use crate::commands::inspect::Inspect;
use crate::commands::paper::{Data, Reproduce};
use crate::commands::predict::Predict;
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
  130  interrupted by Ctrl-C or SIGTERM; finished work is kept";

/// Riemannian Laplace approximations: from a trained neural network to a Bayesian one.
#[derive(Debug, Parser)]
#[command(name = "riemla", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,

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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_word_of_the_help_is_read() {
        let mut words = 0;
        for command in Arguments::command().get_subcommands_mut() {
            let mut parse = command.clone();
            for option in command.get_arguments().filter(|option| option.get_long().is_some()) {
                for value in option.get_value_parser().possible_values().into_iter().flatten() {
                    let given = format!("--{}={}", option.get_long().expect("an option"), value.get_name());
                    let read = parse.try_get_matches_from_mut([command.get_name(), &given]);
                    let wrong = read.err().filter(|error| error.kind() == ErrorKind::ValueValidation);
                    assert!(wrong.is_none(), "{} {given}: {wrong:?}", command.get_name());
                    words += 1;
                }
            }
        }
        assert!(words > 30, "{words} words of options with a choice");
    }
}
