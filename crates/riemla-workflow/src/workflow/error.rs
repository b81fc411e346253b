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
    /// A drawing that cannot be made.
    #[error(transparent)]
    Plot(#[from] crate::plot::PlotError),
    /// Things that do not fit together; the text names the remedy.
    #[error("{0}")]
    Unfit(String),
    /// More memory than there is.
    #[error(
        "{what} needs about {}, but only {} are available; {remedy}",
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
    /// The search for the strength of the metric did not come to its end.
    #[error("{}", unsettled(*trials, file, *out_of_time))]
    Unsettled {
        /// Finished trials, which are kept.
        trials: usize,
        /// Where they are kept.
        file: PathBuf,
        /// Whether the seconds were over; otherwise the user stopped it.
        out_of_time: bool,
    },
    /// A panic: a mistake in riemla itself.
    #[error(
        "an internal error of riemla stopped the draws ({0}); finished draws are kept, and the same \
         command continues: please report this message with the command"
    )]
    Defect(String),
    /// A directory that is none of ours.
    #[error("{} is not a {expected}; {remedy}", path.display())]
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
    pub(crate) fn unfit(text: impl Into<String>) -> Self {
        Self::Unfit(text.into())
    }

    /// The same after the seconds of a budget were over, instead of Ctrl-C.
    pub(super) fn out_of_time(self) -> Self {
        match self {
            Self::Interrupted => Self::unfit("no draw was finished within --seconds: allow more time"),
            Self::Unsettled { trials, file, .. } => Self::Unsettled { trials, file, out_of_time: true },
            other => other,
        }
    }

    /// Whether this is the answer to Ctrl-C.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Interrupted | Self::Unsettled { out_of_time: false, .. })
    }
}

fn unsettled(trials: usize, file: &std::path::Path, out_of_time: bool) -> String {
    let (why, more) = match out_of_time {
        true => ("the time limit (--seconds) was reached", ", with more --seconds"),
        false => ("interrupted", ""),
    };
    let kept = match trials {
        0 => "no trial was finished: run the same command again".to_string(),
        1 => format!("1 trial is kept in {}: the same command continues after it", file.display()),
        n => format!("{n} trials are kept in {}: the same command continues after them", file.display()),
    };
    format!("{why} before the strength of the metric was found; {kept}{more}")
}

/// An error of reading or writing a path.
pub(super) fn io(
    path: &std::path::Path,
    action: &'static str,
) -> impl FnOnce(std::io::Error) -> WorkflowError + use<> {
    let file = path.display().to_string();
    move |source| riemla_files::Error::Io { file, action, source }.into()
}

/// Result with this module's error.
pub type Result<T> = std::result::Result<T, WorkflowError>;
