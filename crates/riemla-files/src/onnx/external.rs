//! Tensors that lie in a second file, as PyTorch writes them by default.
//!
//! The model names that file, and a model can come from anywhere. So only files in the model's own
//! directory are opened, after symbolic links are resolved, and only as many bytes are read as the
//! tensor's dimensions say and the file has.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::constant::Supply;
use super::messages::Tensor;
use super::{Problem, Result};

/// Reads the bytes of a tensor.
pub fn read(tensor: &Tensor<'_>, bytes: usize, supply: &mut Supply) -> Result<Vec<u8>> {
    let invalid = |problem: String| Problem::Invalid(format!("tensor `{}`: {problem}", tensor.name));
    let value = |key: &str| tensor.external.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_ref());
    let number = |key: &str| match value(key) {
        None => Ok(None),
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| invalid(format!("{key} `{text}`"))),
    };
    let location = value("location").ok_or_else(|| invalid("its file is not named".into()))?;
    let path = locate(supply.directory.as_deref(), location).map_err(invalid)?;
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    if length.is_some_and(|length| length != bytes as u64) {
        return Err(invalid(format!("{length:?} bytes, its dimensions need {bytes}")));
    }
    let failed = |error: std::io::Error| invalid(format!("cannot read `{location}`: {error}"));
    // Asked before opening: a pipe would wait for a writer.
    let there = std::fs::metadata(&path).map_err(failed)?;
    let end = offset.checked_add(bytes as u64);
    if !there.is_file() || end.is_none_or(|end| end > there.len()) {
        let problem = format!("`{location}` has {} bytes, it needs {bytes} from {offset} on", there.len());
        return Err(invalid(problem));
    }
    let mut file = File::open(&path).map_err(failed)?;
    supply.opened(path, there.len());
    let mut data = vec![0; bytes];
    file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut data)).map_err(failed)?;
    Ok(data)
}

/// The path of a file beside the model; anything outside its directory is refused.
fn locate(directory: Option<&Path>, location: &str) -> std::result::Result<PathBuf, String> {
    let directory =
        directory.ok_or("its numbers are in a second file, but the model did not come from one")?;
    let relative = Path::new(location);
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !inside || location.is_empty() {
        return Err(format!("`{location}` is not a file in the model's directory; it is not opened"));
    }
    let resolve = |path: &Path| {
        std::fs::canonicalize(path)
            .map_err(|error| format!("cannot open `{location}`: {error}; it must lie beside the model"))
    };
    let (directory, path) = (resolve(directory)?, resolve(&directory.join(relative))?);
    if path.starts_with(&directory) {
        Ok(path)
    } else {
        Err(format!("`{location}` leads out of the model's directory; it is not opened"))
    }
}
