//! The defaults on tables that played no part in choosing them: what users get from train, fit, sample and evaluate,
//! against what else they could do. `riemla reproduce confirmation`.

mod cell;
mod plan;
mod report;
mod statistics;
mod table;

use std::cmp::Ordering;
use std::fmt;
use std::path::Path;

use riemla_files::Shard;
use serde::{Deserialize, Serialize};

use crate::datasets::DataDirs;
use crate::experiments::cells::{Run, Work};
use crate::experiments::log::Line;
use crate::experiments::{ExperimentError, Log, Outcome, Result};
use riemla_workflow::watch::{Session, Silent};

pub use plan::{Images, Plan, Set, Source};
pub use report::write_reports;
pub use statistics::{Ranking, power, sign_rank_p};

/// Name on the command line.
pub const NAME: &str = "confirmation";

/// A table and a seed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The table.
    pub set: String,
    /// Seed of the split and the training.
    pub seed: u64,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, seed {}", self.set, self.seed)
    }
}

/// One table and seed: what every method scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which table and seed.
    #[serde(flatten)]
    pub key: Key,
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

impl Line for Record {
    type Key = Key;
    const FILE: &'static str = NAME;

    fn key(&self) -> &Key {
        &self.key
    }

    /// That of runs: seed by seed, the sets as in the plan.
    fn order(&self, other: &Self) -> Ordering {
        let place = |record: &Self| record.plan.sets.iter().position(|set| set.name == record.key.set);
        (self.key.seed, place(self)).cmp(&(other.key.seed, place(other)))
    }
}

/// `confirmation.jsonl` of a directory.
pub type Records = Log<Record>;

/// Runs all tables and seeds that are not done.
pub fn run(
    plan: &Plan,
    out: &Path,
    data: &DataDirs,
    shard: Option<Shard>,
    session: Session<'_>,
) -> Result<Outcome> {
    let cells = plan.cells();
    let mut run: Run<'_, Record> =
        Run::new(out, shard, cells.iter().map(|key| vec![key.clone()]).collect(), session)?;
    let version = env!("CARGO_PKG_VERSION");
    let same =
        |record: &Record| record.plan.settings() == plan.settings() && record.riemla_version == version;
    if let Some(other) = run.log.all().find(|record| !same(record)) {
        let what = format!("{}: other settings or another version", other.key);
        return Err(ExperimentError::Changed { file: run.log.path().into(), what });
    }
    let own = run.own(cells);
    session.watch.begin(NAME, own.len() as u64);
    let cell = |key: &Key, _: &Records| {
        let work = out.join("work").join(format!("{}-{}", key.set, key.seed));
        let record = cell::run(plan, key, data, &work, session.watched_by(&Silent));
        session.watch.step();
        record.inspect(|record| session.watch.note(&cell::line(record)))
    };
    // Those of other settings were refused above.
    let work = Work { is_done: &|_| true, is_needed: |_| false, steps: &|_| 1, run: &cell };
    let result = run.cells(&work, &own);
    run.keep_going(NAME, result)?;
    Ok(run.end())
}
