//! The scores of predictions against the truth, by name: one convention for all commands.
//!
//! Accuracies and calibration errors are shares of 1, Brier scores are summed over the classes. Tables of
//! other units (the paper's: per cent, per class) convert when they are written.

mod constant;
mod kinds;
mod parts;

use riemla::data::Targets;
use riemla::predict::Prediction;
use riemla::score::{self, Bootstrap, Interval, ReliabilityBin, normal_quantile};
use riemla_files::encoding::Scale;

pub use constant::constant;
pub use kinds::{ScoreKind, kind_of, kinds, proper};

use kinds::Rule;
use parts::{column, one_target, some_rows, some_targets};

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
            (Rule::Counts(of), Prediction::Counts(p), Targets::Values { values, .. }) => {
                of(&p.mean, &p.epistemic_variance, values)
            }
            (Rule::Labels(of), Prediction::Labels(p), Targets::Values { values, .. }) => {
                of(&p.probabilities, values, p.labels, self.bins)
            }
            _ => Err(unfit()),
        }
    }

    /// All scores by name, in the order of [`kinds`].
    pub fn all(self, prediction: &Prediction, targets: &Targets) -> riemla::Result<Vec<(&'static str, f64)>> {
        let kinds = kinds(kind_of(prediction)).iter();
        kinds.map(|kind| Ok((kind.name, self.of(kind, prediction, targets)?))).collect()
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

    /// The difference of two predictions (the first less the second) in a score, with its interval.
    pub fn difference(
        self,
        kind: &ScoreKind,
        first: &Prediction,
        second: &Prediction,
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

    /// All scores of each of several targets; none for a single one and for classes.
    pub fn per_target(
        self,
        prediction: &Prediction,
        targets: &Targets,
    ) -> riemla::Result<Vec<Vec<(&'static str, f64)>>> {
        let Targets::Values { values, outputs: width @ 2.. } = targets else { return Ok(Vec::new()) };
        let one = |k: usize| {
            let values = column(values, *width, k);
            self.all(&one_target(prediction, k), &Targets::Values { values, outputs: 1 })
        };
        (0..*width).map(one).collect()
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
            (Prediction::Labels(p), Targets::Values { values, .. }) => {
                let pairs: Vec<f64> = p.probabilities.iter().flat_map(|p| [1.0 - p, *p]).collect();
                let labels: Vec<usize> = values.iter().map(|y| usize::from(*y > 0.5)).collect();
                score::reliability_bins(&pairs, 2, &labels, self.bins)
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

/// The truth in the units of predictions.
pub fn decoded_targets(targets: &Targets, scales: &[Scale]) -> Targets {
    match targets {
        Targets::Values { values, outputs } if !scales.is_empty() => {
            let decode = |(value, scale): (&f64, &Scale)| scale.decode(*value);
            let values = values.iter().zip(scales.iter().cycle()).map(decode).collect();
            Targets::Values { values, outputs: *outputs }
        }
        other => other.clone(),
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

/// The loss of every row: 1 for a wrong class and 0 for the right one, the share of wrong labels, or the squared error,
/// summed over outputs.
pub fn losses(prediction: &Prediction, targets: &Targets) -> riemla::Result<Vec<f64>> {
    match (prediction, targets) {
        (Prediction::Classes(p), Targets::Classes(labels)) => {
            let rows = p.probabilities.chunks_exact(p.classes).zip(labels);
            Ok(rows.map(|(row, label)| f64::from(score::top_class(row) != *label)).collect())
        }
        (Prediction::Labels(p), Targets::Values { values, .. }) => {
            let wrong = |(p, y): (&f64, &f64)| f64::from((*p > 0.5) != (*y > 0.5));
            let entries: Vec<f64> = p.probabilities.iter().zip(values).map(wrong).collect();
            Ok(entries.chunks_exact(p.labels).map(|row| row.iter().sum::<f64>() / p.labels as f64).collect())
        }
        (Prediction::Values(p) | Prediction::Counts(p), Targets::Values { values, outputs }) => {
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
    /// 1 − the largest probability (of labels, the mean over them), or the variance summed over targets.
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
            Prediction::Labels(p) => {
                let unsure = |row: &[f64]| row.iter().map(|p| p.min(1.0 - p)).sum::<f64>() / p.labels as f64;
                let entropy = |row: &[f64]| row.iter().sum();
                Self {
                    confidence: p.probabilities.chunks_exact(p.labels).map(unsure).collect(),
                    entropy: Some(p.entropy.chunks_exact(p.labels).map(entropy).collect()),
                }
            }
            Prediction::Values(p) | Prediction::Counts(p) => {
                let confidence = p.variance().chunks_exact(p.outputs).map(|row| row.iter().sum()).collect();
                Self { confidence, entropy: None }
            }
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
        parts::bare_classes(2, probabilities.to_vec())
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
        assert_eq!(proper(kind_of(&prediction)).name, "nll");
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
