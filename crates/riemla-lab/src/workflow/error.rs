//! What can go wrong between files and results.

use std::path::PathBuf;

/// A failure of a workflow; the message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowError {
    /// A file.
    #[error(transparent)]
    Files(#[from] riemla_files::Error),
    /// A request that the library refuses.
    #[error(transparent)]
    Library(#[from] riemla::Error),
    /// Things that do not fit together; the text names the remedy.
    #[error("{0}")]
    Unfit(String),
    /// More memory than there is.
    #[error(
        "{what} needs about {}, but only {} are free; {remedy}",
        super::memory::in_words(*needed),
        super::memory::in_words(*available)
    )]
    Memory {
        /// What was asked for.
        what: String,
        /// Bytes it takes.
        needed: u64,
        /// Bytes there are.
        available: u64,
        /// What would fit.
        remedy: String,
    },
    /// Ctrl-C before there was anything to keep.
    #[error("interrupted before anything was finished; nothing was written")]
    Interrupted,
    /// A directory that is none of ours.
    #[error("{} is no {expected}; {remedy}", path.display())]
    NotA {
        /// Which path.
        path: PathBuf,
        /// What should be there.
        expected: &'static str,
        /// The command that makes one.
        remedy: &'static str,
    },
}

impl WorkflowError {
    pub(super) fn unfit(text: impl Into<String>) -> Self {
        Self::Unfit(text.into())
    }
}

/// Result with this module's error.
pub type Result<T> = std::result::Result<T, WorkflowError>;
