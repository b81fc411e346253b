//! Cells shared out among processes: each runs its own, and writes a `runs.K-of-N.jsonl`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use riemla_files::Shard;

use super::layout::make;
use super::record::CellKey;
use super::subject::Subject;
use super::{Experiment, ExperimentError, PriorName, Request, Result};

impl Request {
    /// The priors asked for that the experiment has; those of studies in any case.
    pub(super) fn priors_of(&self, experiment: &Experiment) -> Vec<PriorName> {
        let asked = self.priors.iter().copied().chain(PriorName::OF_STUDIES);
        asked.filter(|prior| experiment.priors.contains(prior)).collect()
    }

    /// The posteriors asked for, those without geodesics once and first.
    pub(super) fn cells(&self, experiment: &Experiment, subject: &Subject<'_>, seed: u64) -> Vec<CellKey> {
        let pairs = subject.pairs(experiment, &self.presets);
        let keys = |prior| {
            pairs.iter().map(move |(setting, method)| subject.key(experiment, seed, prior, *setting, *method))
        };
        self.priors_of(experiment).into_iter().flat_map(keys).collect()
    }

    /// What is shared out: single cells; all of a target where they are judged by its chains.
    fn units(&self) -> Vec<Vec<CellKey>> {
        let mut units = Vec::new();
        for experiment in &self.experiments {
            for subject in Subject::all(experiment) {
                for seed in 0..experiment.seeds {
                    let cells = self.cells(experiment, &subject, seed);
                    match experiment.truth {
                        Some(_) => units.push(cells),
                        None => units.extend(cells.into_iter().map(|cell| vec![cell])),
                    }
                }
            }
        }
        units
    }

    /// The cells that this process runs; none if it runs all.
    pub(super) fn own_cells(&self) -> Option<BTreeSet<CellKey>> {
        let shard = self.shard?;
        let mut units: Vec<(u64, Vec<CellKey>)> = (0..).zip(self.units()).collect();
        // Scattered, so that no process has all cells of the slowest method.
        units.sort_by_key(|(number, _)| number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let own = (0..).zip(units).filter(|(place, _)| shard.takes(*place));
        Some(own.flat_map(|(_, (_, cells))| cells).collect())
    }
}

/// The lines of a shard.
pub fn runs_file(out: &Path, shard: Option<Shard>) -> PathBuf {
    match shard {
        None => out.join("runs.jsonl"),
        Some(shard) => out.join(format!("runs.{}.jsonl", shard.to_string().replace('/', "-of-"))),
    }
}

/// The files of all shards in a directory.
pub fn shard_files(out: &Path) -> Result<Vec<PathBuf>> {
    if !out.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(out).map_err(ExperimentError::io(out, "list it"))? {
        let path = entry.map_err(ExperimentError::io(out, "list it"))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let parts = name.strip_prefix("runs.").and_then(|rest| rest.strip_suffix(".jsonl"));
        let shard = parts.and_then(|part| part.replace("-of-", "/").parse::<Shard>().ok());
        // Not `runs.01-of-4.jsonl`, which is none of ours.
        found.extend(shard.filter(|shard| runs_file(out, Some(*shard)) == path).map(|_| path));
    }
    found.sort();
    Ok(found)
}

/// How long the mark of another process in a new directory is waited for.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Waits until a directory that another process has just made is marked as one of results, if it holds anything.
pub fn wait_for_mark(out: &Path, mark: &Path) -> Result<()> {
    make(out)?;
    let begun = std::time::Instant::now();
    let empty = || std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    while !mark.is_file() && !empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::DataDirs;
    use crate::experiments::{Setting, builtin};

    fn request(name: &str, shard: Option<Shard>) -> Request {
        Request {
            experiments: vec![builtin(name).expect("known").resolve(true).expect("resolves")],
            quick: true,
            presets: Setting::PRESETS.to_vec(),
            priors: PriorName::ALL.to_vec(),
            out: "out".into(),
            data: DataDirs::new(None),
            shard,
        }
    }

    #[test]
    fn every_cell_is_taken_once_and_all_of_a_target_together() {
        for name in ["banana", "truth"] {
            let all: Vec<CellKey> = request(name, None).units().concat();
            for of in [1, 2, 3, 7, 500] {
                let own = |k| request(name, Shard::new(k, of).ok()).own_cells().expect("a part");
                let parts: Vec<BTreeSet<CellKey>> = (1..=of).map(own).collect();
                assert_eq!(parts.iter().map(BTreeSet::len).sum::<usize>(), all.len());
                assert!(all.iter().all(|cell| parts.iter().any(|part| part.contains(cell))));
                let (least, most) =
                    (parts.iter().map(BTreeSet::len).min(), parts.iter().map(BTreeSet::len).max());
                assert!(name == "truth" || most.unwrap() - least.unwrap() <= 1, "{least:?} {most:?}");
                for unit in request(name, None).units() {
                    assert_eq!(
                        parts.iter().filter(|part| unit.iter().any(|cell| part.contains(cell))).count(),
                        1
                    );
                }
            }
        }
    }

    #[test]
    fn the_lines_of_shards_are_found_and_nothing_else() {
        let place = tempfile::tempdir().expect("a directory");
        for name in [
            "runs.1-of-3.jsonl",
            "runs.01-of-3.jsonl",
            "runs.4-of-3.jsonl",
            "runs.jsonl",
            "runs.3-of-3.jsonl",
        ] {
            std::fs::write(place.path().join(name), "").expect("writes");
        }
        let found = shard_files(place.path()).expect("lists");
        let own = |k| runs_file(place.path(), Shard::new(k, 3).ok());
        assert_eq!(found, [own(1), own(3)]);
    }
}
