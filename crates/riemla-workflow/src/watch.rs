//! What a caller can see of long work.

use std::sync::atomic::{AtomicBool, Ordering};

use riemla::Control;
use riemla::train::Progress;

/// Told of progress, from any thread.
pub trait Watch: Sync {
    /// A stage begins; `total` steps of it can be expected, or 0 if that is unknown.
    fn begin(&self, stage: &str, total: u64);
    /// One step of the stage is done.
    fn step(&self);
    /// Something the user should read, whatever the stage.
    fn note(&self, text: &str);
    /// How long the stage will take, for those who wait at a terminal.
    fn estimate(&self, text: &str) {
        let _ = text;
    }
}

/// What long work runs with: a flag that ends it early, and somebody who is told of its progress.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// Once it is set, the work ends as soon as it can.
    pub stop: &'a AtomicBool,
    /// Told of progress.
    pub watch: &'a dyn Watch,
}

/// A flag that nobody sets.
static NEVER: AtomicBool = AtomicBool::new(false);

impl<'a> Session<'a> {
    /// With a flag and a watch.
    pub fn new(stop: &'a AtomicBool, watch: &'a dyn Watch) -> Self {
        Self { stop, watch }
    }

    /// Not to be stopped, and not watched.
    pub fn silent() -> Self {
        Self { stop: &NEVER, watch: &Silent }
    }

    /// The same, told to somebody else.
    pub fn watched_by(self, watch: &'a dyn Watch) -> Self {
        Self { watch, ..self }
    }

    /// Whether the flag is set.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The flag for long work of the library, which can be observed too.
    pub fn control<E>(&self) -> Control<'a, E> {
        Control::default().stopping(self.stop)
    }
}

/// Looks away.
pub struct Silent;

impl Watch for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn step(&self) {}
    fn note(&self, _: &str) {}
}

/// Passes on steps and estimates alone: for a part of longer work, whose stages and lines are its own.
pub struct Steps<'a>(pub &'a dyn Watch);

impl Watch for Steps<'_> {
    fn begin(&self, _: &str, _: u64) {}

    fn step(&self) {
        self.0.step();
    }

    fn note(&self, _: &str) {}

    fn estimate(&self, text: &str) {
        self.0.estimate(text);
    }
}

/// An observer of training that counts iterations as steps.
pub fn steps(watch: &dyn Watch) -> impl Fn(&Progress) + Sync + '_ {
    |_| watch.step()
}
