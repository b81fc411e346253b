//! What the samplers without a Gaussian have in common: the loss, and a look at their draws.

use riemla::curvature::Laplace;
use riemla::objective::{NetworkLoss, Objective};
use riemla::posterior::{Draw, virial_ratio};
use riemla_files::{SavedPosterior, TrainingData};

use crate::workflow::diagnostics::Summary;
use crate::workflow::error::Result;
use crate::workflow::sample_config::SampleConfig;
use crate::workflow::saved::loss_of;

/// A loss with its data and trained weights.
pub(super) struct Problem {
    pub(super) loss: NetworkLoss,
    pub(super) laplace: Laplace,
    pub(super) seed: u64,
}

/// A draw from outside.
pub(super) struct Look {
    pub(super) loss: f64,
    pub(super) gradient_norm: f64,
}

impl Problem {
    /// The loss under prior and noise of the fit.
    pub(super) fn new(saved: SavedPosterior, data: TrainingData, config: &SampleConfig) -> Result<Self> {
        let TrainingData { train, .. } = data;
        let loss = loss_of(&saved, &train)?;
        Ok(Self { loss, laplace: saved.laplace, seed: config.seed })
    }

    /// Number of weights.
    pub(super) fn weights(&self) -> usize {
        self.loss.dim()
    }

    /// Loss and gradient norm of each draw.
    pub(super) fn looks(&self, draws: &[Draw]) -> Result<Vec<Look>> {
        looks(&self.loss, draws)
    }

    /// What can be said about any set of draws of all weights.
    pub(super) fn summary(&self, draws: &[Draw], looks: &[Look]) -> Summary {
        summary(&self.loss, self.laplace.gaussian.theta(), draws, looks, self.weights())
    }
}

/// Loss and gradient norm of each draw.
pub(super) fn looks(objective: &dyn Objective, draws: &[Draw]) -> Result<Vec<Look>> {
    let mut gradient = vec![0.0; objective.dim()];
    let look = |draw: &Draw| {
        let loss = objective.value_and_gradient(&draw.theta, &mut gradient);
        let gradient_norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        Look { loss, gradient_norm }
    };
    let looks = draws.iter().map(look).collect();
    objective.failure().map_or(Ok(looks), |failure| Err(riemla::Error::Objective(failure).into()))
}

/// What can be said about any set; `free` weights were drawn, the others held at those of `center`.
pub(super) fn summary(
    objective: &dyn Objective,
    center: &[f64],
    draws: &[Draw],
    looks: &[Look],
    free: usize,
) -> Summary {
    let thetas: Vec<&[f64]> = draws.iter().map(|draw| draw.theta.as_slice()).collect();
    let share = center.len() as f64 / free as f64;
    let ratio = share * virial_ratio(objective, center, &thetas);
    let base = objective.value(center);
    let rise = looks.iter().map(|look| look.loss - base).sum::<f64>() / looks.len() as f64;
    Summary { virial_ratio: (draws.len() > 1).then_some(ratio), loss_rise: Some(rise), ..Summary::default() }
}
