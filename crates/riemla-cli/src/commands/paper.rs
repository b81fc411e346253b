//! `riemla reproduce` and `riemla data`: the paper's experiments, run by the program `riemla-paper` of the repository.
//! Users of the package need neither, so it has neither; in a clone both programs lie in one folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::Args;
use riemla_cli::arguments::Common;
use riemla_cli::failure::Failure;

const PROGRAM: &str = "riemla-paper";

/// Run the paper's experiments and compare with its numbers (in a clone of the repository)
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = "Example:\n  riemla reproduce list")]
pub struct Reproduce {
    /// See `riemla reproduce --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// List, download and check the data sets of the experiments (in a clone of the repository)
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = "Example:\n  riemla data list")]
pub struct Data {
    /// See `riemla data --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// Hands a command over to the program of the paper.
pub fn run(name: &str, arguments: &[OsString], common: &Common) -> anyhow::Result<ExitCode> {
    let mut command = Command::new(program());
    command.arg(name).args(arguments);
    if common.quiet {
        command.arg("--quiet");
    }
    if let Some(threads) = common.threads {
        command.arg("--threads").arg(threads.to_string());
    }
    hand_over(command).context(Failure::new(
        format!("`riemla {name}` needs the program {PROGRAM}"),
        "in a clone of the repository: cargo build --release -p riemla-paper \
         (or: cargo reproduce list)",
    ))
}

/// Where both lie in one folder, that one; else the one on the path.
fn program() -> PathBuf {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&name)));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

/// Becomes the other program, so that signals, terminal and exit code are its own.
#[cfg(unix)]
fn hand_over(mut command: Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec())
}

#[cfg(not(unix))]
fn hand_over(mut command: Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(riemla_cli::FAILED).into())
}
