//! What is run: tables and images, seeds and sizes, from one TOML file.

use std::path::Path;

use riemla::nn::NetworkSpec;
use riemla_files::Task;
use serde::{Deserialize, Serialize};

use crate::experiments::{ExperimentError, Result};

const TEXT: &str = include_str!("../../experiments/confirmation.toml");

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
    /// The tables.
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
    pub network: NetworkSpec,
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
    pub(super) fn has(&self, set: &Set, seed: u64) -> bool {
        let seeds = match &set.source {
            Source::Table { .. } => self.seeds,
            Source::Images(images) => self.seeds.min(images.seeds),
        };
        (self.first_seed..self.first_seed + seeds).contains(&seed)
    }

    /// All seeds, in their order.
    pub(super) fn all_seeds(&self) -> std::ops::Range<u64> {
        self.first_seed..self.first_seed + self.seeds
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
        assert_eq!(full.all_seeds(), 0..5);
        let later = Plan { first_seed: 5, ..full.clone() };
        let set = &full.sets[0];
        let seeds = |plan: &Plan| (0..20).filter(|seed| plan.has(set, *seed)).collect::<Vec<u64>>();
        assert_eq!((seeds(&full), seeds(&later)), ((0..5).collect(), (5..10).collect()));
        let run = |name: &str| {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments").join(name);
            let plan = Plan::new(Some(&file), false).expect("valid");
            (plan.all_seeds(), plan.sets.len())
        };
        assert_eq!(run("confirmation-again.toml"), (5..10, 16));
        assert_eq!(run("confirmation-fourth.toml"), (10..15, 15));
        let kinds = |task| full.sets.iter().filter(|set| set.task == task).count();
        assert!(kinds(Task::Classification) >= 6 && kinds(Task::Regression) >= 5);
    }
}
