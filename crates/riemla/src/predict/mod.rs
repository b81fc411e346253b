//! Predictions: from draws of the weights to probabilities and uncertainties of outputs.

mod classification;
mod glm;
mod held_out;
mod outputs;
mod regression;
mod spread;
mod temperature;
mod uncertainty;

pub use classification::ClassPrediction;
pub use glm::{GlmOutputs, glm_outputs};
pub use held_out::held_out_nll;
pub use outputs::{linearized_outputs, outputs};
pub use regression::RegressionPrediction;
pub use spread::{OutputSpread, output_spread};
pub use temperature::{TEMPERATURE_BOUNDS, Temperature, TemperatureStatus, fit_noise_scale, fit_temperature};
pub use uncertainty::Uncertainty;

use crate::curvature::Laplace;
use crate::nn::Network;
use crate::objective::Likelihood;
use crate::{Error, Result};

/// How the network turns drawn weights into outputs.
#[derive(Debug, Clone, Copy)]
pub enum Forward<'a> {
    /// The network itself.
    Exact,
    /// f(x; θ*) + J(x)(θ − θ*), linearised at the given θ*.
    Linearized(&'a [f64]),
}

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

/// Outputs of every draw: per draw a row-major rows × outputs array.
fn outputs_of(
    network: &Network,
    thetas: &[&[f64]],
    forward: Forward<'_>,
    inputs: &[f64],
) -> Result<Vec<Vec<f64>>> {
    match forward {
        Forward::Exact => outputs(network, thetas, inputs),
        Forward::Linearized(center) => linearized_outputs(network, center, thetas, inputs),
    }
}

/// Monte Carlo prediction: the average over drawn weights. `inputs` is row-major.
pub fn monte_carlo(
    network: &Network,
    likelihood: Likelihood,
    thetas: &[&[f64]],
    forward: Forward<'_>,
    inputs: &[f64],
) -> Result<Prediction> {
    if thetas.is_empty() {
        return Err(Error::range("number of draws", 0, "at least 1"));
    }
    likelihood.check_outputs(network.outputs())?;
    let per_draw = outputs_of(network, thetas, forward, inputs)?;
    let c = network.outputs();
    Ok(match likelihood {
        Likelihood::Gaussian { sigma_noise } => {
            Prediction::Values(RegressionPrediction::from_draws(&per_draw, c, sigma_noise))
        }
        _ => Prediction::Classes(ClassPrediction::from_draws(&per_draw, likelihood, c)),
    })
}

/// Closed-form prediction of `lin-la`: Gaussian outputs, and for classes the probit approximation
/// p = softmax(f / √(1 + π/8·var f)).
pub fn glm(network: &Network, laplace: &Laplace, inputs: &[f64]) -> Result<Prediction> {
    let GlmOutputs { mean, variance } = glm_outputs(network, laplace, inputs)?;
    let c = network.outputs();
    Ok(match laplace.likelihood {
        Likelihood::Gaussian { sigma_noise } => Prediction::Values(RegressionPrediction {
            outputs: c,
            aleatoric_variance: vec![sigma_noise * sigma_noise; mean.len()],
            mean,
            epistemic_variance: variance,
        }),
        likelihood => Prediction::Classes(ClassPrediction::probit(&mean, &variance, likelihood, c)),
    })
}
