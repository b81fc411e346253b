//! Stop and progress of long work: one type for training, fits, searches, draws and chains.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// A flag to stop at, and a function that sees what was done. The default does neither.
///
/// `E` is what the function sees: [`crate::train::Progress`] of training,
/// [`crate::posterior::Trial`] of a search, [`crate::posterior::Draw`] of sampling. It may be called from
/// any thread.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use riemla::Control;
/// use riemla::train::Progress;
///
/// let stop = AtomicBool::new(false);
/// let watch = |progress: &Progress| stop.store(progress.iteration >= 10, Ordering::Relaxed);
/// let control = Control::default().stopping(&stop).observing(&watch);
/// assert!(!control.is_stopped());
/// ```
pub struct Control<'a, E = ()> {
    stop: Option<&'a AtomicBool>,
    observer: Option<&'a (dyn Fn(&E) + Sync)>,
}

impl<E> Clone for Control<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Control<'_, E> {}

impl<E> Default for Control<'_, E> {
    fn default() -> Self {
        Self { stop: None, observer: None }
    }
}

impl<E> std::fmt::Debug for Control<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control")
            .field("stop", &self.stop)
            .field("observed", &self.observer.is_some())
            .finish()
    }
}

impl<'a, E> Control<'a, E> {
    /// Ends the work soon after `stop` is set; what is complete is kept.
    pub fn stopping(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Calls `observer` after every piece of work.
    pub fn observing(self, observer: &'a (dyn Fn(&E) + Sync)) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The same stop for other work, without an observer.
    pub fn quiet<F>(self) -> Control<'a, F> {
        Control { stop: self.stop, observer: None }
    }

    /// Whether a stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// An error if a stop was requested before `what`.
    pub fn check(&self, what: &str) -> Result<()> {
        if self.is_stopped() { Err(Error::Stopped { what: what.into() }) } else { Ok(()) }
    }

    /// Hands a piece of work to the observer.
    pub fn report(&self, event: &E) {
        if let Some(observer) = self.observer {
            observer(event);
        }
    }
}
