//! Some rows, or one of several targets, of a prediction.

use riemla::data::Targets;
use riemla::predict::{ClassPrediction, LabelPrediction, Prediction, RegressionPrediction};
use riemla::score::take_rows;

/// The rows of a prediction that scores look at.
pub(super) fn some_rows(prediction: &Prediction, rows: &[usize]) -> Prediction {
    match prediction {
        Prediction::Classes(p) => bare_classes(p.classes, take_rows(&p.probabilities, p.classes, rows)),
        Prediction::Values(p) => {
            Prediction::Values(of_values(p, p.outputs, |v| take_rows(v, p.outputs, rows)))
        }
        Prediction::Counts(p) => {
            Prediction::Counts(of_values(p, p.outputs, |v| take_rows(v, p.outputs, rows)))
        }
        Prediction::Labels(p) => bare_labels(p.labels, take_rows(&p.probabilities, p.labels, rows)),
    }
}

/// The same part of means and variances.
fn of_values(
    p: &RegressionPrediction,
    outputs: usize,
    part: impl Fn(&[f64]) -> Vec<f64>,
) -> RegressionPrediction {
    RegressionPrediction {
        outputs,
        mean: part(&p.mean),
        epistemic_variance: part(&p.epistemic_variance),
        aleatoric_variance: part(&p.aleatoric_variance),
    }
}

/// Probabilities of classes without their entropies, which no score needs.
pub(super) fn bare_classes(classes: usize, probabilities: Vec<f64>) -> Prediction {
    let (entropy, aleatoric, epistemic) = (Vec::new(), None, None);
    Prediction::Classes(ClassPrediction { classes, probabilities, entropy, aleatoric, epistemic })
}

/// The same of labels.
pub(super) fn bare_labels(labels: usize, probabilities: Vec<f64>) -> Prediction {
    let (entropy, aleatoric, epistemic) = (Vec::new(), None, None);
    Prediction::Labels(LabelPrediction { labels, probabilities, entropy, aleatoric, epistemic })
}

/// The prediction of one of several targets.
pub(super) fn one_target(prediction: &Prediction, k: usize) -> Prediction {
    let values = |p: &RegressionPrediction| of_values(p, 1, |v| column(v, p.outputs, k));
    match prediction {
        Prediction::Classes(_) => prediction.clone(),
        Prediction::Values(p) => Prediction::Values(values(p)),
        Prediction::Counts(p) => Prediction::Counts(values(p)),
        Prediction::Labels(p) => bare_labels(1, column(&p.probabilities, p.labels, k)),
    }
}

/// Column `k` of row-major numbers.
pub(super) fn column(values: &[f64], width: usize, k: usize) -> Vec<f64> {
    values.iter().skip(k).step_by(width).copied().collect()
}

pub(super) fn some_targets(targets: &Targets, rows: &[usize]) -> Targets {
    match targets {
        Targets::Classes(labels) => Targets::Classes(take_rows(labels, 1, rows)),
        Targets::Values { values, outputs } => {
            Targets::Values { values: take_rows(values, *outputs, rows), outputs: *outputs }
        }
    }
}
