//! What can go wrong with an experiment.

use std::path::PathBuf;

use super::CellKey;
use crate::datasets::DataError;
use riemla_workflow::plot::PlotError;
use riemla_workflow::workflow::WorkflowError;

/// An experiment that cannot be run or reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A mistake in an experiment's file.
    #[error("{file}: {message}")]
    Config {
        /// The file.
        file: String,
        /// What is wrong, and where.
        message: String,
    },
    /// What cannot be done, and the remedy.
    #[error("{0}")]
    Unfit(String),
    /// A directory without results.
    #[error(
        "{} contains no results (neither runs.jsonl nor results.csv nor confirmation.jsonl); give the directory of a run (--out)",
        .0.display()
    )]
    NoResults(PathBuf),
    /// The output directory was made with other settings.
    #[error(
        "{} was created with other settings ({what}); use the same settings, or another directory with --out",
        file.display()
    )]
    Changed {
        /// The file that shows it.
        file: PathBuf,
        /// What differs.
        what: String,
    },
    /// Ctrl-C.
    #[error("interrupted; finished draws are kept: continue with --resume")]
    Interrupted,
    /// Data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Reading or writing.
    #[error(transparent)]
    File(#[from] riemla_files::Error),
    /// The library.
    #[error(transparent)]
    Library(#[from] riemla::Error),
    /// Taking draws.
    #[error(transparent)]
    Workflow(WorkflowError),
    /// Plots.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

impl From<WorkflowError> for ExperimentError {
    fn from(error: WorkflowError) -> Self {
        match error {
            error if error.is_interruption() => Self::Interrupted,
            WorkflowError::Files(error) => error.into(),
            WorkflowError::Library(error) => error.into(),
            error => Self::Workflow(error),
        }
    }
}

impl ExperimentError {
    /// A posterior of which not enough draws could be made.
    pub(super) fn no_draw(key: &CellKey, reason: &str) -> Self {
        Self::Unfit(format!("{}: no draw succeeded: {reason}", key))
    }

    /// An error of the operating system.
    pub(crate) fn io(path: &std::path::Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let file = path.display().to_string();
        move |source| Self::File(riemla_files::Error::Io { file, action, source })
    }
}
