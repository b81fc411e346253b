//! What is asked for: experiments, presets and priors, and the cells they come to.

use std::path::PathBuf;

use riemla_files::Shard;

use super::record::CellKey;
use super::subject::Subject;
use super::{Experiment, PriorName, Setting};
use crate::datasets::DataDirs;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The experiments, resolved.
    pub experiments: Vec<Experiment>,
    /// Whether they are in their small versions.
    pub quick: bool,
    /// For the methods with geodesics, where the experiment has no settings of its own.
    pub presets: Vec<Setting>,
    /// Which priors.
    pub priors: Vec<PriorName>,
    /// Where to write.
    pub out: PathBuf,
    /// Where the data are.
    pub data: DataDirs,
    /// The part of the cells that this process runs; all if none.
    pub shard: Option<Shard>,
}

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
    pub(super) fn units(&self) -> Vec<Vec<CellKey>> {
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
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::builtin;
    use super::super::cells::part;
    use super::*;

    fn request(name: &str) -> Request {
        Request {
            experiments: vec![builtin(name).expect("known").resolve(true).expect("resolves")],
            quick: true,
            presets: Setting::PRESETS.to_vec(),
            priors: PriorName::ALL.to_vec(),
            out: "out".into(),
            data: DataDirs::new(None),
            shard: None,
        }
    }

    #[test]
    fn every_cell_is_taken_once_and_all_of_a_target_together() {
        for name in ["banana", "truth"] {
            let all: Vec<CellKey> = request(name).units().concat();
            for of in [1, 2, 3, 7, 500] {
                let own = |k| part(Shard::new(k, of).expect("a shard"), request(name).units());
                let parts: Vec<BTreeSet<CellKey>> = (1..=of).map(own).collect();
                assert_eq!(parts.iter().map(BTreeSet::len).sum::<usize>(), all.len());
                assert!(all.iter().all(|cell| parts.iter().any(|part| part.contains(cell))));
                let (least, most) =
                    (parts.iter().map(BTreeSet::len).min(), parts.iter().map(BTreeSet::len).max());
                assert!(name == "truth" || most.unwrap() - least.unwrap() <= 1, "{least:?} {most:?}");
                for unit in request(name).units() {
                    assert_eq!(
                        parts.iter().filter(|part| unit.iter().any(|cell| part.contains(cell))).count(),
                        1
                    );
                }
            }
        }
    }
}
