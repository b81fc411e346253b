//! Progress bars on stderr, for people: nothing is drawn into pipes and files.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use riemla_lab::demo::{Stage, Watch};

/// One line that shows the stage under way.
pub struct Bar(ProgressBar);

impl Bar {
    /// Hidden when quiet or when stderr is not a terminal.
    pub fn new(quiet: bool) -> Self {
        let seen = !quiet && std::io::stderr().is_terminal();
        let target = if seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self(ProgressBar::with_draw_target(None, target))
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn describe(stage: Stage) -> String {
    match stage {
        Stage::Training => "training".into(),
        Stage::Laplace => "Laplace approximation".into(),
        Stage::Drawing(method) => format!("drawing from {method}"),
        Stage::Predicting(method) => format!("predicting with {method}"),
    }
}

impl Watch for Bar {
    fn begin(&self, stage: Stage, total: u64) {
        let template = if total > 0 {
            "{msg:28} [{bar:30}] {pos}/{len} (about {eta} left)"
        } else {
            "{msg:28} {spinner}"
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.0.set_style(style.progress_chars("=> "));
        self.0.reset();
        if total > 0 {
            self.0.set_length(total);
        }
        self.0.set_message(describe(stage));
        self.0.enable_steady_tick(Duration::from_millis(100));
    }

    fn step(&self) {
        self.0.inc(1);
    }
}
