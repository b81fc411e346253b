//! What a comparison found, as data and as text.

use riemla::compare::{Energy, GOOD_SHAPE, ImportanceWeights, LARGEST_SHAPE, Marginals};
use riemla::score::Interval;
use serde::Serialize;
use serde_json::{Value, json};

use super::side::{Side, mean};
use crate::report::aligned;
use crate::scores::ScoreKind;

/// One score of both sets.
#[derive(Debug, Clone)]
pub struct ScorePair {
    /// Which score.
    pub kind: ScoreKind,
    /// Of A and of B.
    pub values: [f64; 2],
    /// A less B, on the same rows.
    pub difference: Interval,
}

/// All that a comparison found.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The sets A and B.
    pub sides: [Side; 2],
    /// Which of them is the reference: 0 or 1.
    pub reference: usize,
    /// Weight by weight: the other set against the reference.
    pub marginals: Marginals,
    /// What chance would show as the mean Wasserstein distance.
    pub wasserstein_null: Option<f64>,
    /// All weights at once, with what chance would show.
    pub energy: Energy,
    /// Scores, if data were given.
    pub scores: Option<Vec<ScorePair>>,
    /// File of the data.
    pub data: Option<String>,
    /// Which rows the spread of outputs was taken over; empty if none.
    pub spread_rows: &'static str,
    /// Level of the intervals of differences.
    pub level: f64,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// Mean, median and extremes of numbers over weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Distribution {
    pub mean: f64,
    pub median: f64,
    #[serde(rename = "min")]
    pub least: f64,
    #[serde(rename = "max")]
    pub most: f64,
}

impl Distribution {
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        let (half, last) = (sorted.len() / 2, sorted.len().saturating_sub(1));
        let median =
            if sorted.len() % 2 == 1 { at(half) } else { 0.5 * (at(half.saturating_sub(1)) + at(half)) };
        Self { mean: mean(values), median, least: at(0), most: at(last) }
    }
}

/// What k̂ means, in words.
pub(super) fn reading(importance: &ImportanceWeights) -> &'static str {
    match importance.shape {
        k if k < GOOD_SHAPE => "good: importance-weighted draws of the Gaussian represent the posterior",
        k if k <= LARGEST_SHAPE => {
            "usable: importance-weighted draws of the Gaussian just represent the \
             posterior"
        }
        _ => {
            "above 0.7: the Gaussian misses a part of the posterior; importance weighting cannot correct that"
        }
    }
}

/// Numbers that JSON cannot express are strings, as in all files.
fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string().to_lowercase()) }
}

impl Comparison {
    /// The set that is compared with the reference.
    pub fn other(&self) -> &Side {
        &self.sides[1 - self.reference]
    }

    /// The set that gives the units.
    pub fn reference(&self) -> &Side {
        &self.sides[self.reference]
    }

    /// Spread of the other's outputs over that of the reference's: of outputs, and of probabilities.
    pub fn spread_ratios(&self) -> Option<(f64, Option<f64>)> {
        let (other, reference) = self.other().spread.zip(self.reference().spread)?;
        let probabilities = other.probabilities.zip(reference.probabilities);
        Some((other.outputs / reference.outputs, probabilities.map(|(own, theirs)| own / theirs)))
    }

    /// How far apart they are, in words.
    pub fn summary(&self) -> String {
        let (other, reference) = (&self.other().label, &self.reference().label);
        let chance = match self.energy.null {
            Some(null) if null > 0.0 => {
                format!(
                    ", {:.1} times the value for two independent sets of {reference} of these sizes",
                    self.energy.value / null
                )
            }
            _ => String::new(),
        };
        let spread = self.spread_ratios().map_or(String::new(), |(outputs, _)| {
            format!(" The outputs of {other} spread {outputs:.2} times as much over the draws.")
        });
        format!(
            "The energy distance of {other} from {reference} is {:.4}{chance}.{spread}",
            self.energy.value
        )
    }

    /// All numbers.
    pub fn to_json(&self) -> Value {
        let names = ["a", "b"];
        let score = |pair: &ScorePair| {
            let value = json!({ "a": pair.values[0], "b": pair.values[1], "difference": pair.difference });
            (pair.kind.name.to_string(), value)
        };
        let scores =
            self.scores.as_ref().map(|pairs| pairs.iter().map(score).collect::<serde_json::Map<_, _>>());
        json!({
            "schema": "riemla-comparison",
            "schema_version": 1,
            "version": env!("CARGO_PKG_VERSION"),
            "a": side(&self.sides[0]),
            "b": side(&self.sides[1]),
            "reference": names[self.reference],
            "weights": self.marginals.weights.len(),
            "wasserstein": {
                "in_reference_sd": Distribution::of(&self.marginals.wasserstein),
                "null_of_mean": self.wasserstein_null,
            },
            "sd_ratio": Distribution::of(&self.marginals.ratios()),
            "energy_distance": { "value": self.energy.value, "null": self.energy.null },
            "output_sd_ratio": self.spread_ratios().map(|(outputs, probabilities)| {
                json!({ "outputs": number(outputs), "probabilities": probabilities.map(number) })
            }),
            "spread_rows": self.spread_rows,
            "data": self.data,
            "scores": scores,
            "notes": self.notes,
        })
    }

    /// The numbers as tables for a terminal.
    pub fn table(&self) -> String {
        let mut rows = vec![[vec![String::new()], self.headings().to_vec()].concat()];
        let lines = self.side_rows().into_iter().chain(self.score_rows());
        rows.extend(lines.map(|(name, values)| [vec![name], values.to_vec()].concat()));
        let mut text = aligned(&rows) + "\n" + &aligned(&self.distance_rows());
        for side in &self.sides {
            if let Some(importance) = &side.importance {
                text +=
                    &format!("\nk-hat of {}: {:.2}, {}.", side.label, importance.shape, reading(importance));
            }
        }
        text += &format!("\n{}\n", self.summary());
        text
    }

    /// Labels of A and B, the reference marked.
    pub(super) fn headings(&self) -> [String; 2] {
        let mark = |i: usize| if i == self.reference { " (reference)" } else { "" };
        [0, 1].map(|i| format!("{}{}", self.sides[i].label, mark(i)))
    }

    /// Quantities of each set: name, A, B.
    pub(super) fn side_rows(&self) -> Vec<(String, [String; 2])> {
        let each = |of: &dyn Fn(&Side) -> Option<String>| {
            let values = [of(&self.sides[0]), of(&self.sides[1])];
            values.iter().any(Option::is_some).then(|| values.map(|v| v.unwrap_or_else(|| "–".into())))
        };
        let three = |value: f64| format!("{value:.3}");
        let candidates: [(&str, Option<[String; 2]>); 10] = [
            ("method", each(&|side| Some(side.method.to_string()))),
            ("draws", each(&|side| Some(side.draws.to_string()))),
            ("uncertain weights K", each(&|side| Some(side.weights.to_string()))),
            ("mean rise of the loss", each(&|side| side.loss.map(|loss| three(loss.rise)))),
            ("K/2", each(&|side| side.loss.map(|_| three(0.5 * side.weights as f64)))),
            (
                "virial ratio",
                each(&|side| side.loss?.virial_ratio.map(|(mean, error)| format!("{mean:.3} ±{error:.3}"))),
            ),
            ("sd of outputs", each(&|side| side.spread.map(|spread| format!("{:.4}", spread.outputs)))),
            ("sd of probabilities", each(&|side| side.spread?.probabilities.map(|sd| format!("{sd:.4}")))),
            ("k-hat", each(&|side| side.importance.as_ref().map(|i| format!("{:.2}", i.shape)))),
            (
                "effective sample size",
                each(&|side| side.importance.as_ref().map(|i| format!("{:.1}", i.effective_draws))),
            ),
        ];
        candidates.into_iter().filter_map(|(name, values)| Some((name.to_string(), values?))).collect()
    }

    /// Scores of each set: name, A, B.
    fn score_rows(&self) -> impl Iterator<Item = (String, [String; 2])> {
        let four = |value: f64| format!("{value:.4}");
        self.scores.iter().flatten().map(move |pair| (pair.kind.name.to_string(), pair.values.map(four)))
    }

    /// Distances of the other set from the reference.
    pub(super) fn distance_rows(&self) -> Vec<Vec<String>> {
        let four = |value: f64| format!("{value:.4}");
        let chance = |null: Option<f64>| null.map_or("–".into(), four);
        let row = |name: &str, d: Distribution, null: String| {
            vec![name.to_string(), four(d.mean), four(d.median), four(d.least), four(d.most), null]
        };
        let title = format!("{} from {}", self.other().label, self.reference().label);
        let head = [title.as_str(), "mean", "median", "min", "max", "mean by chance"].map(String::from);
        let single = |name: &str, value: f64, null: String| {
            let blank = String::new;
            vec![name.to_string(), four(value), blank(), blank(), blank(), null]
        };
        let mut rows = vec![
            head.to_vec(),
            row(
                "Wasserstein-1 per weight, in sd",
                Distribution::of(&self.marginals.wasserstein),
                chance(self.wasserstein_null),
            ),
            row("ratio of sd per weight", Distribution::of(&self.marginals.ratios()), four(1.0)),
            single("energy distance", self.energy.value, chance(self.energy.null)),
        ];
        if let Some((outputs, probabilities)) = self.spread_ratios() {
            rows.push(single("ratio of sd of outputs", outputs, four(1.0)));
            rows.extend(probabilities.map(|ratio| single("ratio of sd of probabilities", ratio, four(1.0))));
        }
        rows
    }
}

fn side(side: &Side) -> Value {
    let virial = side.loss.and_then(|loss| loss.virial_ratio);
    json!({
        "posterior": side.place.posterior.display().to_string(),
        "set": side.place.set,
        "method": side.method,
        "draws": side.draws,
        "uncertain_weights": side.weights,
        "loss_rise": side.loss.map(|loss| number(loss.rise)),
        "half_the_weights": 0.5 * side.weights as f64,
        "virial_ratio": virial.map(|(mean, _)| number(mean)),
        "virial_ratio_standard_error": virial.map(|(_, error)| number(error)),
        "output_sd": side.spread.map(|spread| number(spread.outputs)),
        "probability_sd": side.spread.and_then(|spread| spread.probabilities).map(number),
        "k_hat": side.importance.as_ref().map(|importance| number(importance.shape)),
        "effective_draws": side.importance.as_ref().map(|importance| number(importance.effective_draws)),
        "k_hat_reading": side.importance.as_ref().map(reading),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_by_hand() {
        let even = Distribution::of(&[4.0, 1.0, 2.0, 9.0]);
        assert_eq!((even.mean, even.median, even.least, even.most), (4.0, 3.0, 1.0, 9.0));
        assert_eq!(Distribution::of(&[3.0]).median, 3.0);
        assert_eq!((number(f64::NEG_INFINITY), number(f64::NAN)), (json!("-inf"), json!("nan")));
    }
}
