//! Progress bars on stderr, for people: nothing is drawn into pipes and files.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use riemla_workflow::watch::Watch;

/// One line that shows the stage under way.
pub struct Bar {
    line: ProgressBar,
    quiet: bool,
    seen: bool,
}

impl Bar {
    /// Hidden when quiet or when stderr is not a terminal.
    pub fn new(quiet: bool) -> Self {
        let seen = !quiet && std::io::stderr().is_terminal();
        let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { line: ProgressBar::with_draw_target(None, target), quiet, seen }
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.line.finish_and_clear();
    }
}

impl Watch for Bar {
    fn begin(&self, stage: &str, total: u64) {
        let template = if total > 0 {
            "{msg:28} [{bar:30}] {pos}/{len} (about {eta} left)"
        } else {
            "{msg:28} {spinner}"
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.line.set_style(style.progress_chars("=> "));
        self.line.reset();
        if total > 0 {
            self.line.set_length(total);
        }
        self.line.set_message(stage.to_string());
        self.line.enable_steady_tick(Duration::from_millis(100));
    }

    fn step(&self) {
        self.line.inc(1);
    }

    fn note(&self, text: &str) {
        if !self.quiet {
            self.line.suspend(|| eprintln!("{text}"));
        }
    }

    fn estimate(&self, text: &str) {
        if self.seen {
            self.note(text);
        }
    }
}
