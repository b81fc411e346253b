//! Which files and directories riemla wrote itself: only those may be replaced or removed.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::atomic::TEMPORARY_PREFIX;
use crate::data::DATA_FILE;
use crate::members::{MEMBERS_FILE, is_member};
use crate::model::{MODEL_FILE, WEIGHTS_FILE};
use crate::posterior::{POSTERIOR_FILE, TENSORS_FILE};
use crate::samples::{SAMPLES_FILE, SAMPLES_LINES_FILE, SAMPLES_TENSORS_FILE, Shard, shard_logs};
use crate::{Error, Result};

/// Where the sets of draws are in a posterior directory.
pub const SAMPLES_DIRECTORY: &str = "samples";
/// The log of draws in the directory of a set.
pub const LOG_FILE: &str = "draws.log";
/// The strength that a rule found, next to the log.
pub const STRENGTH_FILE: &str = "calibration.json";
/// The finished trials of a search for the strength, during the search.
pub const TRIALS_FILE: &str = "calibration.trials.json";
/// Step size and length of the chains that polish draws.
pub const POLISH_FILE: &str = "polish.json";
/// How much the trained weights count beside the draws.
pub const SHARE_FILE: &str = "trained-share.json";
/// The table with a line about each draw.
pub const DIAGNOSTICS_FILE: &str = "diagnostics.csv";
/// What is known about all draws of a set, for reports.
pub const SUMMARY_FILE: &str = "summary.json";
/// What Markov chains did.
pub const CHAINS_FILE: &str = "chains.json";

const MODEL: [&str; 2] = [MODEL_FILE, WEIGHTS_FILE];
const POSTERIOR: [&str; 3] = [POSTERIOR_FILE, TENSORS_FILE, DATA_FILE];
const SET: [&str; 11] = [
    SAMPLES_FILE,
    SAMPLES_LINES_FILE,
    SAMPLES_TENSORS_FILE,
    LOG_FILE,
    STRENGTH_FILE,
    TRIALS_FILE,
    POLISH_FILE,
    SHARE_FILE,
    DIAGNOSTICS_FILE,
    CHAINS_FILE,
    SUMMARY_FILE,
];

/// Bytes at the beginning of a file by which it is recognised.
const START: u64 = 1 << 14;
/// Largest description that is looked at.
const LARGEST: u64 = 256 << 20;

/// What is in a directory of a model or posterior.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Files and directories that riemla wrote, a directory after what is in it.
    ours: Vec<PathBuf>,
    /// Everything else, named from the directory on.
    pub(crate) foreign: Vec<String>,
}

impl Contents {
    /// Looks at a directory. Nothing in it counts as ours unless its `model.json` or `members.json` names riemla as
    /// its writer; links never do.
    pub(crate) fn of(directory: &Path) -> io::Result<Self> {
        if is_described(&directory.join(MEMBERS_FILE)) {
            return Self::of_members(directory);
        }
        let mut found = Self::default();
        let ours = is_described(&directory.join(MODEL_FILE));
        let posterior = ours && is_described(&directory.join(POSTERIOR_FILE));
        let known = |name: &str| ours && (MODEL.contains(&name) || posterior && POSTERIOR.contains(&name));
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if posterior && name == SAMPLES_DIRECTORY && entry.file_type()?.is_dir() {
                found.sets(&entry.path())?;
            } else {
                found.file(&entry, name.clone(), known(&name))?;
            }
        }
        found.foreign.sort();
        Ok(found)
    }

    /// Looks at a directory of members.
    fn of_members(directory: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_member(&name) && entry.file_type()?.is_dir() {
                let member = Self::of(&entry.path())?;
                found.ours.extend(member.ours);
                found.ours.push(entry.path());
                found.foreign.extend(member.foreign.into_iter().map(|file| format!("{name}/{file}")));
            } else {
                found.file(&entry, name.clone(), name == MEMBERS_FILE)?;
            }
        }
        found.foreign.sort();
        Ok(found)
    }

    fn sets(&mut self, samples: &Path) -> io::Result<()> {
        for set in fs::read_dir(samples)? {
            let set = set?;
            let set_name = set.file_name().to_string_lossy().into_owned();
            if !set.file_type()?.is_dir() {
                self.foreign.push(format!("{SAMPLES_DIRECTORY}/{set_name}"));
                continue;
            }
            for entry in fs::read_dir(set.path())? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let known = SET.contains(&name.as_str()) || Shard::of_log(&name).is_some();
                self.file(&entry, format!("{SAMPLES_DIRECTORY}/{set_name}/{name}"), known)?;
            }
            self.ours.push(set.path());
        }
        self.ours.push(samples.into());
        Ok(())
    }

    fn file(&mut self, entry: &fs::DirEntry, name: String, known: bool) -> io::Result<()> {
        let temporary = entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX);
        if (known || temporary) && entry.file_type()?.is_file() {
            self.ours.push(entry.path());
        } else {
            self.foreign.push(name);
        }
        Ok(())
    }

    /// Removes what riemla wrote, and the directory if nothing else is in it.
    pub(crate) fn remove(&self, directory: &Path) {
        for path in &self.ours {
            // What cannot be removed is in nobody's way: it has a temporary name by now.
            let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        }
        let _ = fs::remove_dir(directory);
    }
}

/// An error if files with the names of a set of draws are in a directory where riemla made none.
pub fn check_set(directory: &Path) -> Result<()> {
    let there = |name: &&str| directory.join(name).symlink_metadata().is_ok();
    if [LOG_FILE, SAMPLES_FILE].iter().any(there) || !shard_logs(directory)?.is_empty() {
        return Ok(());
    }
    match SET.iter().find(|name| there(name)) {
        Some(name) => Err(Error::Protected {
            file: directory.join(name).display().to_string(),
            reason: "it belongs to no log or set of draws".into(),
            remedy: "move it elsewhere, or choose another set with --name",
        }),
        None => Ok(()),
    }
}

/// The file whose lock stands for a whole model or posterior directory, or one of members.
pub(crate) fn lock_file(directory: &Path) -> PathBuf {
    let candidates = [MEMBERS_FILE, POSTERIOR_FILE, MODEL_FILE].map(|name| directory.join(name));
    let there = candidates.iter().find(|path| path.is_file());
    there.unwrap_or(&candidates[2]).clone()
}

/// Whether this is a description in JSON that riemla wrote: a file with `format_version` and
/// `riemla_version`.
pub fn is_described(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Description {
        #[serde(rename = "format_version")]
        _format: u64,
        #[serde(rename = "riemla_version")]
        _program: String,
    }
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
    is_file && fs::read(path).is_ok_and(|bytes| serde_json::from_slice::<Description>(&bytes).is_ok())
}

/// A kind of file by which a later run recognises what an earlier one wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page for the browser.
    Report,
    /// A table of predictions.
    Predictions,
    /// A page of the manual.
    Manual,
    /// Anything else: never recognised.
    Other,
}

impl Kind {
    /// Whether the file looks like one that riemla wrote.
    pub(crate) fn is_ours(self, path: &Path) -> io::Result<bool> {
        let mut start = Vec::new();
        File::open(path)?.take(START).read_to_end(&mut start)?;
        let start = String::from_utf8_lossy(&start);
        Ok(match self {
            Self::Report => start.contains("<meta name=\"generator\" content=\"riemla"),
            Self::Predictions => {
                let head = start.lines().next().unwrap_or_default();
                ["prediction,confidence,entropy", "mean,std,lower,upper", "mean_0,std_0,lower_0,upper_0"]
                    .iter()
                    .any(|columns| head.contains(columns))
            }
            Self::Manual => start.lines().any(|line| line.starts_with(".TH riemla")),
            Self::Other => false,
        })
    }
}
