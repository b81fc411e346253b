//! The defaults on tables that played no part in choosing them: what users get from train, fit, sample and evaluate,
//! against what else they could do. `riemla reproduce confirmation`.

mod cell;
mod plan;
mod report;
mod statistics;
mod table;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::datasets::DataDirs;
use crate::experiments::layout::{read_lines, write_lines};
use crate::experiments::{ExperimentError, Outcome, Result};
use riemla_workflow::watch::{Session, Silent};

pub use plan::{Images, Plan, Set, Source};
pub use report::write_reports;
pub use statistics::{Ranking, power, sign_rank_p};

/// Name on the command line.
pub const NAME: &str = "confirmation";

/// One table and seed: what every method scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The table.
    pub set: String,
    /// Seed of the split and the training.
    pub seed: u64,
    /// What made it.
    pub riemla_version: String,
    /// The settings of the run.
    pub plan: Plan,
    /// Rows trained on and rows of the test.
    pub rows: (usize, usize),
    /// The scores, by method.
    pub methods: Vec<Scored>,
    /// What the commands warned about.
    pub notes: Vec<String>,
}

/// What one method scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scored {
    /// Its name.
    pub method: String,
    /// Weights that predictions average over.
    pub draws: usize,
    /// Seconds for its training, fit and draws; predictions are not counted.
    pub seconds: f64,
    /// Names and values.
    pub scores: Vec<(String, f64)>,
}

impl Scored {
    /// A score by name.
    pub fn score(&self, name: &str) -> Option<f64> {
        self.scores.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The log loss: that of classes, or of densities.
    pub fn log_loss(&self) -> Option<f64> {
        self.score("nll").or_else(|| self.score("nlpd"))
    }
}

/// The records of a directory.
pub fn records(out: &Path) -> Result<Vec<Record>> {
    read_lines(&file(out))
}

fn file(out: &Path) -> PathBuf {
    out.join("confirmation.jsonl")
}

/// Runs all tables and seeds that are not done; each is written down as soon as it is.
pub fn run(plan: &Plan, out: &Path, data: &DataDirs, session: Session<'_>) -> Result<Outcome> {
    let mut done = records(out)?;
    let mut outcome = Outcome::default();
    let version = env!("CARGO_PKG_VERSION");
    let same =
        |record: &Record| record.plan.settings() == plan.settings() && record.riemla_version == version;
    if let Some(other) = done.iter().find(|record| !same(record)) {
        let what = format!("{}, seed {}: other settings or another version", other.set, other.seed);
        return Err(ExperimentError::Changed { file: file(out), what });
    }
    let cells = |seed| plan.sets.iter().filter(move |set| plan.has(set, seed)).count() as u64;
    session.watch.begin(NAME, plan.all_seeds().map(cells).sum());
    // Seed by seed, so that an interrupted run has all tables.
    for seed in plan.all_seeds() {
        for set in plan.sets.iter().filter(|set| plan.has(set, seed)) {
            if session.stopped() {
                outcome.interrupted = true;
                return Ok(outcome);
            }
            if !done.iter().any(|record| record.set == set.name && record.seed == seed) {
                let work = out.join("work").join(format!("{}-{seed}", set.name));
                match cell::run(plan, (set, seed), data, &work, session.watched_by(&Silent)) {
                    Ok(record) => {
                        session.watch.note(&cell::line(&record));
                        done.push(record);
                        write_lines(&file(out), &done)?;
                    }
                    Err(ExperimentError::Interrupted) => {
                        outcome.interrupted = true;
                        return Ok(outcome);
                    }
                    Err(error) => outcome.failures.push(format!("{}, seed {seed}: {error}", set.name)),
                }
            }
            session.watch.step();
        }
    }
    Ok(outcome)
}
