//! What can go wrong in a demonstration.

use std::io;
use std::path::PathBuf;

use crate::plot::PlotError;

/// A demonstration without a result.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Stopped before the first draw.
    #[error("interrupted before the first draw: there is nothing to report")]
    Interrupted,
    /// Not one geodesic could be finished.
    #[error("no draw succeeded: {0}")]
    NoDraw(String),
    /// A mistake in the settings.
    #[error(transparent)]
    Library(#[from] riemla::Error),
    /// Training or sampling failed.
    #[error(transparent)]
    Workflow(#[from] crate::workflow::WorkflowError),
    /// A picture that cannot be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

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
    /// The operating system refuses.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] riemla_files::Error),
}
