//! Writing a file so that a reader sees the old content or the new, never a part.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `bytes` to a temporary file beside `path`, then renames it to `path`. On failure the
/// temporary file is removed and what was at `path` stays.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path)?;
    let written = write_and_sync(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// A new name in the same directory: renaming across file systems would not be atomic.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()));
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().ok_or_else(no_name)?);
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(name))
}

fn write_and_sync(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_replaced_and_nothing_is_left_behind() {
        let directory = std::env::temp_dir().join(format!("riemla-write-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("temporary directory");
        let path = directory.join("report.html");
        write_atomically(&path, b"old").expect("writes");
        write_atomically(&path, b"new").expect("replaces");
        assert_eq!(fs::read(&path).expect("reads"), b"new");
        assert!(write_atomically(&directory.join("missing/x"), b"").is_err());
        assert!(write_atomically(Path::new("/"), b"").is_err());
        assert_eq!(fs::read_dir(&directory).expect("lists").count(), 1);
        fs::remove_dir_all(&directory).expect("cleans up");
    }
}
