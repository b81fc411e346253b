//! Writing so that a reader sees the old file or the new one, never half of one.
//!
//! Everything is written under a temporary name (`.riemla-tmp-…`) in the same directory, synced
//! to the disk and renamed. A temporary file left by a killed process is never read.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::name;
use crate::{Error, Result};

/// Start of the names of temporary files and directories.
pub const TEMPORARY_PREFIX: &str = ".riemla-tmp-";

/// Writes a file through `fill` and puts it in place in one step.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    let temporary = Temporary(temporary_beside(path));
    write_synced(&temporary.0, fill).map_err(Error::io(&name(path), "write it"))?;
    fs::rename(&temporary.0, path)
        .map_err(Error::io(&name(path), "rename the finished temporary file to it"))?;
    sync_directory(parent(path));
    Ok(())
}

fn write_synced(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut writer = BufWriter::new(File::create_new(path)?);
    fill(&mut writer)?;
    writer.flush()?;
    writer.get_ref().sync_all()
}

/// Removes what is still under the temporary name when dropped.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        if fs::remove_file(&self.0).is_err() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A name in the same directory that no other call of any process uses.
pub(crate) fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let candidate = format!("{TEMPORARY_PREFIX}{}-{count}-{stem}", std::process::id());
        let candidate = parent(path).join(candidate);
        // A killed process with the same number may have left one.
        if candidate.symlink_metadata().is_err() {
            return candidate;
        }
    }
}

pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes a rename durable. Not all systems can sync a directory; those that cannot do not need it.
pub(crate) fn sync_directory(path: &Path) {
    if let Ok(directory) = File::open(path) {
        let _ = directory.sync_all();
    }
}
