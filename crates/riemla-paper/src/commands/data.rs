//! `riemla data`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use riemla_paper::datasets::{self, ALL, DataDirs, DataError, DataSet, Fetched, Source, find, presence};

use riemla_cli::interrupt::stop_flag;
use riemla_cli::output as console;
use riemla_cli::progress::Bar;
use riemla_cli::{FAILED, INTERRUPTED};
use riemla_workflow::watch::Session;

/// Replaces the hosts of all downloads, for tests.
const MIRROR: &str = "RIEMLA_DATA_MIRROR";

const AFTER_HELP: &str = "\
Examples:
  riemla data list                 the data sets, their sources and licences
  riemla data fetch mnist kmnist   download missing files and verify their checksums
  riemla data check                compare all files with their checksums";

/// List, download and check the data sets of the experiments
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Data {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,

    /// Directory of the data [default: $RIEMLA_DATA_DIR, ../shared/data, data, or the user's]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// What to do with data sets.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// List the data sets: location, source and licence
    List,
    /// Download missing files over HTTPS; a file is kept only if it is complete and its checksum matches
    Fetch {
        /// Names from `riemla data list`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Compare existing files with their checksums
    Check {
        /// Names from `riemla data list` [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Does it.
pub fn run(arguments: &Data, quiet: bool) -> anyhow::Result<ExitCode> {
    let directories = DataDirs::new(arguments.data_dir.as_deref());
    match &arguments.action {
        Action::List => {
            console::print(&list(&directories))?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Fetch { names } => fetch(&sets(names)?, &directories, quiet),
        Action::Check { names } => check(&sets(names)?, names.is_empty(), &directories),
    }
}

fn sets(names: &[String]) -> Result<Vec<&'static DataSet>, DataError> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    names.iter().map(|name| find(name)).collect()
}

fn list(directories: &DataDirs) -> String {
    let mut text = String::new();
    for set in ALL {
        let state = match presence(set, directories, false) {
            Ok(None) => "generated".into(),
            Ok(Some(path)) => path.display().to_string(),
            Err(_) if set.files.iter().all(|file| file.source != Source::ByHand) => {
                format!("missing; download it with: riemla data fetch {}", set.name)
            }
            Err(_) => format!("missing; must be obtained manually: {}", set.by_hand),
        };
        text += &format!("{:18} {} ({})\n{:18} {state}\n", set.name, set.about, set.size(), "");
        text += &format!("{:18} origin: {}; licence: {}\n", "", set.origin, set.licence);
    }
    text += &format!("\nDownloads go to {}.\n", directories.target().display());
    text
}

fn fetch(sets: &[&DataSet], directories: &DataDirs, quiet: bool) -> anyhow::Result<ExitCode> {
    let stop = stop_flag(quiet)?;
    let mirror = std::env::var(MIRROR).ok();
    for set in sets {
        let bar = Bar::new(quiet);
        let fetched = datasets::fetch(set, directories, mirror.as_deref(), Session::new(stop, &bar));
        bar.finish();
        if let Err(error @ DataError::Interrupted { .. }) = &fetched {
            eprintln!("error: {error}");
            return Ok(INTERRUPTED.into());
        }
        for file in fetched? {
            let (Fetched::Present(path) | Fetched::Downloaded(path)) = &file;
            let what = if matches!(file, Fetched::Present(_)) { "already present" } else { "downloaded" };
            console::print(&format!("{}: {what}\n", path.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All files that are there must be right; a set that was named must be there.
fn check(sets: &[&DataSet], all: bool, directories: &DataDirs) -> anyhow::Result<ExitCode> {
    let mut bad = false;
    for set in sets {
        let verdict = match presence(set, directories, true) {
            Ok(None) => "generated".into(),
            Ok(Some(_)) => "intact".into(),
            Err(error @ DataError::Missing { .. }) => {
                bad |= !all;
                if all { "missing".into() } else { error.to_string() }
            }
            Err(error) => {
                bad = true;
                error.to_string()
            }
        };
        console::print(&format!("{:18} {verdict}\n", set.name))?;
    }
    Ok(if bad { FAILED.into() } else { ExitCode::SUCCESS })
}
