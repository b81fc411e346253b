//! Where samplers put their draws: on the disk at once, or in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use riemla::posterior::Draw;
use riemla_files::{RunInfo, SampleStore, Shard};

use crate::of_run::Place;
use crate::watch::Session;
use crate::workflow::elsewhere::Elsewhere;
use crate::workflow::error::Result;
use crate::workflow::sample_config::SampleConfig;

/// The draws of a set so far.
pub(crate) enum Log {
    /// On the disk: a draw that is there survives a crash.
    Disk(Box<SampleStore>),
    /// The same for a part of the draws; other processes have taken those elsewhere.
    Shard { store: Box<SampleStore>, shard: Shard, elsewhere: BTreeSet<u64> },
    /// In memory, by index.
    Memory(BTreeMap<u64, Draw>),
}

impl Log {
    /// Number of draws.
    pub fn len(&self) -> usize {
        match self {
            Self::Disk(store) | Self::Shard { store, .. } => store.len(),
            Self::Memory(draws) => draws.len(),
        }
    }

    fn missing(&self, count: u64) -> Vec<u64> {
        match self {
            Self::Disk(store) => store.missing(count),
            Self::Shard { store, shard, elsewhere } => {
                let mut missing = store.missing(count);
                missing.retain(|index| shard.takes(*index) && !elsewhere.contains(index));
                missing
            }
            Self::Memory(draws) => (0..count).filter(|index| !draws.contains_key(index)).collect(),
        }
    }

    fn append(&mut self, draw: &Draw) -> riemla_files::Result<()> {
        match self {
            Self::Disk(store) | Self::Shard { store, .. } => store.append(draw),
            Self::Memory(draws) => {
                draws.entry(draw.index).or_insert_with(|| draw.clone());
                Ok(())
            }
        }
    }

    fn clear(&mut self) -> riemla_files::Result<()> {
        match self {
            Self::Disk(store) | Self::Shard { store, .. } => store.clear(),
            Self::Memory(draws) => {
                draws.clear();
                Ok(())
            }
        }
    }

    /// All draws, by index.
    pub fn draws(&mut self) -> Result<Vec<Draw>> {
        match self {
            Self::Disk(store) | Self::Shard { store, .. } => Ok(store.read_all()?),
            Self::Memory(draws) => Ok(draws.values().cloned().collect()),
        }
    }
}

/// The log of a set while draws are taken, and all that a sampler may use meanwhile.
pub(crate) struct Keeper<'a> {
    log: &'a Mutex<Log>,
    failure: Mutex<Option<riemla_files::Error>>,
    /// Draws that the set shall have.
    pub samples: u64,
    /// The part of them that is taken here; all if none.
    pub shard: Option<Shard>,
    /// Who takes the draws; this process if none.
    pub elsewhere: Option<&'a dyn Elsewhere>,
    /// The directory of the set, if it has one.
    pub set: Option<&'a Path>,
    /// Stopped when no further draws are wanted; told of progress.
    pub session: Session<'a>,
}

impl<'a> Keeper<'a> {
    /// Keeps draws in `log`.
    pub fn new(
        log: &'a Mutex<Log>,
        config: &'a SampleConfig,
        set: Option<&'a Path>,
        session: Session<'a>,
    ) -> Self {
        let (samples, shard, elsewhere) = (config.samples, config.shard, config.elsewhere.as_deref());
        Self { log, failure: Mutex::new(None), samples, shard, elsewhere, set, session }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory of the set and what its draws have in common, if it is on the disk.
    pub fn place(&self) -> Option<(&'a Path, RunInfo)> {
        match (&*self.log(), self.set) {
            (Log::Disk(store) | Log::Shard { store, .. }, Some(set)) => Some((set, store.run().clone())),
            _ => None,
        }
    }

    /// A file of the set, if it is on the disk.
    pub fn file(&self, name: &str) -> Option<Place> {
        self.place().map(|(set, run)| (set.join(name), run))
    }

    /// Indices of draws that are not there yet.
    pub fn missing(&self) -> Vec<u64> {
        self.log().missing(self.samples)
    }

    /// The draws that are there, by index.
    pub fn draws(&self) -> Result<Vec<Draw>> {
        self.log().draws()
    }

    /// Forgets all draws: they were made at a strength that is given up.
    pub fn clear(&self) -> Result<()> {
        Ok(self.log().clear()?)
    }

    /// Keeps a draw. If that fails (a full disk) no further draws are wanted: they would be lost.
    pub fn keep(&self, draw: &Draw) {
        let added = self.log().append(draw);
        if let Err(error) = added {
            self.session.stop.store(true, Ordering::Relaxed);
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Keeps weights without a geodesic.
    pub fn keep_weights(&self, index: u64, theta: Vec<f64>) {
        self.keep(&Draw::new(index, theta, None));
    }

    /// Whether no further draws are wanted.
    pub fn halted(&self) -> bool {
        self.session.stopped()
    }

    /// The reason why a draw could not be kept, if there was one.
    pub fn finish(self) -> Result<()> {
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}
