//! Logs of finished cells: files of one line each, `runs.jsonl`; of processes that share the cells `runs.K-of-N.jsonl`.

use std::cmp::Ordering;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use riemla_files::Shard;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::layout::{read_lines, remove, write_lines};
use super::{ExperimentError, Result};

/// What is known of a finished cell.
pub trait Line: Serialize + DeserializeOwned {
    /// Which cell it is.
    type Key: Ord + Display;

    /// The name of the file, without its ending.
    const FILE: &'static str;

    /// The cell.
    fn key(&self) -> &Self::Key;

    /// The order of lines.
    fn order(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

/// All lines, in their order.
#[derive(Debug, Clone, Default)]
pub struct Log<L> {
    path: PathBuf,
    /// Lines of the file.
    lines: Vec<L>,
    /// Lines that other processes wrote.
    others: Vec<L>,
}

impl<L: Line> Log<L> {
    /// Reads the log of a directory, if it is there, and those of all shards.
    pub fn open(out: &Path) -> Result<Self> {
        let path = log_file(out, L::FILE, None);
        let mut all = Self { lines: read_lines(&path)?, path, others: Vec::new() };
        for file in shard_files(out, L::FILE)? {
            let lines: Vec<L> = read_lines(&file)?;
            // What is in several files is the same: numbers depend on the key and the settings.
            lines.into_iter().for_each(|line| all.insert(line));
        }
        Ok(all)
    }

    /// The same; from now on all lines are in one file.
    pub(super) fn merge(out: &Path) -> Result<Self> {
        let (files, all) = (shard_files(out, L::FILE)?, Self::open(out)?);
        if !files.is_empty() {
            write_lines(&all.path, &all.lines)?;
            files.iter().try_for_each(|file| remove(file))?;
        }
        Ok(all)
    }

    /// The lines of one of several processes, which knows those of the others and does not touch them.
    pub(super) fn of_shard(out: &Path, shard: Option<Shard>) -> Result<Self> {
        let path = log_file(out, L::FILE, shard);
        Ok(Self { lines: read_lines(&path)?, others: Self::open(out)?.lines, path })
    }

    /// Whether a directory has lines.
    pub fn is_in(out: &Path) -> bool {
        let shards = shard_files(out, L::FILE).is_ok_and(|files| !files.is_empty());
        shards || log_file(out, L::FILE, None).is_file()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All lines of the file.
    pub fn as_slice(&self) -> &[L] {
        &self.lines
    }

    /// All lines that are known.
    pub fn all(&self) -> impl Iterator<Item = &L> {
        self.lines.iter().chain(&self.others)
    }

    /// The line of a cell.
    pub fn get(&self, key: &L::Key) -> Option<&L> {
        self.all().find(|line| line.key() == key)
    }

    /// Adds a line, or replaces that of the same cell, and writes the file in one step.
    pub fn put(&mut self, line: L) -> Result<()> {
        self.insert(line);
        write_lines(&self.path, &self.lines)
    }

    fn insert(&mut self, line: L) {
        self.lines.retain(|other| other.key() != line.key());
        self.lines.push(line);
        self.lines.sort_by(L::order);
    }
}

/// The log of a name, or a shard's part of it.
fn log_file(out: &Path, name: &str, shard: Option<Shard>) -> PathBuf {
    match shard {
        None => out.join(format!("{name}.jsonl")),
        Some(shard) => out.join(format!("{name}.{}.jsonl", shard.to_string().replace('/', "-of-"))),
    }
}

/// The files of all shards in a directory.
fn shard_files(out: &Path, log: &str) -> Result<Vec<PathBuf>> {
    if !out.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(out).map_err(ExperimentError::io(out, "list it"))? {
        let path = entry.map_err(ExperimentError::io(out, "list it"))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let rest = name.strip_prefix(log).and_then(|rest| rest.strip_prefix('.'));
        let part = rest.and_then(|rest| rest.strip_suffix(".jsonl"));
        let shard = part.and_then(|part| part.replace("-of-", "/").parse::<Shard>().ok());
        // Not `runs.01-of-4.jsonl`, which is none of ours.
        found.extend(shard.filter(|shard| log_file(out, log, Some(*shard)) == path).map(|_| path));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_shards_are_found_and_nothing_else() {
        let place = tempfile::tempdir().expect("a directory");
        for name in [
            "runs.1-of-3.jsonl",
            "runs.01-of-3.jsonl",
            "runs.4-of-3.jsonl",
            "runs.jsonl",
            "runs.3-of-3.jsonl",
            "others.2-of-3.jsonl",
        ] {
            std::fs::write(place.path().join(name), "").expect("writes");
        }
        let found = shard_files(place.path(), "runs").expect("lists");
        let own = |k| log_file(place.path(), "runs", Shard::new(k, 3).ok());
        assert_eq!(found, [own(1), own(3)]);
    }
}
