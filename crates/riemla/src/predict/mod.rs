//! Predictions: from draws of the weights to probabilities and uncertainties of outputs.

mod classification;
mod predictor;
mod regression;
mod spread;
mod temperature;
mod uncertainty;

pub use classification::ClassPrediction;
pub use predictor::Predictor;
pub use regression::RegressionPrediction;
pub use spread::OutputSpread;
pub use temperature::{TEMPERATURE_BOUNDS, Temperature, TemperatureStatus, fit_noise_scale, fit_temperature};
pub use uncertainty::Uncertainty;

/// A prediction for every input row.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// Class probabilities.
    Classes(ClassPrediction),
    /// Means and variances.
    Values(RegressionPrediction),
}

impl Prediction {
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
