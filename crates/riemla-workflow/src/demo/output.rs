//! The directory a demonstration writes to: checked before the work, written after it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use riemla_files::atomic::TEMPORARY_PREFIX;
use riemla_files::{Existing, Kind, OutputFile};
use serde::Deserialize;

use super::error::OutputError;
use super::result::SCHEMA;

const REPORT: &str = "report.html";
const RESULTS: &str = "results.json";
const PICTURE: &str = "confidence-maps.svg";
/// How many names of other people's files an error mentions.
const MENTIONED: usize = 3;

/// The content of all files, complete before the first is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// `report.html`.
    pub report: String,
    /// `results.json`.
    pub results: String,
    /// `confidence-maps.svg`.
    pub picture: String,
}

/// A directory known to be writable and free of files that are not ours.
#[derive(Debug)]
pub struct OutputDir {
    results: OutputFile,
    picture: OutputFile,
    report: OutputFile,
}

impl OutputDir {
    /// Creates the directory if needed and tries to write to it. Files other than those of an
    /// earlier run are refused, unless `force`; then they stay as they are.
    pub fn prepare(path: &Path, force: bool) -> Result<Self, OutputError> {
        if path.exists() && !path.is_dir() {
            return Err(OutputError::NotADirectory(path.into()));
        }
        fs::create_dir_all(path).map_err(failed("create it", path))?;
        let foreign = foreign_names(path).map_err(failed("list it", path))?;
        if !foreign.is_empty() && !force {
            return Err(OutputError::Foreign { path: path.into(), names: some_of(foreign) });
        }
        let existing = Existing::replace_if(force || is_demo(&path.join(RESULTS)));
        let claim = |name: &str, kind| OutputFile::claim(&path.join(name), existing, kind, &[]);
        Ok(Self {
            results: claim(RESULTS, Kind::Other)?,
            picture: claim(PICTURE, Kind::Other)?,
            report: claim(REPORT, Kind::Report)?,
        })
    }

    /// Where the report is, or will be.
    pub fn report(&self) -> PathBuf {
        self.report.path().into()
    }

    /// Writes all files, each as a whole: a reader never sees a part of one.
    pub fn write(&self, files: &Files) -> Result<(), OutputError> {
        let Files { report, results, picture } = files;
        let pairs = [(&self.results, results), (&self.picture, picture), (&self.report, report)];
        for (file, content) in pairs {
            file.write(|writer| writer.write_all(content.as_bytes()))?;
        }
        Ok(())
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    move |source| riemla_files::Error::Io { file: path.display().to_string(), action, source }.into()
}

/// Whether these are the results of a demonstration: then the files beside them are its as well.
fn is_demo(results: &Path) -> bool {
    #[derive(Deserialize)]
    struct Results {
        schema: String,
    }
    let read = fs::read(results).ok().and_then(|bytes| serde_json::from_slice::<Results>(&bytes).ok());
    read.is_some_and(|results| results.schema == SCHEMA)
}

/// True for our files and for what a killed run can leave of them.
fn is_ours(name: &str) -> bool {
    [REPORT, RESULTS, PICTURE].contains(&name) || name.starts_with(TEMPORARY_PREFIX)
}

fn foreign_names(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !is_ours(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn some_of(mut names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MENTIONED);
    names.truncate(MENTIONED);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_output_is_replaced_and_other_files_are_refused() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("out");
        let files = |text: &str| Files {
            report: text.into(),
            results: format!("{{\"schema\": \"{SCHEMA}\", \"text\": \"{text}\"}}"),
            picture: text.into(),
        };
        OutputDir::prepare(&path, false).expect("new").write(&files("old")).expect("writes");
        fs::write(path.join(".riemla-tmp-77-0-report.html"), b"half").expect("writes");
        OutputDir::prepare(&path, false).expect("ours").write(&files("new")).expect("replaces");
        assert_eq!(fs::read(path.join(REPORT)).expect("there"), b"new");
        for name in ["a", "b", "c", "d", "report.html.bak"] {
            fs::write(path.join(name), b"precious").expect("writes");
        }
        let error = OutputDir::prepare(&path, false).expect_err("foreign").to_string();
        assert!(error.ends_with("(a, b, c, and 2 more)"), "{error}");
        OutputDir::prepare(&path, true).expect("forced").write(&files("newer")).expect("writes");
        assert_eq!(fs::read(path.join("a")).expect("there"), b"precious");
    }

    #[test]
    fn places_that_cannot_be_written_are_named() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        fs::write(&path, b"a file").expect("writes");
        assert!(matches!(OutputDir::prepare(&path, true), Err(OutputError::NotADirectory(_))));
        assert!(matches!(OutputDir::prepare(&path.join("below"), true), Err(OutputError::File(_))));
        fs::remove_file(&path).expect("removes it");
        fs::create_dir_all(path.join(REPORT)).expect("creates");
        assert!(OutputDir::prepare(&path, true).is_err());
    }
}
