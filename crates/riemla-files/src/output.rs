//! Where results go: claimed before the work, written after it, and never at the cost of other
//! people's files.
//!
//! All commands write through [`OutputDirectory`] and [`OutputFile`]. What is there already is
//! replaced only if riemla wrote it ([`crate::ours`]) or, for a single file, if that was asked for;
//! inputs, links and everything that riemla does not know are left alone in any case.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::atomic::{Temporary, parent, sync_directory, temporary_beside, write_file};
use crate::error::name;
use crate::locks::Attempt;
use crate::ours::{Contents, Kind, lock_file};
use crate::words::some;
use crate::{Error, Result};

/// What to do if the output is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Give an error and touch nothing.
    #[default]
    Refuse,
    /// Put the new one in its place once it is complete.
    Replace,
}

impl Existing {
    /// Replaces only if asked to.
    pub fn replace_if(force: bool) -> Self {
        if force { Self::Replace } else { Self::Refuse }
    }
}

/// A directory to be written as a whole: that of a model or a posterior.
///
/// While this lives, no other process can replace the old directory or draw from it.
#[derive(Debug)]
pub struct OutputDirectory {
    path: PathBuf,
    existing: Existing,
    inputs: Vec<PathBuf>,
    _lock: Option<File>,
}

impl OutputDirectory {
    /// Checks that a directory can be written: nothing is in the way, or it is one that riemla wrote
    /// and may replace, none of `inputs` is in it, and its parent can be made and written to.
    pub fn claim(path: &Path, existing: Existing, inputs: &[&Path]) -> Result<Self> {
        let path = named(path)?;
        let mut claimed = Self { path, existing, inputs: resolved(inputs), _lock: None };
        if claimed.is_occupied()? {
            claimed._lock = lock(&claimed.path)?;
        }
        let file = name(&claimed.path);
        fs::create_dir_all(parent(&claimed.path)).map_err(Error::io(&file, "make its parent directory"))?;
        let probe = Temporary(temporary_beside(&claimed.path));
        fs::create_dir(&probe.0).map_err(Error::io(&file, "write next to it"))?;
        Ok(claimed)
    }

    /// The path to be written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory through `fill`, which gets the path of a temporary one, and puts it in
    /// place in one step. An empty directory that is already there counts as none.
    pub fn write(&self, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let (path, file) = (&self.path, name(&self.path));
        let temporary = Temporary(temporary_beside(path));
        fs::create_dir(&temporary.0).map_err(Error::io(&file, "write next to it"))?;
        fill(&temporary.0)?;
        sync_directory(&temporary.0);
        if !self.is_occupied()? {
            self.put_in_place(&temporary.0)?;
            sync_directory(parent(path));
            return Ok(());
        }
        let old = temporary_beside(path);
        fs::rename(path, &old).map_err(Error::io(&file, "move the old version away"))?;
        // Looked at again where nobody else writes: what came in the meantime is not lost either.
        let placed = self.contents(&old).and_then(|contents| {
            self.put_in_place(&temporary.0)?;
            Ok(contents)
        });
        match placed {
            Ok(contents) => contents.remove(&old),
            Err(error) => {
                // Better the old one than none.
                let _ = fs::rename(&old, path);
                return Err(error);
            }
        }
        sync_directory(parent(path));
        Ok(())
    }

    fn put_in_place(&self, temporary: &Path) -> Result<()> {
        let file = name(&self.path);
        fs::rename(temporary, &self.path).map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => Error::Exists { file },
            _ => Error::io(&file, "rename the finished temporary directory to it")(error),
        })
    }

    /// Whether a directory is there that may be replaced; an error if something is there that may not.
    fn is_occupied(&self) -> Result<bool> {
        let Some(there) = what_is_at(&self.path)? else { return Ok(false) };
        if !there.is_dir() {
            return Err(protected(&self.path, "it is a file, not a directory".into(), ELSEWHERE));
        }
        let mut entries = fs::read_dir(&self.path).map_err(Error::io(&name(&self.path), "list it"))?;
        if entries.next().is_none() {
            return Ok(false);
        }
        if let Some(input) = self.inputs.iter().find(|input| is_in(input, &self.path)) {
            let reason = format!("{} is an input of this command", input.display());
            return Err(protected(&self.path, reason, ELSEWHERE));
        }
        self.contents(&self.path)?;
        match self.existing {
            Existing::Refuse => Err(Error::Exists { file: name(&self.path) }),
            Existing::Replace => Ok(true),
        }
    }

    /// What is in a directory, all of it written by riemla.
    fn contents(&self, directory: &Path) -> Result<Contents> {
        let contents = Contents::of(directory).map_err(Error::io(&name(directory), "list it"))?;
        if contents.foreign.is_empty() {
            return Ok(contents);
        }
        let reason = format!("it contains files that riemla did not write: {}", some(&contents.foreign, 3));
        Err(protected(&self.path, reason, "choose another name with --out, or move these files elsewhere"))
    }
}

/// A single file to be written.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    existing: Existing,
    kind: Kind,
    inputs: Vec<PathBuf>,
}

impl OutputFile {
    /// Checks that a file can be written: nothing is there, or a file that riemla wrote, or one that
    /// may be replaced; in any case no input and no link.
    pub fn claim(path: &Path, existing: Existing, kind: Kind, inputs: &[&Path]) -> Result<Self> {
        let claimed = Self { path: named(path)?, existing, kind, inputs: resolved(inputs) };
        claimed.check()?;
        let probe = Temporary(temporary_beside(&claimed.path));
        File::create_new(&probe.0).map_err(Error::io(&name(&claimed.path), "write next to it"))?;
        Ok(claimed)
    }

    /// The path to be written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file through `fill` and puts it in place in one step.
    pub fn write(&self, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
        self.check()?;
        write_file(&self.path, fill)
    }

    fn check(&self) -> Result<()> {
        let path = &self.path;
        let Some(there) = what_is_at(path)? else { return Ok(()) };
        if there.is_dir() {
            let remedy = "name a file in it";
            return Err(protected(path, "it is a directory".into(), remedy));
        }
        if !there.is_file() {
            return Err(protected(path, "it is not a regular file".into(), ELSEWHERE));
        }
        let ours = self.kind.is_ours(path).map_err(Error::io(&name(path), "read it"))?;
        // A directory among the inputs may hold an earlier report, but its other files are inputs.
        let belongs = |input: &&PathBuf| is_in(path, input) && (input.is_file() || !ours);
        if let Some(input) = self.inputs.iter().find(belongs) {
            let reason = if input.is_file() { "it is" } else { "it belongs to" };
            let reason = format!("{reason} an input of this command ({})", input.display());
            return Err(protected(path, reason, ELSEWHERE));
        }
        if ours || self.existing == Existing::Replace {
            return Ok(());
        }
        Err(Error::Exists { file: name(path) })
    }
}

const ELSEWHERE: &str = "choose another name";

/// Keeps a posterior directory from being replaced while it is in use; several may use it at a time.
/// On file systems without locks there is nothing to be done.
#[derive(Debug)]
pub struct InUse {
    _lock: File,
}

impl InUse {
    /// Marks a directory as in use until this is dropped.
    pub fn claim(directory: &Path) -> Result<Self> {
        let path = lock_file(directory);
        let file = File::open(&path).map_err(Error::io(&name(&path), "open it"))?;
        // Where there are no locks the log of draws says so.
        Attempt::from(file.try_lock_shared()).checked(directory).map(|_| Self { _lock: file })
    }
}

/// The only lock on a directory that is about to be replaced.
fn lock(directory: &Path) -> Result<Option<File>> {
    let path = lock_file(directory);
    let file = File::open(&path).map_err(Error::io(&name(&path), "open it"))?;
    Attempt::from(file.try_lock()).checked(directory).map(|_| Some(file))
}

fn protected(path: &Path, reason: String, remedy: &'static str) -> Error {
    Error::Protected { file: name(path), reason, remedy }
}

/// The path without a slash at its end, which would follow a link; `.`, `..` and `/` have no name.
fn named(path: &Path) -> Result<PathBuf> {
    match path.file_name() {
        Some(name) => Ok(path.parent().map_or_else(|| name.into(), |parent| parent.join(name))),
        None => {
            let reason = "it cannot name a new directory".into();
            Err(protected(path, reason, "choose a name such as model or results/model"))
        }
    }
}

/// What a path is, links not followed; an error for links, none if nothing is there.
fn what_is_at(path: &Path) -> Result<Option<fs::Metadata>> {
    match path.symlink_metadata() {
        Ok(there) if there.is_symlink() => {
            let target = fs::read_link(path).map_or_else(|_| "?".into(), |target| name(&target));
            let reason = format!("it is a link to {target}");
            Err(protected(path, reason, "name the target itself, or remove the link"))
        }
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(&name(path), "inspect it")(error)),
    }
}

/// The inputs that are there, without links.
fn resolved(inputs: &[&Path]) -> Vec<PathBuf> {
    inputs.iter().filter_map(|input| input.canonicalize().ok()).collect()
}

/// Whether a path is a directory or something in it. `inner` or `outer` may be relative.
fn is_in(inner: &Path, outer: &Path) -> bool {
    match (inner.canonicalize(), outer.canonicalize()) {
        (Ok(inner), Ok(outer)) => inner.starts_with(outer),
        _ => false,
    }
}
