//! Where samplers put their draws: on the disk, at once.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use riemla::posterior::Draw;
use riemla_files::{RunInfo, SampleStore};

use crate::watch::Watch;
use crate::workflow::error::Result;

/// The log of a set while draws are taken, and all that a sampler may use meanwhile.
pub(crate) struct Keeper<'a> {
    store: &'a Mutex<SampleStore>,
    failure: Mutex<Option<riemla_files::Error>>,
    /// Draws that the set shall have.
    pub samples: u64,
    /// The directory of the set.
    pub set: &'a Path,
    /// Set when no further draws are wanted.
    pub halt: &'a AtomicBool,
    /// Told of progress.
    pub watch: &'a dyn Watch,
}

impl<'a> Keeper<'a> {
    /// Keeps draws in `store`.
    pub fn new(
        store: &'a Mutex<SampleStore>,
        (set, samples): (&'a Path, u64),
        halt: &'a AtomicBool,
        watch: &'a dyn Watch,
    ) -> Self {
        Self { store, failure: Mutex::new(None), samples, set, halt, watch }
    }

    fn store(&self) -> MutexGuard<'_, SampleStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the draws have in common.
    pub fn run(&self) -> RunInfo {
        self.store().run().clone()
    }

    /// Indices of draws that are not there yet.
    pub fn missing(&self) -> Vec<u64> {
        self.store().missing(self.samples)
    }

    /// Keeps a draw. If that fails (a full disk) no further draws are wanted: they would be lost.
    pub fn keep(&self, draw: &Draw) {
        let added = self.store().append(draw);
        if let Err(error) = added {
            self.halt.store(true, Ordering::Relaxed);
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Keeps weights without a geodesic.
    pub fn keep_weights(&self, index: u64, theta: Vec<f64>) {
        self.keep(&Draw { index, theta, geodesic: None });
    }

    /// Whether no further draws are wanted.
    pub fn halted(&self) -> bool {
        self.halt.load(Ordering::Relaxed)
    }

    /// The reason why a draw could not be kept, if there was one.
    pub fn finish(self) -> Result<()> {
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}
