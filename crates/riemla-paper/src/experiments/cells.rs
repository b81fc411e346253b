//! Cells run one after the other: by experiments, against the truth, and in confirmations. What is done is kept in a log
//! and not done again, processes share the cells, and a failure of one does not stop the others.

use std::collections::BTreeSet;
use std::path::Path;

use riemla_files::Shard;
use riemla_workflow::watch::Session;

use super::log::{Line, Log};
use super::{ExperimentError, Result};

/// How a run ended.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Whether a stop was requested before all was done.
    pub interrupted: bool,
    /// What could not be done, and why.
    pub failures: Vec<String>,
}

/// One cell.
type Cell<'w, L> = dyn Fn(&<L as Line>::Key, &Log<L>) -> Result<L> + 'w;

/// What is done with some cells.
pub struct Work<'w, L: Line> {
    /// Whether the line of an earlier run is what the cell would give now.
    pub is_done: &'w dyn Fn(&L) -> bool,
    /// Whether the cells after this one need its result.
    pub is_needed: fn(&L::Key) -> bool,
    /// Steps of progress that a cell counts for.
    pub steps: &'w dyn Fn(&L::Key) -> u64,
    /// Runs a cell, counts its steps and says what came out; the log has what was done before.
    pub run: &'w Cell<'w, L>,
}

/// A run: its log, its part of the cells, and what went wrong so far.
pub struct Run<'a, L: Line> {
    /// Stopped by Ctrl-C; told of progress.
    pub session: Session<'a>,
    /// What is done.
    pub log: Log<L>,
    /// The cells of this process; none if they all are.
    own: Option<BTreeSet<L::Key>>,
    failures: Vec<String>,
}

impl<'a, L: Line> Run<'a, L> {
    /// Continues what is in a directory. Processes share out `units`: the cells of one are run by the same process.
    pub fn new(
        out: &Path,
        shard: Option<Shard>,
        units: Vec<Vec<L::Key>>,
        session: Session<'a>,
    ) -> Result<Self> {
        let log = match shard {
            None => Log::merge(out)?,
            shard => Log::of_shard(out, shard)?,
        };
        Ok(Self { session, log, own: shard.map(|shard| part(shard, units)), failures: Vec::new() })
    }

    /// Those of some cells that are run here.
    pub fn own(&self, mut cells: Vec<L::Key>) -> Vec<L::Key> {
        cells.retain(|key| self.own.as_ref().is_none_or(|own| own.contains(key)));
        cells
    }

    /// Counts so many steps as done.
    pub fn skip(&self, steps: u64) {
        (0..steps).for_each(|_| self.session.watch.step());
    }

    /// Runs the cells that are not done; each is written down as soon as it is.
    pub fn cells(&mut self, work: &Work<'_, L>, keys: &[L::Key]) -> Result<()> {
        for key in keys {
            if self.session.stopped() {
                return Err(ExperimentError::Interrupted);
            }
            if self.log.get(key).is_some_and(work.is_done) {
                self.skip((work.steps)(key));
                continue;
            }
            let result = (work.run)(key, &self.log).and_then(|line| self.log.put(line));
            match (work.is_needed)(key) {
                true => result?,
                false => self.keep_going(&key.to_string(), result)?,
            }
        }
        Ok(())
    }

    /// A failure of one part is written down and does not stop the others.
    pub fn keep_going(&mut self, what: &str, result: Result<()>) -> Result<()> {
        match result {
            Ok(()) | Err(ExperimentError::Interrupted) => Ok(()),
            // Nothing can be kept any more.
            Err(error @ ExperimentError::File(riemla_files::Error::Io { .. })) => Err(error),
            Err(error) => {
                self.session.watch.note(&format!("{what}: {error}"));
                self.fail(format!("{what}: {error}"));
                Ok(())
            }
        }
    }

    /// Something cannot be done.
    pub fn fail(&mut self, failure: String) {
        self.failures.push(failure);
    }

    /// How it ended.
    pub fn end(self) -> Outcome {
        Outcome { interrupted: self.session.stopped(), failures: self.failures }
    }
}

/// The cells of one of several processes.
pub(super) fn part<K: Ord>(shard: Shard, units: Vec<Vec<K>>) -> BTreeSet<K> {
    let mut units: Vec<(u64, Vec<K>)> = (0..).zip(units).collect();
    // Scattered, so that no process has all cells of the slowest method.
    units.sort_by_key(|(number, _)| number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let own = (0..).zip(units).filter(|(place, _)| shard.takes(*place));
    own.flat_map(|(_, (_, cells))| cells).collect()
}
