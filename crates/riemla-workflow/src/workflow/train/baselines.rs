//! What a constant and a linear model reach on the same rows, and what that says about the network.

use riemla::nn::{Activation, NetworkSpec};
use riemla_files::Encoding;
use serde::Serialize;

use super::PartScores;
use super::candidates::mlp;
use super::search::{Fitted, Run};
use crate::scores::{Scorer, constant, decoded_targets};
use crate::workflow::error::Result;
use crate::workflow::predictor::decoded;

/// Nats per row between the two parts, beyond those of the constant, that count as far apart.
const FAR_APART: f64 = 0.3;

/// A simple model for comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// `constant` or `linear`.
    pub name: &'static str,
    /// Its scores.
    pub scores: Vec<PartScores>,
}

impl Run<'_> {
    /// A constant, and a linear model unless the network is one itself or training was ended.
    pub(super) fn baselines(&mut self, chosen: &Fitted, linear: Option<Fitted>) -> Result<Vec<Baseline>> {
        let mut all = vec![Baseline { name: "constant", scores: self.constant_scores()? }];
        let spec = self.linear_spec(&chosen.spec);
        let linear = match linear {
            _ if chosen.spec == spec => None,
            None if !self.stopped() => Some(self.fit("a linear model, to compare", &spec)?),
            linear => linear,
        };
        if let Some(linear) = linear {
            all.push(Baseline { name: "linear", scores: self.part_scores(&linear)? });
        }
        Ok(all)
    }

    /// A linear model of the same inputs.
    fn linear_spec(&self, network: &NetworkSpec) -> NetworkSpec {
        let linear = mlp(self.prepared.data.train.features(), &[], self.outputs, Activation::Tanh);
        if network.layers == linear.layers { network.clone() } else { linear }
    }

    /// The frequencies of the classes, or mean and deviation of the numbers, as predictions for all rows.
    fn constant_scores(&self) -> Result<Vec<PartScores>> {
        let scales = self.prepared.encoding.as_ref().map_or(Vec::new(), Encoding::target_scales);
        let mut all = Vec::new();
        for (part, data) in self.parts() {
            let same = constant(&self.prepared.data.train, self.likelihood, self.outputs, data.len());
            let prediction = decoded(same, &scales);
            let targets = decoded_targets(data.targets(), &scales);
            let scores = Scorer::default().all(&prediction, &targets)?;
            all.push(PartScores { part, rows: data.len(), scores });
        }
        Ok(all)
    }
}

/// What the scores of the network say next to those of the simple models.
pub(super) fn warnings(scores: &[PartScores], baselines: &[Baseline]) -> Vec<String> {
    let [train, validation] = scores else { return Vec::new() };
    // The log loss is the second score of every kind.
    let log_loss = |part: &PartScores| part.scores.get(1).copied();
    let (Some((name, fitted)), Some((_, held_out))) = (log_loss(train), log_loss(validation)) else {
        return Vec::new();
    };
    let rows = validation.rows;
    let mut warnings = Vec::new();
    for baseline in baselines {
        let Some((_, simple)) = baseline.scores.last().and_then(log_loss) else { continue };
        if held_out >= simple {
            let model = baseline.name;
            let remedy = match model {
                "linear" => "--hidden none trains that one",
                _ => "the inputs may say nothing about the target",
            };
            warnings.push(format!(
                "the network is no better than a {model} model on the {rows} held-out rows ({name} {held_out:.3} \
                 versus {simple:.3}): {remedy}"
            ));
        }
    }
    // Rows that are harder by chance are so for the constant, too.
    let chance = match baselines.first().map(|constant| constant.scores.as_slice()) {
        Some([train, validation]) => match (log_loss(train), log_loss(validation)) {
            (Some((_, train)), Some((_, validation))) => (validation - train).max(0.0),
            _ => 0.0,
        },
        _ => 0.0,
    };
    if held_out - fitted - chance > FAR_APART {
        warnings.push(format!(
            "the network does much worse on held-out rows than on those it was trained on ({name} {held_out:.3} \
             versus {fitted:.3}): it is surer of itself than it should be; draws (riemla fit, riemla sample) help, \
             as do more rows or a smaller --hidden"
        ));
    }
    warnings
}
