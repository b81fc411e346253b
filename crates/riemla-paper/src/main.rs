//! The program `riemla-paper`: the paper's experiments and their data sets. `riemla reproduce` and `riemla data` run it.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use commands::data::Data;
use commands::reproduce::Reproduce;
use riemla_cli::arguments::{self, Common};
use riemla_cli::failure;

const AFTER_HELP: &str = "\
Examples:
  riemla-paper reproduce list      all experiments, with their time and memory
  riemla-paper data list           the data sets, their origins and licences

Exit codes are those of `riemla`: 0 success, 1 failure, 2 mistake in the arguments, 130 interrupted.";

/// The experiments of \"Riemannian Laplace approximations for Bayesian neural networks\" and their data sets.
#[derive(Debug, Parser)]
#[command(name = "riemla-paper", version, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// What to do.
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Data(Data),
    Reproduce(Reproduce),
}

fn main() -> ExitCode {
    let arguments: Arguments = arguments::read();
    let done = arguments.common.start_threads().and_then(|()| match &arguments.command {
        Command::Data(data) => commands::data::run(data, arguments.common.quiet),
        Command::Reproduce(reproduce) => commands::reproduce::run(reproduce, arguments.common.quiet),
    });
    done.unwrap_or_else(|error| failure::show(&error))
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
