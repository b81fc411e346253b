//! What a caller can see of long work.

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
