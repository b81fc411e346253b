//! Predictions: from draws of the weights to probabilities and uncertainties of outputs.

mod classification;
mod conformal;
mod mixture;
mod predictor;
mod regression;
mod spread;
mod temperature;
mod uncertainty;

pub use classification::ClassPrediction;
pub use conformal::Conformal;
pub use predictor::Predictor;
pub use regression::RegressionPrediction;
pub use spread::OutputSpread;
pub use temperature::{TEMPERATURE_BOUNDS, Temperature, TemperatureStatus, fit_noise_scale, fit_temperature};
pub use uncertainty::Uncertainty;

use crate::error::check_len;
use crate::objective::Likelihood;
use crate::{Error, Result};

/// A prediction for every input row.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// Class probabilities.
    Classes(ClassPrediction),
    /// Means and variances.
    Values(RegressionPrediction),
}

impl Prediction {
    /// The average over draws of the outputs: per draw a row-major rows × `width` array.
    pub fn from_outputs(per_draw: &[Vec<f64>], width: usize, likelihood: Likelihood) -> Result<Self> {
        let Some(first) = per_draw.first() else {
            return Err(Error::range("number of draws", 0, "at least 1"));
        };
        likelihood.check_outputs(width)?;
        per_draw.iter().try_for_each(|draw| check_len("outputs of a draw", first.len(), draw.len()))?;
        Ok(match likelihood {
            Likelihood::Gaussian { sigma_noise } => {
                Self::Values(RegressionPrediction::from_draws(per_draw, width, sigma_noise))
            }
            _ => Self::Classes(ClassPrediction::from_draws(per_draw, likelihood, width)),
        })
    }

    /// Class probabilities, if this is a classification.
    pub fn classes(&self) -> Option<&ClassPrediction> {
        match self {
            Prediction::Classes(prediction) => Some(prediction),
            Prediction::Values(_) => None,
        }
    }

    /// Means and variances, if this is a regression.
    pub fn values(&self) -> Option<&RegressionPrediction> {
        match self {
            Prediction::Classes(_) => None,
            Prediction::Values(prediction) => Some(prediction),
        }
    }
}
