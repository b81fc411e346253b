//! The output directory: what is where, and how it is written.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use riemla_files::atomic::write_file;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CellKey, ExperimentError, Result};

/// Where the draws of one posterior are.
#[derive(Debug, Clone)]
pub struct CellPaths {
    /// The finished set.
    pub samples: PathBuf,
    /// The log while draws are taken.
    pub log: PathBuf,
    /// Seconds of each draw in the log, one line each.
    pub seconds: PathBuf,
    /// The strength that was found.
    pub calibration: PathBuf,
}

impl CellPaths {
    /// Those of a cell.
    pub fn of(out: &Path, key: &CellKey) -> Self {
        let place = out.join("samples").join(slug(&key.problem)).join(format!("seed-{}", key.seed));
        let place = place.join(key.prior.name()).join(slug(&key.setting.name()));
        let method = key.method;
        let file = |extension: &str| place.join(format!("{}.{extension}", method.name()));
        Self {
            samples: place.join(method.name()),
            log: file("log"),
            seconds: file("seconds"),
            calibration: file("strength.json"),
        }
    }
}

/// A name that every file system takes.
pub fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}

/// Makes the output directory; one that holds something is refused unless `resume`.
pub fn prepare(out: &Path, resume: bool) -> Result<()> {
    fs::create_dir_all(out).map_err(ExperimentError::io(out, "make this directory"))?;
    let mut entries = fs::read_dir(out).map_err(ExperimentError::io(out, "list it"))?;
    if !resume && entries.next().is_some() {
        return Err(ExperimentError::NotEmpty(out.into()));
    }
    Ok(())
}

/// Makes the directory of a file.
pub fn make_parent(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) => {
            fs::create_dir_all(parent).map_err(ExperimentError::io(parent, "make this directory"))
        }
        None => Ok(()),
    }
}

/// Writes text in one step.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    make_parent(path)?;
    Ok(write_file(path, |writer| writer.write_all(text.as_bytes()))?)
}

/// Writes a value as JSON in one step.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| ExperimentError::Damaged { file: path.into(), message: error.to_string() })?;
    write_text(path, &(text + "\n"))
}

/// Writes values as lines of JSON in one step.
pub fn write_lines(path: &Path, values: &[impl Serialize]) -> Result<()> {
    let lines = values.iter().map(|value| serde_json::to_string(value).map(|line| line + "\n"));
    let text = lines
        .collect::<std::result::Result<String, _>>()
        .map_err(|error| ExperimentError::Damaged { file: path.into(), message: error.to_string() })?;
    write_text(path, &text)
}

/// Reads lines of JSON; none if the file is not there.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ExperimentError::io(path, "read it")(error)),
    };
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| ExperimentError::Damaged {
            file: path.into(),
            message: format!("line {}: {error}", number + 1),
        })
    };
    text.lines().enumerate().map(parse).collect()
}

/// Reads a value, if the file is there.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ExperimentError::io(path, "read it")(error)),
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| ExperimentError::Damaged { file: path.into(), message: error.to_string() })
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ExperimentError::io(path, "remove it")(error))
        }
        _ => Ok(()),
    }
}
