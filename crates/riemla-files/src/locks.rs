//! Locks on files, and what is said where a file system has none.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::name;
use crate::{Error, Result};

/// What came of an attempt to lock a file.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// It is locked until it is closed.
    Locked,
    /// Another process has it.
    Busy,
    /// There are no locks here.
    Impossible(io::Error),
}

impl From<std::result::Result<(), TryLockError>> for Attempt {
    fn from(result: std::result::Result<(), TryLockError>) -> Self {
        match result {
            Ok(()) => Self::Locked,
            Err(TryLockError::WouldBlock) => Self::Busy,
            Err(TryLockError::Error(error)) => Self::Impossible(error),
        }
    }
}

impl Attempt {
    /// Nothing if it was locked, a remark for the user if that is impossible, an error if another process has it.
    pub(crate) fn checked(self, path: &Path) -> Result<Option<String>> {
        match self {
            Self::Locked => Ok(None),
            Self::Busy => Err(Error::Busy { file: name(path) }),
            Self::Impossible(error) => Ok(Some(format!(
                "the file system of {} has no locks ({error}): nothing keeps a second process from writing there \
                 at the same time; make sure that none does",
                name(path)
            ))),
        }
    }
}

/// How often those who wait for a turn look.
const PERIOD: Duration = Duration::from_millis(50);

/// The turn at work that one process shall do while others wait. Without locks nobody waits: the work is done twice, with
/// the same result.
#[derive(Debug)]
pub struct Turn {
    path: PathBuf,
    _file: File,
}

impl Turn {
    /// Waits for the turn at the work that a file stands for; none if `stop` was set.
    pub fn wait(path: &Path, stop: &AtomicBool) -> Result<Option<Self>> {
        let text = name(path);
        std::fs::create_dir_all(crate::atomic::parent(path))
            .map_err(Error::io(&text, "make its directory"))?;
        let open = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = open.map_err(Error::io(&text, "open it"))?;
        while let Attempt::Busy = file.try_lock().into() {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            std::thread::sleep(PERIOD);
        }
        Ok(Some(Self { path: path.into(), _file: file }))
    }
}

impl Drop for Turn {
    /// Those who wait have it open, and find the work done; those who come later need no turn.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_locks_are_a_remark_and_others_an_error() {
        let path = Path::new("draws.log");
        let attempt = |result| Attempt::from(result).checked(path);
        assert!(matches!(attempt(Ok(())), Ok(None)));
        assert!(matches!(attempt(Err(TryLockError::WouldBlock)), Err(Error::Busy { .. })));
        let none = attempt(Err(TryLockError::Error(io::ErrorKind::Unsupported.into())));
        let text = none.expect("no error").expect("a remark");
        assert!(
            text.contains("draws.log has no locks (unsupported)") && text.contains("second process"),
            "{text}"
        );
    }

    #[test]
    fn a_turn_is_waited_for_and_given_back() {
        let place = tempfile::tempdir().expect("a directory");
        let (path, stop) = (place.path().join("deep/turn.lock"), AtomicBool::new(false));
        let first = Turn::wait(&path, &stop).expect("opens").expect("is free");
        let stopped = AtomicBool::new(true);
        assert!(Turn::wait(&path, &stopped).expect("opens").is_none(), "it is taken");
        let second = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Turn::wait(&path, &stop).expect("opens").is_some());
            std::thread::sleep(3 * PERIOD);
            drop(first);
            waiting.join().expect("no panic")
        });
        assert!(second && !path.exists());
    }
}
