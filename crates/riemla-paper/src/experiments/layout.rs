//! The output directory: what is where, and how it is written.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use riemla_files::Shard;
use riemla_files::atomic::write_file;
use riemla_files::json::{self, FORMAT_VERSION};
use riemla_files::ours::is_described;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CellKey, ExperimentError, Result};

/// The directory of the draws of one posterior.
pub fn set_directory(out: &Path, key: &CellKey) -> PathBuf {
    let place = out.join("samples").join(slug(&key.problem)).join(format!("seed-{}", key.seed));
    place.join(key.prior.name()).join(slug(&key.setting.name())).join(key.method.name())
}

/// A name that every file system takes.
pub fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}

/// Says that a directory is one of results, so that only such a directory is continued.
const MARK: &str = "riemla.json";

#[derive(Serialize)]
struct Mark {
    format_version: u64,
    riemla_version: &'static str,
    content: &'static str,
}

/// Makes the output directory; one that holds something is refused unless `resume` and an earlier run
/// made it. Files with the names of results are replaced there, so none of `inputs` may be in it. A shard
/// continues what other shards have begun.
pub fn prepare(out: &Path, resume: bool, shard: Option<Shard>, inputs: &[&Path]) -> Result<()> {
    make(out)?;
    if shard.is_some() {
        wait_for_mark(out, &out.join(MARK));
    }
    let resume = resume || shard.is_some();
    let mut entries = fs::read_dir(out).map_err(ExperimentError::io(out, "list it"))?;
    if entries.next().is_some() {
        if !is_described(&out.join(MARK)) {
            return Err(ExperimentError::Unfit(format!(
                "{} contains files that riemla reproduce did not write; choose a new or empty directory with --out",
                out.display()
            )));
        }
        if !resume {
            return Err(ExperimentError::Unfit(format!(
                "{} is not empty; continue its run with --resume, or choose another directory with --out",
                out.display()
            )));
        }
    }
    let place = out.canonicalize().map_err(ExperimentError::io(out, "find it"))?;
    let inside = |input: &&&Path| input.canonicalize().is_ok_and(|input| input.starts_with(&place));
    if let Some(input) = inputs.iter().find(inside) {
        return Err(ExperimentError::Unfit(format!(
            "{} is in {}, where results would replace it; copy it elsewhere, or choose another directory with --out",
            input.display(),
            out.display()
        )));
    }
    let mark = Mark {
        format_version: FORMAT_VERSION,
        riemla_version: env!("CARGO_PKG_VERSION"),
        content: "results of riemla reproduce",
    };
    write_json(&out.join(MARK), &mark)
}

/// How long the mark of another process in a new directory is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until a directory that another process has just made is marked as one of results, if it holds anything.
fn wait_for_mark(out: &Path, mark: &Path) {
    let begun = Instant::now();
    let empty = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    while !mark.is_file() && !empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes a directory, and those it is in.
pub fn make(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(ExperimentError::io(directory, "make this directory"))
}

fn make_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), make)
}

/// Writes bytes in one step.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    make_parent(path)?;
    Ok(write_file(path, |writer| writer.write_all(bytes))?)
}

/// Writes text in one step.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// What to do about a file of the output directory that is damaged.
pub const REMEDY: &str = "remove it and run again with --resume";

/// Writes a value as JSON in one step.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    make_parent(path)?;
    Ok(json::write_json(path, value)?)
}

/// Writes values as lines of JSON in one step.
pub fn write_lines(path: &Path, values: &[impl Serialize]) -> Result<()> {
    make_parent(path)?;
    Ok(json::write_json_lines(path, values)?)
}

/// Reads lines of JSON; none if the file is not there.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if path.exists() { Ok(json::read_json_lines(path, REMEDY)?) } else { Ok(Vec::new()) }
}

/// Reads a value, if the file is there.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    Ok(if path.exists() { Some(json::read_json(path, REMEDY)?) } else { None })
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
