//! The table of scores for a terminal.

use std::fmt::Write;

use super::{DemoResult, MethodResult};
use crate::report::aligned;

const HEAD: [&str; 9] =
    ["method", "accuracy", "NLL", "Brier", "ECE", "MCE", "AUROC far", "gradients", "ms/draw"];

/// The scores of all methods, aligned, with a line on what the columns mean.
pub fn table(result: &DemoResult) -> String {
    let mut rows = vec![HEAD.map(String::from).to_vec()];
    rows.extend(result.methods.iter().map(|m| row(result, m)));
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

fn row(result: &DemoResult, method: &MethodResult) -> Vec<String> {
    let s = &method.scores;
    let scores = [s.accuracy, s.nll, s.brier, s.ece, s.mce, s.auroc_far].map(|score| format!("{score:.3}"));
    let [gradients, milliseconds] = result.costs(method);
    let costs = [
        gradients.map_or("-".into(), |g| format!("{g:.0}")),
        milliseconds.map_or("-".into(), |ms| format!("{ms:.2}")),
    ];
    [method.method.to_string()].into_iter().chain(scores).chain(costs).collect()
}
