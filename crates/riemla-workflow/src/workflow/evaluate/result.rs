//! What an evaluation found, as data.

use std::collections::BTreeMap;

use riemla::data::Targets;
use riemla::objective::{Likelihood, PriorPrecision, TargetKind};
use riemla::predict::{Prediction, Temperature};
use riemla::score::{Bootstrap, Interval};
use riemla_files::{Digest, Model};
use serde_json::{Value, json};

use super::made_from::MadeFrom;
use super::ood::OodResult;
use super::selective::Selective;
use crate::method::MethodName;
use crate::report::aligned;
use crate::scores::kinds;
use crate::workflow::draws::{AT_TEMPERATURE, MIXED};
use crate::workflow::folds::TrainedShare;
use crate::workflow::predict::target_names;
use crate::workflow::set_summary::SetSummary;

/// One way to predict and its scores.
#[derive(Debug, Clone)]
pub struct MethodResult {
    /// Its name: that of the set of draws.
    pub name: String,
    /// Its method.
    pub method: MethodName,
    /// Weights that predictions average over.
    pub draws: usize,
    /// The digest of these weights, of each member.
    pub theta: Vec<Digest>,
    /// The temperature of its predictions; 1 if none.
    pub temperature: Option<Temperature>,
    /// How much the trained weights count beside its draws; not at all if none.
    pub trained_share: Option<TrainedShare>,
    /// Scores in the order of [`kinds`].
    pub scores: Vec<Interval>,
    /// All scores of each of several targets, without intervals; empty for a single one.
    pub per_target: Vec<Vec<(&'static str, f64)>>,
    /// NLL (or NLPD) less that of the trained weights, on the same resamples.
    pub gain: Option<Interval>,
    /// The predictions.
    pub prediction: Prediction,
    /// How well other data are recognised.
    pub ood: Vec<OodResult>,
    /// What it gains by knowing what it does not know.
    pub selective: Selective,
    /// What was found out about its draws.
    pub summary: Option<SetSummary>,
}

/// Draws as new rows are predicted with: at a temperature, where held-out rows reject 1, or with the trained weights beside them.
pub(super) fn advised(methods: &[MethodResult]) -> impl Iterator<Item = &MethodResult> {
    let tempered = |method: &MethodResult| {
        let names = [AT_TEMPERATURE, MIXED].map(|ending| format!("{}{ending}", method.name));
        let changed = |other: &&MethodResult| other.temperature.is_some() || other.trained_share.is_some();
        methods.iter().filter(changed).find(|other| names.contains(&other.name))
    };
    let drawn = methods.iter().filter(|method| method.summary.is_some());
    drawn.map(move |method| tempered(method).unwrap_or(method))
}

/// The temperatures of averages, and who uses them.
pub(super) fn temperature_note(methods: &[MethodResult]) -> Option<String> {
    let averages = methods.iter().filter(|method| method.method != MethodName::MapTemperature);
    let found: Vec<(&str, Temperature)> =
        averages.filter_map(|method| Some((method.name.as_str(), method.temperature?))).collect();
    let (_, Temperature { targets, .. }) = found.first()?;
    let one = |(name, t): &(&str, Temperature)| {
        format!(
            "{name} {:.3} (their log loss falls from {:.3} to {:.3})",
            t.temperature, t.nll_before, t.nll_after
        )
    };
    let all = found.iter().map(one).collect::<Vec<_>>().join(", ");
    Some(format!(
        "temperatures of averages, fitted to {targets} held-out targets: {all}; `riemla predict` uses them unless \
         --temperature 1 is given"
    ))
}

/// Draws beside which the trained weights count, and who counts them.
pub(super) fn share_note(methods: &[MethodResult]) -> Option<String> {
    let one = |method: &MethodResult| {
        let TrainedShare { share, rows, log_losses: [draws, trained, mixed], .. } = method.trained_share?;
        Some(format!(
            "{}: the trained weights count {share:.2} in the average with the draws, chosen with {rows} rows left out in turn or \
             held out (log loss of the draws {draws:.3}, of the trained weights {trained:.3}, of both {mixed:.3})",
            method.name
        ))
    };
    let all: Vec<String> = methods.iter().filter_map(one).collect();
    let found = !all.is_empty();
    found.then(|| format!("{}; `riemla predict` mixes them unless --temperature 1 is given", all.join("; ")))
}

/// What a user of draws should know if they predict worse than the trained weights alone.
pub(super) fn loss_to_map(name: &str, score: &str, gain: Interval) -> Option<String> {
    (gain.low > 0.0).then(|| {
        format!(
            "{name} predicts worse than the trained weights alone on these rows: {score} higher by {:.3} ({:.3} to \
             {:.3}). Predict with --method map or map-temperature; or fit again at a minimum under the prior of the \
             largest marginal likelihood (riemla train)",
            gain.estimate, gain.low, gain.high
        )
    })
}

/// All that an evaluation found.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Directory of the posterior.
    pub posterior: String,
    /// File of the data.
    pub data: String,
    /// The model.
    pub model: Model,
    /// The prior in force.
    pub prior_precision: PriorPrecision,
    /// The likelihood in force, with its noise.
    pub likelihood: Likelihood,
    /// The truth, in the units of the data.
    pub targets: Targets,
    /// What all scores depend on.
    pub made_from: MadeFrom,
    /// Every way to predict, the trained weights first.
    pub methods: Vec<MethodResult>,
    /// The temperature of the trained weights.
    pub temperature: Option<Temperature>,
    /// Resamples and level of all intervals.
    pub bootstrap: Bootstrap,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Evaluation {
    /// The kind of its targets.
    pub(super) fn kind(&self) -> TargetKind {
        self.likelihood.kind()
    }

    /// Names of the targets: those of their columns, or numbers.
    pub(super) fn target_names(&self) -> Vec<String> {
        let Targets::Values { outputs, .. } = &self.targets else { return Vec::new() };
        target_names(&self.model, *outputs)
    }

    /// Scores, intervals and settings.
    pub fn to_json(&self) -> Value {
        let method = |method: &MethodResult| {
            let scores: serde_json::Map<String, Value> = kinds(self.kind())
                .iter()
                .zip(&method.scores)
                .map(|(kind, interval)| (kind.name.to_string(), json!(interval)))
                .collect();
            let names = self.target_names();
            let per_target: serde_json::Map<String, Value> = names
                .into_iter()
                .zip(&method.per_target)
                .map(|(name, scores)| (name, json!(scores.iter().copied().collect::<BTreeMap<_, _>>())))
                .collect();
            json!({
                "method": method.name,
                "made_from": { "method": method.method, "theta": method.theta },
                "draws": method.draws,
                "temperature": method.temperature,
                "trained_share": method.trained_share,
                "scores": scores,
                "per_target": per_target,
                "gain_over_map": method.gain,
                "ood": method.ood,
                "selective": method.selective,
                "draws_summary": method.summary,
            })
        };
        json!({
            "schema": "riemla-evaluation",
            "schema_version": 1,
            "version": env!("CARGO_PKG_VERSION"),
            "posterior": self.posterior,
            "data": self.data,
            "made_from": self.made_from,
            "rows": self.targets.len(),
            "prior_precision": self.prior_precision,
            "likelihood": self.likelihood,
            "bootstrap": self.bootstrap,
            "temperature": self.temperature,
            "methods": self.methods.iter().map(method).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    /// The scores as a table for a terminal.
    pub fn table(&self) -> String {
        let mut head = vec!["method".to_string()];
        head.extend(kinds(self.kind()).iter().map(|kind| kind.name.to_string()));
        let others = self.methods.first().map_or(&[][..], |method| &method.ood);
        head.extend(others.iter().map(|other| format!("auroc {}", short(&other.name))));
        let mut rows = vec![head];
        for method in &self.methods {
            let ood = method.ood.iter().map(|other| &other.auroc);
            let cells = method.scores.iter().chain(ood).map(in_words);
            rows.push(std::iter::once(method.name.clone()).chain(cells).collect());
        }
        let percent = 100.0 * self.bootstrap.level;
        format!(
            "{}\n{} rows; ± is half the {percent:.0} % bootstrap interval.\n",
            aligned(&rows),
            self.targets.len()
        )
    }
}

fn in_words(interval: &Interval) -> String {
    format!("{:.4} ±{:.4}", interval.estimate, 0.5 * (interval.high - interval.low))
}

/// The last part of a path.
pub(super) fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_that_lose_to_the_trained_weights_are_named_and_others_are_not() {
        let note = |low: f64| {
            let (estimate, high) = (0.12, 0.15);
            let gain = Interval { estimate, low, high, standard_error: 0.01, level: 0.95, undefined: 0 };
            loss_to_map("riem-la", "nll", gain)
        };
        let worse = note(0.1).expect("a note");
        assert!(
            worse.starts_with("riem-la predicts worse") && worse.contains("nll higher by 0.120"),
            "{worse}"
        );
        assert_eq!(note(-0.01), None);
    }
}
