//! Probabilities of several yes/no labels, and where their uncertainty comes from.

use super::classification::{entropy, probabilities_of, shrunk};
use crate::objective::Likelihood;

/// Predicted labels of some inputs. All entropies are in nats, one per row and label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelPrediction {
    /// Number of labels.
    pub labels: usize,
    /// Probabilities that labels are 1, row-major rows × labels.
    pub probabilities: Vec<f64>,
    /// Entropy of the mean probability: all uncertainty.
    pub entropy: Vec<f64>,
    /// Mean entropy over draws: what more data about the weights would not remove. None in closed form.
    pub aleatoric: Option<Vec<f64>>,
    /// Mutual information of label and weights: the rest. None in closed form.
    pub epistemic: Option<Vec<f64>>,
}

/// The two probabilities of one logit.
fn both(logit: f64) -> [f64; 2] {
    let mut both = [0.0; 2];
    probabilities_of(&[logit], Likelihood::Bernoulli, &mut both);
    both
}

fn entropies(probabilities: &[f64]) -> Vec<f64> {
    probabilities.iter().map(|p| entropy(&[*p, 1.0 - p])).collect()
}

impl LabelPrediction {
    /// Averages over draws; each is a row-major rows × labels array of logits.
    pub(super) fn from_draws(draws: &[Vec<f64>], labels: usize) -> Self {
        let weight = 1.0 / draws.len() as f64;
        let mut probabilities = vec![0.0; draws[0].len()];
        let mut aleatoric = vec![0.0; draws[0].len()];
        for draw in draws {
            for (k, logit) in draw.iter().enumerate() {
                let both = both(*logit);
                probabilities[k] += weight * both[1];
                aleatoric[k] += weight * entropy(&both);
            }
        }
        let total = entropies(&probabilities);
        // Mutual information is not negative; rounding can make the difference so.
        let epistemic = total.iter().zip(&aleatoric).map(|(t, a)| (t - a).max(0.0)).collect();
        Self { labels, probabilities, entropy: total, aleatoric: Some(aleatoric), epistemic: Some(epistemic) }
    }

    /// The probit approximation from means and variances of the logits (rows × labels).
    pub(super) fn probit(mean: &[f64], variance: &[f64], labels: usize) -> Self {
        let probabilities: Vec<f64> = shrunk(mean, variance).map(|logit| both(logit)[1]).collect();
        let entropy = entropies(&probabilities);
        Self { labels, probabilities, entropy, aleatoric: None, epistemic: None }
    }
}
