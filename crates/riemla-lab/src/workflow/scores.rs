//! The scores of a prediction against the truth, by name.

use riemla::data::Targets;
use riemla::predict::{ClassPrediction, Prediction, RegressionPrediction};
use riemla::score::{self, Bootstrap, Interval, normal_quantile, take_rows};
use riemla_files::encoding::Scale;

use crate::report::Better;

/// Bins of calibration errors.
pub const BINS: usize = 15;

/// A score: its name, which end is good, what it says in a sentence, and how it is computed.
#[derive(Debug, Clone, Copy)]
pub struct ScoreKind {
    /// Its name in tables and files.
    pub name: &'static str,
    /// Which end is good.
    pub better: Better,
    /// What it says.
    pub meaning: &'static str,
    of: fn(&Prediction, &Targets) -> riemla::Result<f64>,
}

const CLASS_SCORES: [ScoreKind; 5] = [
    ScoreKind {
        name: "accuracy",
        better: Better::Higher,
        meaning: "share of rows predicted right",
        of: |p, t| classes(p, t, score::accuracy),
    },
    ScoreKind {
        name: "nll",
        better: Better::Lower,
        meaning: "mean −log of the probability given to the truth",
        of: |p, t| classes(p, t, score::nll),
    },
    ScoreKind {
        name: "brier",
        better: Better::Lower,
        meaning: "squared error of all probabilities of a row, mean over rows",
        of: |p, t| classes(p, t, score::brier),
    },
    ScoreKind {
        name: "ece",
        better: Better::Lower,
        meaning: "gap between confidence and accuracy, mean over bins",
        of: |p, t| classes(p, t, |p, c, labels| score::ece(p, c, labels, BINS)),
    },
    ScoreKind {
        name: "mce",
        better: Better::Lower,
        meaning: "the largest such gap",
        of: |p, t| classes(p, t, |p, c, labels| score::mce(p, c, labels, BINS)),
    },
];

const VALUE_SCORES: [ScoreKind; 4] = [
    ScoreKind {
        name: "rmse",
        better: Better::Lower,
        meaning: "root mean squared error of the predicted mean",
        of: |p, t| values(p, t, |mean, _, y| score::rmse(mean, y)),
    },
    ScoreKind {
        name: "nlpd",
        better: Better::Lower,
        meaning: "mean −log of the predicted density at the truth",
        of: |p, t| values(p, t, score::nlpd),
    },
    ScoreKind {
        name: "crps",
        better: Better::Lower,
        meaning: "distance of the predicted distribution from the truth",
        of: |p, t| values(p, t, score::crps),
    },
    ScoreKind {
        name: "coverage95",
        better: Better::Neither,
        meaning: "share of truths inside the 95 % interval: 0.95 is right",
        of: |p, t| values(p, t, |mean, variance, y| Ok(coverage(mean, variance, y, 0.95))),
    },
];

impl ScoreKind {
    /// The score of a prediction.
    pub fn of(&self, prediction: &Prediction, targets: &Targets) -> riemla::Result<f64> {
        (self.of)(prediction, targets)
    }

    /// The score with its bootstrap interval over the rows.
    pub fn interval(
        &self,
        prediction: &Prediction,
        targets: &Targets,
        bootstrap: &Bootstrap,
    ) -> riemla::Result<Interval> {
        bootstrap.interval(targets.len(), |rows| {
            self.of(&some_rows(prediction, rows), &some_targets(targets, rows))
        })
    }

    /// The difference of two predictions in this score, with its interval.
    pub fn difference(
        &self,
        (first, second): (&Prediction, &Prediction),
        targets: &Targets,
        bootstrap: &Bootstrap,
    ) -> riemla::Result<Interval> {
        let of = |p: &Prediction, rows: &[usize]| self.of(&some_rows(p, rows), &some_targets(targets, rows));
        bootstrap.difference(targets.len(), |rows| of(first, rows), |rows| of(second, rows))
    }
}

fn unfit() -> riemla::Error {
    riemla::Error::shape("targets", "of the kind that is predicted", "another kind")
}

fn classes(
    prediction: &Prediction,
    targets: &Targets,
    of: impl Fn(&[f64], usize, &[usize]) -> riemla::Result<f64>,
) -> riemla::Result<f64> {
    match (prediction, targets) {
        (Prediction::Classes(p), Targets::Classes(labels)) => of(&p.probabilities, p.classes, labels),
        _ => Err(unfit()),
    }
}

fn values(
    prediction: &Prediction,
    targets: &Targets,
    of: impl Fn(&[f64], &[f64], &[f64]) -> riemla::Result<f64>,
) -> riemla::Result<f64> {
    match (prediction, targets) {
        (Prediction::Values(p), Targets::Values { values, .. }) => of(&p.mean, &p.variance(), values),
        _ => Err(unfit()),
    }
}

/// The rows of a prediction that scores look at.
fn some_rows(prediction: &Prediction, rows: &[usize]) -> Prediction {
    match prediction {
        Prediction::Classes(p) => Prediction::Classes(ClassPrediction {
            classes: p.classes,
            probabilities: take_rows(&p.probabilities, p.classes, rows),
            entropy: Vec::new(),
            aleatoric: None,
            epistemic: None,
        }),
        Prediction::Values(p) => Prediction::Values(RegressionPrediction {
            outputs: p.outputs,
            mean: take_rows(&p.mean, p.outputs, rows),
            epistemic_variance: take_rows(&p.epistemic_variance, p.outputs, rows),
            aleatoric_variance: take_rows(&p.aleatoric_variance, p.outputs, rows),
        }),
    }
}

fn some_targets(targets: &Targets, rows: &[usize]) -> Targets {
    match targets {
        Targets::Classes(labels) => Targets::Classes(take_rows(labels, 1, rows)),
        Targets::Values { values, outputs } => {
            Targets::Values { values: take_rows(values, *outputs, rows), outputs: *outputs }
        }
    }
}

/// The scores there are for these targets.
pub fn kinds(targets: &Targets) -> &'static [ScoreKind] {
    match targets {
        Targets::Classes(_) => &CLASS_SCORES,
        Targets::Values { .. } => &VALUE_SCORES,
    }
}

/// The truth in the units of predictions.
pub fn decoded_targets(targets: &Targets, scale: Option<Scale>) -> Targets {
    match (targets, scale) {
        (Targets::Values { values, outputs }, Some(scale)) => {
            Targets::Values { values: values.iter().map(|v| scale.decode(*v)).collect(), outputs: *outputs }
        }
        (other, _) => other.clone(),
    }
}

/// All scores, in the order of [`kinds`].
pub fn scores(prediction: &Prediction, targets: &Targets) -> riemla::Result<Vec<f64>> {
    kinds(targets).iter().map(|kind| kind.of(prediction, targets)).collect()
}

/// Share of values inside the central interval of their normal distributions.
pub fn coverage(means: &[f64], variances: &[f64], values: &[f64], level: f64) -> f64 {
    let z = normal_quantile(0.5 + 0.5 * level);
    let inside = means
        .iter()
        .zip(variances)
        .zip(values)
        .filter(|((mean, variance), value)| (*value - **mean).abs() <= z * variance.sqrt());
    inside.count() as f64 / values.len().max(1) as f64
}
