//! The command `riemla`: arguments to typed settings, settings to the lab, results to the user.

mod arguments;
mod commands;
mod failure;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use anyhow::Context as _;

use arguments::{Arguments, Command};
use failure::Failure;

/// Documented in `riemla --help`; 2 is clap's for mistakes in the arguments.
pub(crate) const FAILED: u8 = 1;
pub(crate) const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let arguments = Arguments::read();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => failure::show(&error),
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .context(Failure::new("cannot start the threads", "ask for fewer with --threads"))?;
    }
    let quiet = arguments.quiet;
    match &arguments.command {
        Command::Demo(demo) => commands::demo::run(demo, quiet),
        Command::Train(train) => commands::train::run(train, quiet),
        Command::Import(import) => commands::import::run(import, quiet),
        Command::Export(export) => commands::import::run_export(export, quiet),
        Command::Fit(fit) => commands::fit::run(fit, quiet),
        Command::Sample(sample) => commands::sample::run(sample, quiet),
        Command::Predict(predict) => commands::predict::run(predict, quiet),
        Command::Evaluate(evaluate) => commands::evaluate::run(evaluate, quiet),
        Command::Compare(compare) => commands::compare::run(compare, quiet),
        Command::Inspect(inspect) => commands::inspect::run(inspect),
        Command::Completions(completions) => commands::shell::completions(completions),
        Command::Man(man) => commands::shell::man(man),
        Command::Data(data) => commands::data::run(data, quiet),
        Command::Reproduce(reproduce) => commands::reproduce::run(reproduce, quiet),
    }
}
