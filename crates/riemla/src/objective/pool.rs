//! A pool of workspaces, so that pure functions of `&self` need not allocate per call.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex holds, also after a panic: everything here is overwritten before it is read.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Workspaces that are not in use at the moment.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

/// A copy starts without workspaces.
impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> Pool<T> {
    /// Runs `f` with a workspace from the pool, made anew if all are in use.
    pub(crate) fn with<R>(&self, make: impl FnOnce() -> T, f: impl FnOnce(&mut T) -> R) -> R {
        let mut workspace = self.take().unwrap_or_else(make);
        let result = f(&mut workspace);
        self.put(workspace);
        result
    }

    /// A workspace that is not in use, if there is one.
    pub(crate) fn take(&self) -> Option<T> {
        lock(&self.0).pop()
    }

    /// Gives a workspace back.
    pub(crate) fn put(&self, workspace: T) {
        lock(&self.0).push(workspace);
    }
}
