//! What is run: tables and images, seeds and sizes, from one TOML file.

use std::path::Path;

use riemla_files::Task;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Key;
use crate::experiments::{ExperimentError, NetworkChoice, Result};

const TEXT: &str = include_str!("../../experiments/confirmation.toml");
/// The sets that plans name.
const SETS: &str = include_str!("../../experiments/confirmation-sets.toml");

/// The plan of a confirmation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of seeds.
    pub seeds: u64,
    /// The first of them.
    #[serde(default)]
    pub first_seed: u64,
    /// Draws behind a prediction.
    pub draws: u64,
    /// Networks of an ensemble.
    pub members: usize,
    /// Most rows to train on.
    pub train_rows: usize,
    /// Most rows of the test.
    pub test_rows: usize,
    /// A small version, to see that everything works.
    #[serde(default, skip_serializing)]
    quick: Option<Quick>,
    /// The tables and images; in the text of a plan also by their names in `experiments/confirmation-sets.toml`.
    #[serde(deserialize_with = "sets")]
    pub sets: Vec<Set>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quick {
    seeds: u64,
    draws: u64,
    members: usize,
    train_rows: usize,
    test_rows: usize,
    sets: Vec<String>,
}

/// A table, or images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// Its name; the file of a table is `confirmation/NAME.csv` below the data directory.
    pub name: String,
    /// Classes or numbers.
    pub task: Task,
    /// Where the rows come from.
    #[serde(flatten)]
    pub source: Source,
}

/// Reads sets, some of them by name.
fn sets<'de, D: Deserializer<'de>>(reader: D) -> std::result::Result<Vec<Set>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Choice {
        Named(String),
        Given(Set),
    }
    #[derive(Deserialize)]
    struct Known {
        sets: Vec<Set>,
    }
    let Known { sets } = toml::from_str(SETS).map_err(D::Error::custom)?;
    let known = |choice| match choice {
        Choice::Given(set) => Ok(set),
        Choice::Named(name) => sets.iter().find(|set| set.name == name).cloned().ok_or_else(|| {
            D::Error::custom(format!("no set in experiments/confirmation-sets.toml is called {name}"))
        }),
    };
    Vec::deserialize(reader)?.into_iter().map(known).collect()
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// A table in a file.
    Table {
        /// Column of the target.
        target: String,
        /// SHA-256 of the file.
        sha256: String,
    },
    /// Images of a data set that riemla knows.
    Images(Images),
}

/// Images and what is done with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// The data set.
    pub images: String,
    /// Rows to train on.
    pub rows: usize,
    /// Seeds, at most those of the plan.
    pub seeds: u64,
    /// Draws behind a prediction.
    pub draws: u64,
    /// Only the methods of one network: many rows take long.
    #[serde(default)]
    pub only_one_network: bool,
    /// The layers.
    #[serde(deserialize_with = "NetworkChoice::read")]
    pub network: NetworkChoice,
}

impl Plan {
    /// The plan of docs/confirmation.md or another of its form, or its small version.
    pub fn new(file: Option<&Path>, quick: bool) -> Result<Self> {
        let text = match file {
            None => TEXT.to_string(),
            Some(file) => std::fs::read_to_string(file).map_err(ExperimentError::io(file, "read it"))?,
        };
        let mut plan: Self = toml::from_str(&text).map_err(|error| ExperimentError::Config {
            file: file.map_or("experiments/confirmation.toml".into(), |file| file.display().to_string()),
            message: error.to_string(),
        })?;
        let small = plan.quick.take().filter(|_| quick);
        if let Some(Quick { seeds, draws, members, train_rows, test_rows, sets }) = small {
            plan.sets.retain(|set| sets.contains(&set.name));
            plan = Self { seeds, draws, members, train_rows, test_rows, ..plan };
        }
        Ok(plan)
    }

    /// What is done with a set: draws behind a prediction, and the networks of an ensemble, which is none if it is 1.
    pub(super) fn sizes(&self, set: &Set) -> (u64, usize) {
        match &set.source {
            Source::Table { .. } => (self.draws, self.members),
            Source::Images(images) => (images.draws, if images.only_one_network { 1 } else { self.members }),
        }
    }

    /// Whether a set is run under a seed.
    fn has(&self, set: &Set, seed: u64) -> bool {
        let seeds = match &set.source {
            Source::Table { .. } => self.seeds,
            Source::Images(images) => self.seeds.min(images.seeds),
        };
        (self.first_seed..self.first_seed + seeds).contains(&seed)
    }

    /// All sets and seeds: seed by seed, so that an interrupted run has all tables.
    pub(super) fn cells(&self) -> Vec<Key> {
        let of_seed = |seed| {
            let sets = self.sets.iter().filter(move |set| self.has(set, seed));
            sets.map(move |set| Key { set: set.name.clone(), seed })
        };
        (self.first_seed..self.first_seed + self.seeds).flat_map(of_seed).collect()
    }

    /// The set of a cell.
    pub(super) fn set(&self, key: &Key) -> Result<&Set> {
        let missing = || ExperimentError::Unfit(format!("the plan has no set {}", key.set));
        self.sets.iter().find(|set| set.name == key.set).ok_or_else(missing)
    }

    /// All that the numbers of a table and seed depend on; more seeds and tables may be added.
    pub(super) fn settings(&self) -> (u64, usize, usize, usize) {
        (self.draws, self.members, self.train_rows, self.test_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_valid_in_both_sizes() {
        let (full, quick) = (Plan::new(None, false).expect("valid"), Plan::new(None, true).expect("valid"));
        assert!(full.sets.len() >= 12 && full.seeds == 5, "{}", full.sets.len());
        assert_eq!((quick.sets.len(), quick.seeds), (2, 1));
        let later = Plan { first_seed: 5, ..full.clone() };
        let seeds = |plan: &Plan| {
            let cells = plan.cells().into_iter();
            cells.filter(|key| key.set == plan.sets[0].name).map(|key| key.seed).collect::<Vec<u64>>()
        };
        assert_eq!((seeds(&full), seeds(&later)), ((0..5).collect(), (5..10).collect()));
        let run = |name: &str| {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments").join(name);
            let plan = Plan::new(Some(&file), false).expect("valid");
            (plan.first_seed, plan.seeds, plan.sets.len())
        };
        assert_eq!(run("confirmation-again.toml"), (5, 5, 16));
        assert_eq!(run("confirmation-fourth.toml"), (10, 5, 15));
        assert_eq!(run("confirmation-fifth.toml"), (10, 5, 4));
        assert_eq!(run("confirmation-sixth.toml"), (15, 5, 15));
        assert_eq!(run("confirmation-seventh.toml"), (20, 5, 4));
        assert_eq!(run("confirmation-eighth.toml"), (20, 5, 28));
        assert_eq!(run("confirmation-ninth.toml"), (20, 5, 15));
        assert_eq!(run("confirmation-tenth.toml"), (30, 5, 24));
        assert_eq!(run("confirmation-eleventh.toml"), (40, 10, 15));
        assert_eq!(run("confirmation-twelfth.toml"), (50, 5, 14));
        let kinds = |task| full.sets.iter().filter(|set| set.task == task).count();
        assert!(kinds(Task::Classification) >= 6 && kinds(Task::Regression) >= 5);
    }
}
