//! Scores of predictions: slices in, a number out. A leaf: knows no networks.
//!
//! Class probabilities are row-major N × C slices with `classes` = C, labels are class indices.
//! Every function checks its input and returns an error that names the offending entry. Each
//! function's docs say whether larger or smaller is better.

mod bootstrap;
mod calibration;
mod check;
mod classification;
mod count;
mod gamma;
mod labels;
mod normal;
mod ranking;
mod regression;
mod selective;
mod uncertainty;

pub use bootstrap::{Bootstrap, Interval, take_rows};
pub use calibration::{ReliabilityBin, ece, mce, reliability_bins};
pub use classification::{accuracy, brier, brier_per_class, nll};
pub use count::{
    count_coverage, count_interval, count_nll, count_quantile, log_probability, poisson_deviance,
};
pub use gamma::ln_gamma;
pub use labels::{label_accuracy, label_brier, label_ece, label_nll, macro_auroc};
pub use normal::{normal_cdf, normal_quantile};
pub use ranking::{RocPoint, auroc, roc_curve};
pub use regression::{crps, nlpd, rmse};
pub use selective::{RiskPoint, aurc, risk_coverage, threshold_for_rate};
pub use uncertainty::{entropies, max_probabilities};

/// Arithmetic mean; the caller has checked that there is something to average.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The most probable class of a row, the first among equals.
pub fn top_class(row: &[f64]) -> usize {
    top(row).0
}

/// Index and value of the largest entry, the first among equals.
fn top(row: &[f64]) -> (usize, f64) {
    row.iter()
        .copied()
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |best, x| if x.1 > best.1 { x } else { best })
}
