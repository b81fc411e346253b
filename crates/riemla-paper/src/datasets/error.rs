//! What can go wrong with data sets.

/// A data set that cannot be used; the texts say what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file is in none of the directories.
    #[error("{0}")]
    Missing(String),
    /// The content is not that of the published file.
    #[error("{0}")]
    Checksum(String),
    /// An unknown name, another content than there should be, or a download that did not succeed and left nothing behind.
    #[error("{0}")]
    Unfit(String),
    /// A download from this address was interrupted. Nothing was left behind.
    #[error("interrupted while downloading {0}; nothing was saved")]
    Interrupted(String),
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] riemla_files::Error),
    /// Data that the library refuses.
    #[error(transparent)]
    Library(#[from] riemla::Error),
}
