//! `riemla completions` and `riemla man`: made from the same descriptions as the help.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use riemla_files::{Existing, Kind, OutputFile};

use super::arguments::Arguments;
use riemla_cli::failure::Failure;
use riemla_cli::output::print;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  riemla completions bash > ~/.local/share/bash-completion/completions/riemla\n  riemla completions zsh > ~/.zfunc/_riemla\n  riemla completions fish > ~/.config/fish/completions/riemla.fish"
)]
pub struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  riemla man | man -l -\n  riemla man --out ~/.local/share/man/man1")]
pub struct Man {
    /// Directory for the pages of all commands [default: print the main page]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Replace files that are not manual pages of riemla
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// Prints completions.
pub fn completions(arguments: &Completions) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "riemla", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints or writes manual pages.
pub fn man(arguments: &Man) -> anyhow::Result<ExitCode> {
    let command = Arguments::command();
    match &arguments.out {
        Some(directory) => {
            let failed = || {
                Failure::new(
                    format!("cannot write to {}", directory.display()),
                    "choose another place with --out",
                )
            };
            std::fs::create_dir_all(directory).with_context(failed)?;
            let pages = pages(command)?;
            let place = |(name, page)| {
                let path = directory.join(name);
                Ok((
                    OutputFile::claim(&path, Existing::replace_if(arguments.force), Kind::Manual, &[])?,
                    page,
                ))
            };
            // All places are checked before the first page is written.
            let places: Vec<(OutputFile, Vec<u8>)> =
                pages.into_iter().map(place).collect::<riemla_files::Result<_>>()?;
            for (output, page) in places {
                output.write(|writer| writer.write_all(&page))?;
            }
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The pages of the program and of all commands, with the names of their files.
fn pages(command: clap::Command) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut whole = command.disable_help_subcommand(true);
    whole.build();
    let mut found = Vec::new();
    let mut todo = vec![whole];
    while let Some(command) = todo.pop() {
        todo.extend(command.get_subcommands().filter(|command| !command.is_hide_set()).cloned());
        let page = clap_mangen::Man::new(command);
        let mut text = Vec::new();
        page.render(&mut text)?;
        found.push((page.get_filename(), text));
    }
    Ok(found)
}
