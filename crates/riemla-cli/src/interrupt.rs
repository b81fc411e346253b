//! Ctrl-C and SIGTERM: the first asks the run to end, the second ends the process.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;

use crate::INTERRUPTED;
use crate::failure::Failure;

/// A flag that Ctrl-C, SIGTERM and the end of the terminal set. Call once.
pub fn stop_flag(quiet: bool) -> anyhow::Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    let handler = move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        if !quiet {
            eprintln!("\nStopping; finished work is kept. Press Ctrl-C again to abort.");
        }
    };
    after_nohup(|| ctrlc::set_handler(handler)).context(Failure::new(
        "cannot listen for Ctrl-C",
        "this is a limit of the system; please report it",
    ))?;
    Ok(&STOP)
}

/// Success, or the code of an interrupted run.
pub fn code(stop: &AtomicBool) -> ExitCode {
    if stop.load(Ordering::Relaxed) { INTERRUPTED.into() } else { ExitCode::SUCCESS }
}

/// Installs handlers; a run under `nohup` goes on ignoring the end of its terminal.
#[cfg(unix)]
fn after_nohup<A>(install: impl FnOnce() -> A) -> A {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: ignoring a signal runs no code of ours.
    let ignore = || unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) };
    let before = ignore();
    let installed = install();
    if matches!(before, Ok(SigHandler::SigIgn)) {
        let _ = ignore();
    }
    installed
}

#[cfg(not(unix))]
fn after_nohup<A>(install: impl FnOnce() -> A) -> A {
    install()
}
