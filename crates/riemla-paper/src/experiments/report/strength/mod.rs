//! Studies of settings: numbers against the strength, what the rules find, and which wins where.

mod charts;
mod lines;
mod summary;
#[cfg(test)]
mod tests;

use super::super::{Experiment, ResultRow, RunRecord};
use super::study;
use riemla_workflow::report::Section;

const INTRO: &str = "\
Lines connect fixed strengths a; marks are the strengths found by rules. All settings share the trained \
weights and the tangent vectors. As a goes to 0, the draws become those of la and lin-la. Exact draws have \
a virial ratio of 1; the score measures predictions only and may prefer draws that are too narrow or too \
wide.";

/// The section of an experiment with settings of its own.
pub fn section(experiment: &Experiment, rows: &[ResultRow], records: &[RunRecord]) -> Section {
    let lines = lines::lines(experiment, rows, records);
    let places = summary::complete(&lines);
    let verdicts = summary::verdicts(&lines, &places);
    let mut section = study(experiment, INTRO);
    section.text(summary::words(&verdicts, places.len()));
    section.table(summary::table(&verdicts, places.len())).table(summary::winners(&lines));
    section.grid(charts::charts(&lines)).table(summary::details(&lines));
    section
}
