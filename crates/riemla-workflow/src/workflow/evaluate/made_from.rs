//! What the scores of an evaluation were made from: two evaluations with equal entries have equal scores.

use riemla::data::Dataset;
use riemla::score::Bootstrap;
use riemla_files::{Digest, Origin};
use serde::Serialize;

use super::EvaluateConfig;
use crate::workflow::guarantees::Wanted;
use crate::workflow::members::Posteriors;

/// All that every score of an evaluation depends on; draws are named by each method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MadeFrom {
    /// The posterior, or each of its members: weights, Laplace approximation, prior, training data.
    pub posterior: Vec<Origin>,
    /// How much each member counts.
    pub weights: Vec<f64>,
    /// How tables become inputs, and outputs become units of the data.
    pub encoding: Digest,
    /// The rows that were scored, after encoding.
    pub test: Digest,
    /// Inputs that the model should find strange.
    pub out_of_distribution: Vec<Digest>,
    /// The rows that temperatures and promises are fitted to.
    pub held_out: Option<Digest>,
    /// Resamples and level of the intervals.
    pub bootstrap: Bootstrap,
    /// Promises asked for.
    pub wanted: Wanted,
}

impl MadeFrom {
    pub(super) fn new(
        posteriors: &Posteriors,
        test: &Dataset,
        others: &[(String, Vec<f64>)],
        held_out: Option<&Dataset>,
        config: &EvaluateConfig,
    ) -> Self {
        Self {
            posterior: posteriors.members.iter().map(|(_, saved)| saved.origin()).collect(),
            weights: posteriors.weights.clone(),
            encoding: Digest::of_json(&posteriors.model().encoding),
            test: Digest::of_data(test),
            out_of_distribution: others
                .iter()
                .map(|(_, inputs)| Digest::of_numbers([inputs.as_slice()]))
                .collect(),
            held_out: held_out.map(Digest::of_data),
            bootstrap: config.bootstrap,
            wanted: config.wanted,
        }
    }
}
