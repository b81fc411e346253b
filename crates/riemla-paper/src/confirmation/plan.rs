//! What is run: tables, seeds and sizes, from one TOML file.

use riemla_files::Task;
use serde::{Deserialize, Serialize};

use crate::experiments::{ExperimentError, Result};

const TEXT: &str = include_str!("../../experiments/confirmation.toml");

/// The plan of a confirmation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Number of seeds, from 0.
    pub seeds: u64,
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

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Its name; the file is `confirmation/NAME.csv` below the data directory.
    pub name: String,
    /// Classes or numbers.
    pub task: Task,
    /// Column of the target.
    pub target: String,
    /// SHA-256 of the file.
    pub sha256: String,
}

impl Plan {
    /// The plan of docs/confirmation.md, or its small version.
    pub fn new(quick: bool) -> Result<Self> {
        let mut plan: Self = toml::from_str(TEXT).map_err(|error| ExperimentError::Config {
            file: "experiments/confirmation.toml".into(),
            message: error.to_string(),
        })?;
        let small = plan.quick.take().filter(|_| quick);
        if let Some(Quick { seeds, draws, members, train_rows, test_rows, sets }) = small {
            plan.sets.retain(|set| sets.contains(&set.name));
            plan = Self { seeds, draws, members, train_rows, test_rows, ..plan };
        }
        Ok(plan)
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
        let (full, quick) = (Plan::new(false).expect("valid"), Plan::new(true).expect("valid"));
        assert!(full.sets.len() >= 12 && full.seeds == 5, "{}", full.sets.len());
        assert_eq!((quick.sets.len(), quick.seeds), (2, 1));
        let kinds = |task| full.sets.iter().filter(|set| set.task == task).count();
        assert!(kinds(Task::Classification) >= 6 && kinds(Task::Regression) >= 5);
    }
}
