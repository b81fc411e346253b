//! What can go wrong with an experiment.

use std::path::PathBuf;

use crate::datasets::DataError;
use riemla_workflow::plot::PlotError;
use riemla_workflow::workflow::WorkflowError;

/// An experiment that cannot be run or reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// No such experiment.
    #[error("unknown experiment {name}; the experiments are {known}, or give the path of a TOML file")]
    Unknown {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// A mistake in an experiment's file.
    #[error("{file}: {message}")]
    Config {
        /// The file.
        file: String,
        /// What is wrong, and where.
        message: String,
    },
    /// The output directory holds something.
    #[error(
        "{} is not empty; continue its run with --resume, or choose another directory with --out",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// The output directory holds something that no run put there.
    #[error(
        "{} contains files that riemla reproduce did not write; choose a new or empty directory with --out",
        .0.display()
    )]
    Foreign(PathBuf),
    /// An input in the directory where results are written.
    #[error(
        "{} is in {}, where results would replace it; copy it elsewhere, or choose another directory with --out",
        input.display(),
        out.display()
    )]
    InputInside {
        /// The output directory.
        out: PathBuf,
        /// The input in it.
        input: PathBuf,
    },
    /// A directory without results.
    #[error(
        "{} contains no results (neither runs.jsonl nor results.csv); give the directory of a run (--out)",
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
    /// Training ended somewhere without a loss.
    #[error("training {problem} (seed {seed}) diverged; lower its learning_rate")]
    Diverged {
        /// The problem.
        problem: String,
        /// The seed.
        seed: u64,
    },
    /// A posterior of which not a single draw could be made.
    #[error("{what}: no draw succeeded: {reason}")]
    NoDraw {
        /// Which posterior.
        what: String,
        /// Why the first failed.
        reason: String,
    },
    /// Ctrl-C.
    #[error("interrupted; finished draws are kept: continue with --resume")]
    Interrupted,
    /// A file of the output directory that cannot be understood.
    #[error("{}: {message}; remove it and run again with --resume", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
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
    /// An error of the operating system.
    pub(crate) fn io(path: &std::path::Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let file = path.display().to_string();
        move |source| Self::File(riemla_files::Error::Io { file, action, source })
    }
}
