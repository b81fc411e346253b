//! The scores of a prediction against the truth, by name.

use riemla::data::Targets;
use riemla::predict::Prediction;
use riemla::score;
use riemla_files::encoding::Scale;

use crate::report::Better;

/// Bins of calibration errors.
pub const BINS: usize = 15;

/// A score: its name, which end is good, and what it says in a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreKind {
    /// Its name in tables and files.
    pub name: &'static str,
    /// Which end is good.
    pub better: Better,
    /// What it says.
    pub meaning: &'static str,
}

const CLASS_SCORES: [ScoreKind; 5] = [
    ScoreKind { name: "accuracy", better: Better::Higher, meaning: "share of rows predicted right" },
    ScoreKind {
        name: "nll",
        better: Better::Lower,
        meaning: "mean −log of the probability given to the truth",
    },
    ScoreKind {
        name: "brier",
        better: Better::Lower,
        meaning: "mean squared error of all probabilities of a row",
    },
    ScoreKind { name: "ece", better: Better::Lower, meaning: "mean gap between confidence and accuracy" },
    ScoreKind { name: "mce", better: Better::Lower, meaning: "largest such gap of a bin" },
];

const VALUE_SCORES: [ScoreKind; 4] = [
    ScoreKind { name: "rmse", better: Better::Lower, meaning: "root mean squared error of the mean" },
    ScoreKind {
        name: "nlpd",
        better: Better::Lower,
        meaning: "mean −log of the predicted density at the truth",
    },
    ScoreKind {
        name: "crps",
        better: Better::Lower,
        meaning: "distance of the predicted distribution from the truth",
    },
    ScoreKind {
        name: "coverage95",
        better: Better::Neither,
        meaning: "share of truths inside the 95 % interval",
    },
];

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
    match (prediction, targets) {
        (Prediction::Classes(p), Targets::Classes(labels)) => {
            let (p, c) = (&p.probabilities, p.classes);
            Ok(vec![
                score::accuracy(p, c, labels)?,
                score::nll(p, c, labels)?,
                score::brier(p, c, labels)?,
                score::ece(p, c, labels, BINS)?,
                score::mce(p, c, labels, BINS)?,
            ])
        }
        (Prediction::Values(p), Targets::Values { values, .. }) => {
            let variance = p.variance();
            Ok(vec![
                score::rmse(&p.mean, values)?,
                score::nlpd(&p.mean, &variance, values)?,
                score::crps(&p.mean, &variance, values)?,
                coverage(&p.mean, &variance, values),
            ])
        }
        _ => Err(riemla::Error::shape("targets", "of the kind that is predicted", "another kind")),
    }
}

/// Share of values inside the central 95 % interval of their normal distributions.
fn coverage(means: &[f64], variances: &[f64], values: &[f64]) -> f64 {
    let inside = means.iter().zip(variances).zip(values).filter(|((mean, variance), value)| {
        (*value - **mean).abs() <= riemla::score::normal_quantile(0.975) * variance.sqrt()
    });
    inside.count() as f64 / values.len().max(1) as f64
}
