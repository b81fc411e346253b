//! Split conformal prediction: sets of classes and intervals whose coverage is a promise for new rows of the same
//! kind, whatever the model (Vovk et al. 2005; Lei et al. 2018).
//!
//! The promise is about the average over rows, exchangeable with the held-out ones: P(y in the set) ≥ level. How large
//! a set is at a row still follows the model: 1 − p(label) ranks classes, |y − mean|/σ(x) scales intervals. The intervals
//! of several targets hold all of them at once.

use serde::Serialize;

use super::Prediction;
use crate::data::Targets;
use crate::error::check_len;
use crate::{Error, Result};

/// What held-out rows say about how wide sets and intervals must be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Conformal {
    /// The promised coverage.
    pub level: f64,
    /// The score that new rows keep to with that probability: 1 − p(label), or the largest |y − mean|/σ of a row.
    pub quantile: f64,
    /// Held-out rows it rests on.
    pub rows: usize,
}

impl Conformal {
    /// Held-out rows that a level needs at least: the ⌈(n + 1)·level⌉-th smallest of n scores must exist.
    pub fn least_rows(level: f64) -> usize {
        let first = (level / (1.0 - level)).floor() as usize;
        (first..).find(|rows| rank(*rows, level) <= *rows).unwrap_or(usize::MAX)
    }

    /// From predictions for rows that were neither trained on nor used to choose anything, and their targets.
    pub fn fit(prediction: &Prediction, targets: &Targets, level: f64) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::range("level", level, "between 0 and 1"));
        }
        let mut scores = scores(prediction, targets)?;
        let rows = scores.len();
        let rank = rank(rows, level);
        if rank > rows {
            return Err(Error::Unsupported(format!(
                "a conformal level of {level} needs at least {} held-out rows, and there are {rows}: hold out more, or \
                 lower the level",
                Self::least_rows(level)
            )));
        }
        scores.sort_unstable_by(f64::total_cmp);
        Ok(Self { level, quantile: scores[rank - 1], rows })
    }

    /// The classes of a row of probabilities that cannot be ruled out; never none, so that the most probable is in it.
    pub fn set(&self, probabilities: &[f64]) -> Vec<usize> {
        let kept = |k: &usize| 1.0 - probabilities[*k] <= self.quantile;
        let set: Vec<usize> = (0..probabilities.len()).filter(kept).collect();
        if set.is_empty() { vec![crate::score::top_class(probabilities)] } else { set }
    }

    /// The interval of a value with this mean and variance.
    pub fn interval(&self, mean: f64, variance: f64) -> (f64, f64) {
        let half = self.quantile * variance.sqrt();
        (mean - half, mean + half)
    }

    /// Share of rows whose targets are all inside, and the mean size: number of classes, or width of an interval.
    pub fn assess(&self, prediction: &Prediction, targets: &Targets) -> Result<(f64, f64)> {
        let (mut inside, mut size, mut count) = (0, 0.0, 0);
        match (prediction, targets) {
            (Prediction::Classes(p), Targets::Classes(labels)) => {
                check_len("labels", p.probabilities.len() / p.classes, labels.len())?;
                for (row, label) in p.probabilities.chunks_exact(p.classes).zip(labels) {
                    let set = self.set(row);
                    inside += usize::from(set.contains(label));
                    size += set.len() as f64;
                    count += 1;
                }
            }
            (Prediction::Values(p) | Prediction::Counts(p), Targets::Values { values, .. }) => {
                let rows = scores(prediction, targets)?;
                inside = rows.iter().filter(|score| **score <= self.quantile).count();
                let width = |variance: f64| 2.0 * self.quantile * variance.sqrt();
                count = rows.len();
                size = p.variance().into_iter().map(width).sum::<f64>() * count as f64 / values.len() as f64;
            }
            (prediction, _) => return Err(other_kind(prediction)),
        }
        Ok((inside as f64 / count as f64, size / count as f64))
    }
}

/// ⌈(n + 1)·level⌉; rounding does not make it one more.
fn rank(rows: usize, level: f64) -> usize {
    ((rows as f64 + 1.0) * level - 1e-9).ceil() as usize
}

fn other_kind(prediction: &Prediction) -> Error {
    let message = match prediction {
        Prediction::Labels(_) => "conformal sets are for one class or number per row, not for several labels",
        _ => "targets of another kind than the predictions",
    };
    Error::Unsupported(message.into())
}

/// How badly each row is predicted.
fn scores(prediction: &Prediction, targets: &Targets) -> Result<Vec<f64>> {
    match (prediction, targets) {
        (Prediction::Classes(p), Targets::Classes(labels)) => {
            check_len("labels", p.probabilities.len() / p.classes, labels.len())?;
            let rows = p.probabilities.chunks_exact(p.classes).zip(labels);
            rows.map(|(row, label)| match row.get(*label) {
                Some(p) => Ok(1.0 - p),
                None => Err(Error::range("label", *label, "below the number of classes")),
            })
            .collect()
        }
        (Prediction::Values(p) | Prediction::Counts(p), Targets::Values { values, .. }) => {
            check_len("targets", p.mean.len(), values.len())?;
            let entries = p.mean.iter().zip(p.variance()).zip(values);
            let all: Vec<f64> =
                entries.map(|((mean, variance), value)| (value - mean).abs() / variance.sqrt()).collect();
            Ok(all.chunks_exact(p.outputs).map(|row| row.iter().copied().fold(0.0, f64::max)).collect())
        }
        (prediction, _) => Err(other_kind(prediction)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ClassPrediction, RegressionPrediction};
    use super::*;
    use crate::random::{Purpose, fill_normal, stream};

    /// A model whose noise is wrong by a factor; targets are standard normal.
    fn values(rows: usize, wrong: f64, index: u64) -> (Prediction, Targets) {
        let mut values = vec![0.0; rows];
        fill_normal(&mut stream(5, Purpose::Data, index), &mut values);
        let prediction = Prediction::Values(RegressionPrediction {
            outputs: 1,
            mean: vec![0.0; rows],
            epistemic_variance: vec![0.0; rows],
            aleatoric_variance: vec![wrong * wrong; rows],
        });
        (prediction, Targets::Values { values, outputs: 1 })
    }

    fn classes(probabilities: Vec<f64>) -> Prediction {
        Prediction::Classes(ClassPrediction {
            classes: 3,
            probabilities,
            entropy: Vec::new(),
            aleatoric: None,
            epistemic: None,
        })
    }

    /// The law: coverage on new rows, averaged over splits, is between the level and level + 1/(n + 1), however wrong
    /// the model. 400 splits of 39 + 200 rows: standard error below 0.0025.
    #[test]
    fn coverage_is_that_promised_whatever_the_model() {
        for wrong in [0.2, 1.0, 7.0] {
            let share = |index: u64| {
                let (p, y) = values(39, wrong, 2 * index);
                let conformal = Conformal::fit(&p, &y, 0.9).expect("enough rows");
                let (p, y) = values(200, wrong, 2 * index + 1);
                conformal.assess(&p, &y).expect("a share").0
            };
            let mean = (0..400).map(share).sum::<f64>() / 400.0;
            assert!(mean > 0.9 - 0.0075 && mean < 0.9 + 1.0 / 40.0 + 0.0075, "{wrong}: {mean}");
        }
    }

    /// The same for two targets of a row, whose errors are equal: both inside at once, and no less often than promised.
    #[test]
    fn several_targets_are_inside_at_once() {
        let twice = |rows: usize, index: u64| {
            let (p, y) = values(rows, 1.0, index);
            let (Prediction::Values(p), Targets::Values { values, .. }) = (p, y) else { panic!("values") };
            let double = |values: &[f64]| values.iter().flat_map(|v| [*v, *v]).collect::<Vec<f64>>();
            let prediction = Prediction::Values(RegressionPrediction {
                outputs: 2,
                mean: double(&p.mean),
                epistemic_variance: double(&p.epistemic_variance),
                aleatoric_variance: double(&p.aleatoric_variance),
            });
            (prediction, Targets::Values { values: double(&values), outputs: 2 })
        };
        let (p, y) = twice(39, 0);
        let conformal = Conformal::fit(&p, &y, 0.9).expect("enough rows");
        let (single, one) = values(39, 1.0, 0);
        assert_eq!(conformal, Conformal::fit(&single, &one, 0.9).expect("enough rows"));
        let (found, wanted) = (conformal.assess(&p, &y).unwrap(), conformal.assess(&single, &one).unwrap());
        assert!(found.0 == wanted.0 && (found.1 - wanted.1).abs() < 1e-12, "{found:?} {wanted:?}");
        assert!(Conformal::fit(&p, &y, 0.99).is_err(), "39 rows, not 78");
    }

    #[test]
    fn hand_values() {
        let p = classes(vec![0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.2, 0.2, 0.6, 0.9, 0.05, 0.05]);
        let y = Targets::Classes(vec![0, 1, 1, 0]);
        // Scores 0.5, 0.2, 0.8, 0.1; the ⌈5·0.6⌉ = 3rd smallest.
        let conformal = Conformal::fit(&p, &y, 0.6).expect("enough rows");
        assert!((conformal.quantile - 0.5).abs() < 1e-15 && conformal.rows == 4);
        assert_eq!(conformal.set(&[0.55, 0.45, 0.0]), [0]);
        assert_eq!(conformal.set(&[0.5, 0.5, 0.0]), [0, 1]);
        assert_eq!(conformal.set(&[0.3, 0.4, 0.3]), [1], "never empty");
        assert_eq!(conformal.assess(&p, &y).expect("a share"), (0.75, 1.0));
        let (p, y) = values(4, 1.0, 0);
        let conformal = Conformal { quantile: 2.0, ..conformal };
        assert_eq!(conformal.interval(1.0, 0.25), (0.0, 2.0));
        assert!(conformal.assess(&p, &Targets::Classes(vec![0; 4])).is_err());
        let message = Conformal::fit(&p, &y, 0.95).expect_err("too few").to_string();
        assert!(message.contains("at least 19 held-out rows, and there are 4"), "{message}");
        assert_eq!([0.5, 0.9, 0.95].map(Conformal::least_rows), [1, 9, 19]);
    }
}
