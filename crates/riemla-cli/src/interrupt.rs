//! Ctrl-C: the first asks the run to end, the second ends the process.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;

use crate::INTERRUPTED;
use crate::failure::Failure;

/// A flag that Ctrl-C sets. Call once.
pub fn stop_flag(quiet: bool) -> anyhow::Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        if !quiet {
            eprintln!("\nEnding and keeping what is finished; press Ctrl-C again to abort.");
        }
    })
    .context(Failure::new("cannot listen for Ctrl-C", "this is a limit of the system; please report it"))?;
    Ok(&STOP)
}

/// Success, or the code of an interrupted run.
pub fn code(stop: &AtomicBool) -> ExitCode {
    if stop.load(Ordering::Relaxed) { INTERRUPTED.into() } else { ExitCode::SUCCESS }
}
