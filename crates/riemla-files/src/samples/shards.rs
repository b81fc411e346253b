//! Draws shared out among processes: each appends to a log of its own in the directory of the set.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{RunInfo, SAMPLES_FILE, inspect_log, read_samples};
use crate::error::name;
use crate::identity::expect;
use crate::ours::LOG_FILE;
use crate::{Error, Result};

/// One of several processes that share the draws of a set: number k of N, from 1, takes the indices k − 1, k − 1 + N, …
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    of: u64,
    number: u64,
}

impl Shard {
    /// Number `number` of `of`, from 1.
    pub fn new(number: u64, of: u64) -> std::result::Result<Self, String> {
        if (1..=of).contains(&number) {
            return Ok(Self { of, number });
        }
        Err(format!(
            "there is no shard {number} of {of}: shards are numbered from 1 to their number, such as 3/16"
        ))
    }

    /// Whether it is the first, which finds what all share.
    pub fn is_first(self) -> bool {
        self.number == 1
    }

    /// Whether a draw is one of its own.
    pub fn takes(self, index: u64) -> bool {
        index % self.of == self.number - 1
    }

    /// Its log in the directory of a set.
    pub fn log_file(self, set: &Path) -> PathBuf {
        set.join(format!("draws.{}-of-{}.log", self.number, self.of))
    }

    /// The shard whose log has this name.
    pub fn of_log(file: &str) -> Option<Self> {
        let (number, of) = file.strip_prefix("draws.")?.strip_suffix(".log")?.split_once("-of-")?;
        let shard = Self::new(number.parse().ok()?, of.parse().ok()?).ok()?;
        // Not `draws.01-of-4.log`, which is none of ours.
        (shard.log_file(Path::new("")) == Path::new(file)).then_some(shard)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        let (number, of) = parts.ok_or_else(|| "must be K/N, such as 3/16, or auto".to_string())?;
        Self::new(number, of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// The logs of shards in the directory of a set, in their order.
pub fn shard_logs(set: &Path) -> Result<Vec<(Shard, PathBuf)>> {
    if !set.is_dir() {
        return Ok(Vec::new());
    }
    let listing = |source| Error::Io { file: name(set), action: "list it", source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(set).map_err(listing)? {
        let entry = entry.map_err(listing)?;
        found.extend(Shard::of_log(&entry.file_name().to_string_lossy()).map(|shard| (shard, entry.path())));
    }
    found.sort();
    Ok(found)
}

/// Indices of the draws of a run that are in the directory of a set, other than in `own`; other processes may be
/// adding to them.
pub fn drawn_elsewhere(set: &Path, own: &Path, run: &RunInfo) -> Result<BTreeSet<u64>> {
    let mut indices = BTreeSet::new();
    let finished = set.join(SAMPLES_FILE);
    if finished.is_file() {
        let samples = read_samples(set)?;
        expect(&name(&finished), &samples.run, run)?;
        indices.extend(samples.draws.iter().map(|draw| draw.index));
    }
    let logs = shard_logs(set)?.into_iter().map(|(_, path)| path).chain([set.join(LOG_FILE)]);
    for log in logs.filter(|log| log != own && log.metadata().is_ok_and(|m| m.len() > 0)) {
        match inspect_log(&log) {
            Ok(found) => {
                expect(&name(&log), &found.run, run)?;
                indices.extend(found.indices);
            }
            // Another process has just begun it: there are no draws yet.
            Err(Error::Damaged { .. }) if log.metadata().is_ok_and(|m| m.len() < 4096) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(indices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_indices_and_their_logs_have_one_name() {
        let shards: Vec<Shard> = (1..=3).map(|k| Shard::new(k, 3).expect("a shard")).collect();
        for index in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.takes(index)).count(), 1);
        }
        assert!(shards[0].takes(0) && shards[2].takes(5) && shards[0].is_first() && !shards[1].is_first());
        for shard in shards {
            let log = shard.log_file(Path::new("set"));
            assert_eq!(Shard::of_log(&log.file_name().expect("a name").to_string_lossy()), Some(shard));
            assert_eq!(shard.to_string().parse(), Ok(shard));
        }
        for text in ["0/3", "4/3", "1/0", "1", "a/b", "-1/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        for file in ["draws.log", "draws.01-of-3.log", "draws.4-of-3.log", "draws.1-of-3.log.old"] {
            assert_eq!(Shard::of_log(file), None, "{file}");
        }
    }
}
