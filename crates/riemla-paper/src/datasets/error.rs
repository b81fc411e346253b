//! What can go wrong with data sets.

use std::path::PathBuf;

/// A data set that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// No such data set.
    #[error("unknown data set {name}; the data sets are {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// A file is in none of the directories.
    #[error("{path} of the data set {name} was not found in {}; {remedy}", shown(searched))]
    Missing {
        /// The data set.
        name: &'static str,
        /// The file.
        path: &'static str,
        /// The directories that were searched.
        searched: Vec<PathBuf>,
        /// What to do.
        remedy: String,
    },
    /// The content is not that of the published file.
    #[error(
        "{}: SHA-256 of the content is {found}, not {expected}; remove the file and download it again",
        file.display()
    )]
    Checksum {
        /// The file.
        file: PathBuf,
        /// As in the registry.
        expected: &'static str,
        /// As computed.
        found: String,
    },
    /// The content has another shape, range or label set than it should.
    #[error("{file}: {what} should be {expected}, but is {found}; download the file again")]
    Content {
        /// The file.
        file: String,
        /// Which property.
        what: &'static str,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A file that cannot be downloaded in the form needed here.
    #[error("{path} cannot be downloaded in this form; obtain it manually: {remedy}")]
    ByHand {
        /// The file.
        path: &'static str,
        /// How.
        remedy: &'static str,
    },
    /// A download that did not succeed. Nothing was left behind.
    #[error("cannot download {url}: {reason}; {remedy}")]
    Download {
        /// From where.
        url: String,
        /// Why not.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A download was interrupted. Nothing was left behind.
    #[error("interrupted while downloading {url}; nothing was saved")]
    Interrupted {
        /// From where.
        url: String,
    },
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] riemla_files::Error),
    /// Data that the library refuses.
    #[error(transparent)]
    Library(#[from] riemla::Error),
}

fn shown(directories: &[PathBuf]) -> String {
    directories.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
