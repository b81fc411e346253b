//! The scores of predictions against the truth, by name: one convention for all commands.
//!
//! Accuracies and calibration errors are shares of 1, Brier scores are summed over the classes. Tables of
//! other units (the paper's: per cent, per class) convert when they are written.

use riemla::data::{Dataset, Targets};
use riemla::predict::{ClassPrediction, Prediction, RegressionPrediction};
use riemla::score::{self, Bootstrap, Interval, ReliabilityBin, normal_quantile, take_rows};
use riemla_files::encoding::Scale;

use crate::report::Better;

/// A score: its name, which end is good, what it says in a sentence, and how it is computed.
#[derive(Debug, Clone, Copy)]
pub struct ScoreKind {
    /// Its name in tables and files.
    pub name: &'static str,
    /// Which end is good.
    pub better: Better,
    /// What it says.
    pub meaning: &'static str,
    of: Rule,
}

/// Of means, variances and targets.
type ValueScore = fn(&[f64], &[f64], &[f64]) -> riemla::Result<f64>;

/// Of probabilities (row-major, number of classes), labels and bins; or of means, variances and values.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Classes(fn(&[f64], usize, &[usize], usize) -> riemla::Result<f64>),
    Values(ValueScore),
}

const CLASS_SCORES: [ScoreKind; 5] = [
    ScoreKind {
        name: "accuracy",
        better: Better::Higher,
        meaning: "share of correct predictions",
        of: Rule::Classes(|p, classes, labels, _| score::accuracy(p, classes, labels)),
    },
    ScoreKind {
        name: "nll",
        better: Better::Lower,
        meaning: "mean −log of the probability of the true class",
        of: Rule::Classes(|p, classes, labels, _| score::nll(p, classes, labels)),
    },
    ScoreKind {
        name: "brier",
        better: Better::Lower,
        meaning: "squared error of all probabilities of a row, mean over rows",
        of: Rule::Classes(|p, classes, labels, _| score::brier(p, classes, labels)),
    },
    ScoreKind {
        name: "ece",
        better: Better::Lower,
        meaning: "gap between confidence and accuracy, mean over bins",
        of: Rule::Classes(score::ece),
    },
    ScoreKind {
        name: "mce",
        better: Better::Lower,
        meaning: "the largest such gap",
        of: Rule::Classes(score::mce),
    },
];

const VALUE_SCORES: [ScoreKind; 4] = [
    ScoreKind {
        name: "rmse",
        better: Better::Lower,
        meaning: "root mean squared error of the predicted mean",
        of: Rule::Values(|mean, _, values| score::rmse(mean, values)),
    },
    ScoreKind {
        name: "nlpd",
        better: Better::Lower,
        meaning: "mean −log of the predicted density at the true value",
        of: Rule::Values(score::nlpd),
    },
    ScoreKind {
        name: "crps",
        better: Better::Lower,
        meaning: "distance of the predicted distribution from the true value",
        of: Rule::Values(score::crps),
    },
    ScoreKind {
        name: "coverage95",
        better: Better::Neither,
        meaning: "share of true values inside the 95 % interval; ideal: 0.95",
        of: Rule::Values(|mean, variance, values| Ok(coverage(mean, variance, values, 0.95))),
    },
];

/// The scores there are for these targets.
pub fn kinds(targets: &Targets) -> &'static [ScoreKind] {
    match targets {
        Targets::Classes(_) => &CLASS_SCORES,
        Targets::Values { .. } => &VALUE_SCORES,
    }
}

/// The score that ranks methods: the log loss of classes, or of densities.
pub fn proper(targets: &Targets) -> &'static ScoreKind {
    &kinds(targets)[1]
}

/// Scores predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scorer {
    /// Bins of the calibration errors.
    pub bins: usize,
}

impl Default for Scorer {
    fn default() -> Self {
        Self { bins: 15 }
    }
}

impl Scorer {
    /// One score of a prediction.
    pub fn of(self, kind: &ScoreKind, prediction: &Prediction, targets: &Targets) -> riemla::Result<f64> {
        match (kind.of, prediction, targets) {
            (Rule::Classes(of), Prediction::Classes(p), Targets::Classes(labels)) => {
                of(&p.probabilities, p.classes, labels, self.bins)
            }
            (Rule::Values(of), Prediction::Values(p), Targets::Values { values, .. }) => {
                of(&p.mean, &p.variance(), values)
            }
            _ => Err(unfit()),
        }
    }

    /// All scores by name, in the order of [`kinds`].
    pub fn all(self, prediction: &Prediction, targets: &Targets) -> riemla::Result<Vec<(&'static str, f64)>> {
        kinds(targets).iter().map(|kind| Ok((kind.name, self.of(kind, prediction, targets)?))).collect()
    }

    /// A score with its bootstrap interval over the rows.
    pub fn interval(
        self,
        kind: &ScoreKind,
        prediction: &Prediction,
        targets: &Targets,
        bootstrap: &Bootstrap,
    ) -> riemla::Result<Interval> {
        bootstrap.interval(targets.len(), |rows| self.of_rows(kind, prediction, targets, rows))
    }

    /// The difference of two predictions in a score, with its interval.
    pub fn difference(
        self,
        kind: &ScoreKind,
        (first, second): (&Prediction, &Prediction),
        targets: &Targets,
        bootstrap: &Bootstrap,
    ) -> riemla::Result<Interval> {
        let of = |prediction, rows: &[usize]| self.of_rows(kind, prediction, targets, rows);
        bootstrap.difference(targets.len(), |rows| of(first, rows), |rows| of(second, rows))
    }

    fn of_rows(
        self,
        kind: &ScoreKind,
        prediction: &Prediction,
        targets: &Targets,
        rows: &[usize],
    ) -> riemla::Result<f64> {
        self.of(kind, &some_rows(prediction, rows), &some_targets(targets, rows))
    }

    /// Confidence against accuracy, bin by bin; none for numbers.
    pub fn reliability(
        self,
        prediction: &Prediction,
        targets: &Targets,
    ) -> riemla::Result<Vec<ReliabilityBin>> {
        match (prediction, targets) {
            (Prediction::Classes(p), Targets::Classes(labels)) => {
                score::reliability_bins(&p.probabilities, p.classes, labels, self.bins)
            }
            _ => Ok(Vec::new()),
        }
    }
}

fn unfit() -> riemla::Error {
    riemla::Error::shape(
        "targets",
        "classes for predicted classes, numbers for predicted numbers",
        "the other kind",
    )
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

/// The truth in the units of predictions.
pub fn decoded_targets(targets: &Targets, scale: Option<Scale>) -> Targets {
    match (targets, scale) {
        (Targets::Values { values, outputs }, Some(scale)) => {
            Targets::Values { values: values.iter().map(|v| scale.decode(*v)).collect(), outputs: *outputs }
        }
        (other, _) => other.clone(),
    }
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

/// The prediction of the training targets alone, the same for every row: frequencies of the classes, of which there are
/// `outputs` (one that training has not seen gets a share of one row), or mean and variance.
pub fn constant(train: &Dataset, outputs: usize, rows: usize) -> Prediction {
    match train.targets() {
        Targets::Classes(labels) => {
            let mut shares = vec![1.0 / outputs as f64; outputs];
            labels.iter().for_each(|&label| shares[label] += 1.0);
            shares.iter_mut().for_each(|share| *share /= labels.len() as f64 + 1.0);
            Prediction::Classes(ClassPrediction {
                classes: outputs,
                probabilities: shares.repeat(rows),
                entropy: Vec::new(),
                aleatoric: None,
                epistemic: None,
            })
        }
        Targets::Values { values, outputs } => {
            let n = train.len() as f64;
            let column = |j: usize| values.iter().skip(j).step_by(*outputs);
            let means: Vec<f64> = (0..*outputs).map(|j| column(j).sum::<f64>() / n).collect();
            let variance = |j: usize| column(j).map(|y| (y - means[j]).powi(2)).sum::<f64>() / n;
            let variances: Vec<f64> = (0..*outputs).map(variance).collect();
            Prediction::Values(RegressionPrediction {
                outputs: *outputs,
                mean: means.repeat(rows),
                epistemic_variance: vec![0.0; outputs * rows],
                aleatoric_variance: variances.repeat(rows),
            })
        }
    }
}

/// The loss of every row: 1 for a wrong class and 0 for the right one, or the squared error, summed over outputs.
pub fn losses(prediction: &Prediction, targets: &Targets) -> riemla::Result<Vec<f64>> {
    match (prediction, targets) {
        (Prediction::Classes(p), Targets::Classes(labels)) => {
            let rows = p.probabilities.chunks_exact(p.classes).zip(labels);
            Ok(rows.map(|(row, label)| f64::from(score::top_class(row) != *label)).collect())
        }
        (Prediction::Values(p), Targets::Values { values, outputs }) => {
            let squares = |(mean, value): (&[f64], &[f64])| {
                mean.iter().zip(value).map(|(mean, value)| (mean - value).powi(2)).sum()
            };
            Ok(p.mean.chunks_exact(*outputs).zip(values.chunks_exact(*outputs)).map(squares).collect())
        }
        _ => Err(unfit()),
    }
}

/// How unsure a prediction is of every row.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubts {
    /// 1 − the largest probability, or the variance.
    pub confidence: Vec<f64>,
    /// Entropy; none for numbers.
    pub entropy: Option<Vec<f64>>,
}

impl Doubts {
    /// Those of a prediction.
    pub fn of(prediction: &Prediction) -> riemla::Result<Self> {
        Ok(match prediction {
            Prediction::Classes(p) => {
                let largest = score::max_probabilities(&p.probabilities, p.classes)?;
                let entropy = Some(score::entropies(&p.probabilities, p.classes)?);
                Self { confidence: largest.iter().map(|p| 1.0 - p).collect(), entropy }
            }
            Prediction::Values(p) => Self { confidence: p.variance(), entropy: None },
        })
    }

    /// How well the rows of `other` are distinguished from these, by name: the areas under the ROC curves.
    pub fn areas(&self, other: &Self) -> riemla::Result<Vec<(&'static str, f64)>> {
        let mut areas = vec![("auroc", score::auroc(&other.confidence, &self.confidence)?)];
        if let (Some(own), Some(other)) = (&self.entropy, &other.entropy) {
            areas.push(("auroc-entropy", score::auroc(other, own)?));
        }
        Ok(areas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(probabilities: &[f64]) -> Prediction {
        Prediction::Classes(ClassPrediction {
            classes: 2,
            probabilities: probabilities.to_vec(),
            entropy: Vec::new(),
            aleatoric: None,
            epistemic: None,
        })
    }

    #[test]
    fn one_convention_by_hand() {
        let prediction = classes(&[0.75, 0.25, 0.75, 0.25, 0.5, 0.5, 0.25, 0.75]);
        let targets = Targets::Classes(vec![0, 1, 0, 1]);
        let found = Scorer { bins: 2 }.all(&prediction, &targets).expect("scores");
        let wanted = [
            ("accuracy", 0.75),
            ("nll", -(0.75f64 * 0.75 * 0.5 * 0.25).ln() / 4.0),
            ("brier", (0.125 + 1.125 + 0.5 + 0.125) / 4.0),
            // Confidence 0.5 is in the lower bin, and right; of three at 0.75 two are.
            ("ece", (0.5 + 3.0 * (0.75 - 2.0 / 3.0)) / 4.0),
            ("mce", 0.5),
        ];
        for ((name, value), (wanted_name, wanted)) in found.iter().zip(wanted) {
            assert_eq!(*name, wanted_name);
            assert!((value - wanted).abs() < 1e-15, "{name}: {value} and not {wanted}");
        }
        assert_eq!(proper(&targets).name, "nll");
        let numbers = Targets::Values { values: vec![0.0; 4], outputs: 1 };
        assert!(Scorer::default().all(&prediction, &numbers).is_err(), "the other kind");
    }

    #[test]
    fn doubts_about_other_rows_are_told_from_those_about_known_ones() {
        let of = |probabilities: &[f64]| Doubts::of(&classes(probabilities)).expect("probabilities");
        let areas = of(&[0.9, 0.1, 0.2, 0.8]).areas(&of(&[0.5, 0.5, 0.15, 0.85])).expect("areas");
        assert_eq!(areas, [("auroc", 0.75), ("auroc-entropy", 0.75)]);
    }
}
