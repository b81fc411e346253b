//! What can be wrong with the place of a demonstration.

use std::path::PathBuf;

/// An output directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The place is taken by a file.
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// Files are there that the demonstration did not write.
    #[error("{} contains files that this command did not write ({})", path.display(), names.join(", "))]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// Some of the files, and how many more.
        names: Vec<String>,
    },
    /// The directory or a file in it cannot be written.
    #[error(transparent)]
    File(#[from] riemla_files::Error),
}
