//! What the user reads when something fails: what, why, and what to do about it.

use std::fmt;
use std::process::ExitCode;

use riemla_workflow::demo::OutputError;
use riemla_workflow::workflow::WorkflowError;

use crate::{FAILED, INTERRUPTED};

/// A failure with its remedy, as context of the error that caused it.
#[derive(Debug)]
pub struct Failure {
    what: String,
    remedy: &'static str,
}

impl Failure {
    /// States what failed and what to do.
    pub fn new(what: impl Into<String>, remedy: &'static str) -> Self {
        Self { what: what.into(), remedy }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Prints the error with its causes and remedy to stderr and says how to exit.
pub fn show(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {}", in_words(error));
    if let Some(remedy) = remedy(error) {
        eprintln!("  help: {remedy}");
    }
    let interrupted = error.downcast_ref().is_some_and(WorkflowError::is_interruption);
    ExitCode::from(if interrupted { INTERRUPTED } else { FAILED })
}

/// The message with its causes, each of which may already be part of the one before.
fn in_words(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        said if said.contains(&cause) => text,
        said => format!("{said}: {cause}"),
    })
}

fn remedy(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(failure.remedy);
    }
    if let Some(riemla_files::Error::Exists { .. }) = error.downcast_ref() {
        return Some("add --force to replace it");
    }
    Some(match error.downcast_ref::<OutputError>()? {
        OutputError::File(riemla_files::Error::Protected { .. }) => return None,
        OutputError::File(riemla_files::Error::Exists { .. }) => "add --force to replace it",
        OutputError::Foreign { .. } => {
            "choose another directory with --out, or add --force to write next to these files"
        }
        OutputError::NotADirectory(_) | OutputError::File(_) => "choose a writable directory with --out",
    })
}
