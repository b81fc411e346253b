//! Files about a run, kept with all that identifies it: what another run wrote is refused, with what differs.

use std::path::{Path, PathBuf};

use riemla_files::RunInfo;
use riemla_files::identity::expect;
use riemla_files::json::{FORMAT_VERSION, read_json, write_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A file with the run that it belongs to.
#[derive(Serialize, Deserialize)]
struct OfRun<T> {
    format_version: u64,
    run: RunInfo,
    #[serde(flatten)]
    value: T,
}

/// A file about a run, and the run.
pub(crate) type Place = (PathBuf, RunInfo);

/// What was found before and written to its place, or else what is found now, which is written there.
pub(crate) fn once<T: Serialize + DeserializeOwned, E: From<riemla_files::Error>>(
    place: Option<&Place>,
    remedy: &'static str,
    find: impl FnOnce() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    if let Some((file, run)) = place
        && let Some(before) = read(file, run, remedy)?
    {
        return Ok(Some(before));
    }
    let found = find()?;
    if let (Some((file, run)), Some(found)) = (place, &found) {
        write(file, run, found)?;
    }
    Ok(found)
}

/// Writes something about a run.
pub(crate) fn write<T: Serialize>(path: &Path, run: &RunInfo, value: &T) -> riemla_files::Result<()> {
    write_json(path, &OfRun { format_version: FORMAT_VERSION, run: run.clone(), value })
}

/// What [`write`] wrote; none if there is no such file, an error if it is of another run. The remedy is for damage.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    run: &RunInfo,
    remedy: &'static str,
) -> riemla_files::Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let found: OfRun<T> = read_json(path, remedy)?;
    expect(&path.display().to_string(), &found.run, run)?;
    Ok(Some(found.value))
}
