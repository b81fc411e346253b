//! The table of scores for a terminal.

use std::fmt::Write;

use super::{DemoResult, MethodResult};
use crate::report::aligned;

const HEAD: [&str; 9] =
    ["method", "accuracy", "NLL", "Brier", "ECE", "MCE", "AUROC far", "gradients", "ms/draw"];

/// The scores of all methods, aligned, with a line on what the columns mean.
pub fn table(result: &DemoResult) -> String {
    let mut rows = vec![HEAD.map(String::from).to_vec()];
    rows.extend(result.methods.iter().map(|m| row(result, m).to_vec()));
    let mut out = aligned(&rows);
    let _ = write!(
        out,
        "\n{} draws each, seed {}. Higher is better for accuracy and AUROC far (points far from the data \
         are\nrecognised by their low confidence; 0.5 is chance), lower for NLL, Brier, ECE and \
         MCE.\nGradients and milliseconds are per draw.\n",
        result.config.samples, result.config.seed
    );
    for method in result.methods.iter().filter(|m| !m.failed.is_empty()) {
        let _ =
            writeln!(out, "{}: {} of {} draws failed.", method.method, method.failed.len(), method.requested);
    }
    out
}

fn row(result: &DemoResult, method: &MethodResult) -> [String; 9] {
    let s = &method.scores;
    let timing = result.timing.methods.iter().find(|t| t.method == method.method);
    let gradients = method.counters.map(|c| c.gradients as f64 / method.draws as f64);
    [
        method.method.to_string(),
        format!("{:.3}", s.accuracy),
        format!("{:.3}", s.nll),
        format!("{:.3}", s.brier),
        format!("{:.3}", s.ece),
        format!("{:.3}", s.mce),
        format!("{:.3}", s.auroc_far),
        gradients.map_or("-".into(), |g| format!("{g:.0}")),
        timing.map_or("-".into(), |t| format!("{:.2}", t.milliseconds_per_draw)),
    ]
}
