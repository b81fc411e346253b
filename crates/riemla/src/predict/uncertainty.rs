//! Where the uncertainty of a prediction comes from: noise in the data, or unknown weights.

use super::Prediction;

/// Uncertainty and its two parts, which add up to it.
///
/// Classes: entropies in nats, one per row; the part of the weights is the mutual information of
/// label and weights. Labels: the same, one per entry (rows × labels). Values and counts: variances in squared units of the target, one per entry (rows ×
/// outputs); the part of the weights is the variance of the mean over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertainty {
    /// All of it.
    pub total: Vec<f64>,
    /// What no amount of training data removes; none where it is not known (classes in closed form).
    pub aleatoric: Option<Vec<f64>>,
    /// What more training data would remove: the rest.
    pub epistemic: Option<Vec<f64>>,
}

impl Prediction {
    /// The uncertainty of every row (classes) or entry (values), and where it comes from.
    pub fn uncertainty(&self) -> Uncertainty {
        match self {
            Prediction::Classes(p) => Uncertainty {
                total: p.entropy.clone(),
                aleatoric: p.aleatoric.clone(),
                epistemic: p.epistemic.clone(),
            },
            Prediction::Labels(p) => Uncertainty {
                total: p.entropy.clone(),
                aleatoric: p.aleatoric.clone(),
                epistemic: p.epistemic.clone(),
            },
            Prediction::Values(p) | Prediction::Counts(p) => Uncertainty {
                total: p.variance(),
                aleatoric: Some(p.aleatoric_variance.clone()),
                epistemic: Some(p.epistemic_variance.clone()),
            },
        }
    }
}
