//! A pool of workspaces, so that pure functions of `&self` need not allocate per call.

use std::sync::{Mutex, PoisonError};

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
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = idle.unwrap_or_else(make);
        let result = f(&mut workspace);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        result
    }
}
