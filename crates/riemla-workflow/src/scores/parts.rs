//! Some rows, or one of several targets, of a prediction.

use riemla::data::Targets;
use riemla::predict::{ClassPrediction, LabelPrediction, Prediction, RegressionPrediction};
use riemla::score::take_rows;

/// The rows of a prediction that scores look at.
pub(super) fn some_rows(prediction: &Prediction, rows: &[usize]) -> Prediction {
    match prediction {
        Prediction::Classes(p) => bare_classes(p.classes, take_rows(&p.probabilities, p.classes, rows)),
        Prediction::Values(p) => Prediction::Values(some_values(p, rows)),
        Prediction::Counts(p) => Prediction::Counts(some_values(p, rows)),
        Prediction::Labels(p) => bare_labels(p.labels, take_rows(&p.probabilities, p.labels, rows)),
    }
}

fn some_values(p: &RegressionPrediction, rows: &[usize]) -> RegressionPrediction {
    RegressionPrediction {
        outputs: p.outputs,
        mean: take_rows(&p.mean, p.outputs, rows),
        epistemic_variance: take_rows(&p.epistemic_variance, p.outputs, rows),
        aleatoric_variance: take_rows(&p.aleatoric_variance, p.outputs, rows),
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
    let values = |p: &RegressionPrediction| RegressionPrediction {
        outputs: 1,
        mean: column(&p.mean, p.outputs, k),
        epistemic_variance: column(&p.epistemic_variance, p.outputs, k),
        aleatoric_variance: column(&p.aleatoric_variance, p.outputs, k),
    };
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
