//! Predictions: from draws of the weights to probabilities and uncertainties of outputs.

mod classification;
mod conformal;
mod labels;
mod mixture;
mod predictor;
mod regression;
mod share;
mod spread;
mod temperature;
mod uncertainty;

pub use classification::ClassPrediction;
pub use conformal::Conformal;
pub use labels::LabelPrediction;
pub use predictor::Predictor;
pub use regression::RegressionPrediction;
pub use share::{Unseen, log_loss_at, trained_share};
pub use spread::OutputSpread;
pub use temperature::{TEMPERATURE_BOUNDS, Temperature, TemperatureStatus, fit_noise_scale, fit_temperature};
pub use uncertainty::Uncertainty;

use crate::data::Targets;
use crate::error::check_len;
use crate::objective::{Likelihood, TargetKind};
use crate::{Error, Result, score};

/// A prediction for every input row.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// Class probabilities.
    Classes(ClassPrediction),
    /// Means and variances.
    Values(RegressionPrediction),
    /// Counts: the means are rates, their variances over the weights epistemic, those of counts given their rates
    /// (equal to the rates) aleatoric.
    Counts(RegressionPrediction),
    /// Probabilities of yes/no labels.
    Labels(LabelPrediction),
}

impl Prediction {
    /// The average over draws of the outputs: per draw a row-major rows × `width` array.
    pub fn from_outputs(per_draw: &[Vec<f64>], width: usize, likelihood: Likelihood) -> Result<Self> {
        let Some(first) = per_draw.first() else {
            return Err(Error::range("number of draws", 0, "at least 1"));
        };
        likelihood.check_outputs(width)?;
        if width == 0 || !first.len().is_multiple_of(width) {
            return Err(Error::shape("outputs of a draw", format!("a multiple of {width}"), first.len()));
        }
        per_draw.iter().try_for_each(|draw| check_len("outputs of a draw", first.len(), draw.len()))?;
        Ok(match likelihood.kind() {
            TargetKind::Classes => Self::Classes(ClassPrediction::from_draws(per_draw, likelihood, width)),
            TargetKind::Values => Self::Values(RegressionPrediction::from_draws(per_draw, width, likelihood)),
            TargetKind::Counts => Self::Counts(RegressionPrediction::from_draws(per_draw, width, likelihood)),
            TargetKind::Labels => Self::Labels(LabelPrediction::from_draws(per_draw, width)),
        })
    }

    /// Class probabilities, if this is a classification.
    pub fn classes(&self) -> Option<&ClassPrediction> {
        match self {
            Prediction::Classes(prediction) => Some(prediction),
            _ => None,
        }
    }

    /// Means and variances, of real numbers or counts.
    pub fn values(&self) -> Option<&RegressionPrediction> {
        match self {
            Prediction::Values(prediction) | Prediction::Counts(prediction) => Some(prediction),
            _ => None,
        }
    }

    /// Probabilities of labels, if there are several yes/no labels.
    pub fn labels(&self) -> Option<&LabelPrediction> {
        match self {
            Prediction::Labels(prediction) => Some(prediction),
            _ => None,
        }
    }

    /// Mean −log p(y | x) of the targets; of several labels, the mean over them.
    pub fn nll(&self, targets: &Targets) -> Result<f64> {
        match (self, targets) {
            (Self::Classes(p), Targets::Classes(labels)) => score::nll(&p.probabilities, p.classes, labels),
            (Self::Values(p), Targets::Values { values, .. }) => score::nlpd(&p.mean, &p.variance(), values),
            (Self::Counts(p), Targets::Values { values, .. }) => {
                score::count_nll(&p.mean, &p.epistemic_variance, values)
            }
            (Self::Labels(p), Targets::Values { values, .. }) => score::label_nll(&p.probabilities, values),
            _ => Err(Error::Unsupported(
                "the targets do not match the likelihood (class labels or numbers)".into(),
            )),
        }
    }
}
