//! The command `riemla`: arguments to typed settings, settings to the workflow, results to the user.

mod commands;

use std::process::ExitCode;

use commands::arguments::{Arguments, Command};
use riemla_cli::{arguments, failure};

fn main() -> ExitCode {
    let arguments: Arguments = arguments::read();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => failure::show(&error),
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let common = &arguments.common;
    common.start_threads()?;
    let quiet = common.quiet;
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
        Command::Data(data) => commands::paper::run("data", &data.arguments, common),
        Command::Reproduce(reproduce) => commands::paper::run("reproduce", &reproduce.arguments, common),
    }
}
