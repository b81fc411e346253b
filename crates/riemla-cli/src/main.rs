//! The command `riemla`: arguments to typed settings, settings to the lab, results to the user.

mod arguments;
mod commands;
mod failure;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use arguments::{Arguments, Command};
use failure::Failure;

/// Documented in `riemla --help`; 2 is clap's for mistakes in the arguments.
pub(crate) const FAILED: u8 = 1;
pub(crate) const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
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
    match &arguments.command {
        Command::Demo(demo) => commands::demo::run(demo, arguments.quiet),
        Command::Data(data) => commands::data::run(data, arguments.quiet),
        Command::Reproduce(reproduce) => commands::reproduce::run(reproduce, arguments.quiet),
    }
}
