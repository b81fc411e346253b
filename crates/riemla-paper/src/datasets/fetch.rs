//! Downloads: HTTPS only, checked before anything is written.
//!
//! A file is taken into memory (the largest has 26 MB), its checksum compared, and only then put in
//! place in one step. A cut connection, Ctrl-C, a wrong file or a full disk leave nothing behind.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use riemla_files::{Existing, Kind, OutputFile};

use super::load::{check_file, digest_of};
use super::registry::{DataFile, DataSet, Source};
use super::{DataDirs, DataError, Result};
use riemla_workflow::watch::Session;

const CONNECT: Duration = Duration::from_secs(20);
const ANSWER: Duration = Duration::from_secs(60);
/// Bytes per step of the progress bar.
const PIECE: usize = 1 << 16;
const NO_NETWORK: &str = "check the network (proxies: HTTPS_PROXY), or copy the file from another machine \
                          into the data directory, which riemla data list shows";

const OTHER_FILE: &str = "the file on the server has changed or was damaged during the download; it was \
     not kept";

/// What happened to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// It was there already.
    Present(PathBuf),
    /// It was downloaded.
    Downloaded(PathBuf),
}

/// Downloads what is missing of a data set into `directories.target()`.
///
/// `mirror` replaces the host of all addresses, for tests: `http://127.0.0.1:port`.
pub fn fetch(
    set: &DataSet,
    directories: &DataDirs,
    mirror: Option<&str>,
    session: Session<'_>,
) -> Result<Vec<Fetched>> {
    let mut done = Vec::new();
    for file in set.files {
        if let Some(path) = directories.find(file) {
            check_file(&path, file)?;
            done.push(Fetched::Present(path));
            continue;
        }
        if file.source == Source::ByHand {
            return Err(DataError::Unfit(format!(
                "{} cannot be downloaded in this form; obtain it manually: {}",
                file.path, set.by_hand
            )));
        }
        let there = |url: &&str| mirror.map_or(url.to_string(), |mirror| format!("{mirror}/{}", file.path));
        let urls: Vec<String> = file.source.urls().iter().map(there).collect();
        done.push(Fetched::Downloaded(fetch_file(file, &urls, directories.target(), session)?));
    }
    Ok(done)
}

fn fetch_file(file: &DataFile, urls: &[String], target: &Path, session: Session<'_>) -> Result<PathBuf> {
    let contents = urls.iter().map(|url| download(file, url, session)).collect::<Result<Vec<_>>>()?;
    let url = urls.join(", ");
    let other = |reason: String| no_download(&url, &reason, OTHER_FILE);
    let bytes = match file.source {
        Source::Tables(tables) => tables.csv(&contents).map_err(other)?,
        Source::Copy(_) | Source::ByHand => contents.concat(),
    };
    let found = digest_of(&url, bytes.clone(), file.bytes)?;
    if found != file.sha256 {
        return Err(other(format!("SHA-256 of the content is {found}, not {}", file.sha256)));
    }
    let path = target.join(file.path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|source| riemla_files::Error::Io {
            file: parent.display().to_string(),
            action: "make this directory",
            source,
        })?;
    }
    let output = OutputFile::claim(&path, Existing::Refuse, Kind::Other, &[])?;
    output.write(|writer| writer.write_all(&bytes))?;
    Ok(path)
}

fn no_download(url: &str, reason: &str, remedy: &str) -> DataError {
    DataError::Unfit(format!("cannot download {url}: {reason}; {remedy}"))
}

/// The bytes at an address.
fn download(file: &DataFile, url: &str, session: Session<'_>) -> Result<Vec<u8>> {
    let failed = |reason: String| no_download(url, &reason, NO_NETWORK);
    let local = url.starts_with("http://127.0.0.1:") || url.starts_with("http://localhost:");
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .https_only(!local)
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(ANSWER))
        .build()
        .into();
    let mut response = agent.get(url).call().map_err(|error| failed(error.to_string()))?;
    let length = response.body().content_length();
    session.watch.begin(file.path, length.unwrap_or(0).div_ceil(PIECE as u64));
    // No file is larger packed than unpacked.
    let most = file.bytes + (1 << 20);
    let mut reader = response.body_mut().as_reader().take(most);
    let mut bytes = Vec::new();
    loop {
        if session.stopped() {
            return Err(DataError::Interrupted(url.into()));
        }
        let count = reader.by_ref().take(PIECE as u64).read_to_end(&mut bytes);
        if count.map_err(|error| failed(format!("the connection was lost: {error}")))? == 0 {
            break;
        }
        session.watch.step();
    }
    match length {
        Some(length) if length != bytes.len() as u64 => {
            Err(failed(format!("the connection was lost after {} of {length} bytes", bytes.len())))
        }
        _ => Ok(bytes),
    }
}
