//! What the samplers without a Gaussian have in common: the loss, and a look at their draws.

use riemla::curvature::Laplace;
use riemla::objective::{NetworkLoss, Objective as _};
use riemla::posterior::{Draw, virial_ratio};
use riemla_files::{SavedPosterior, TrainingData};

use crate::workflow::diagnostics::Summary;
use crate::workflow::error::Result;
use crate::workflow::sample::{SampleConfig, loss_of};

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
    pub(super) fn new((saved, data): (SavedPosterior, TrainingData), config: &SampleConfig) -> Result<Self> {
        let TrainingData { train, .. } = data;
        let loss = loss_of(&saved, &train)?;
        Ok(Self { loss, laplace: saved.laplace, seed: config.seed })
    }

    /// Number of weights.
    pub(super) fn weights(&self) -> usize {
        self.loss.dim()
    }

    /// Loss and gradient norm of each draw.
    pub(super) fn looks(&self, draws: &[Draw]) -> Vec<Look> {
        let mut gradient = vec![0.0; self.loss.dim()];
        let look = |draw: &Draw| {
            let loss = self.loss.value_and_gradient(&draw.theta, &mut gradient);
            let gradient_norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            Look { loss, gradient_norm }
        };
        draws.iter().map(look).collect()
    }

    /// What can be said about any set; `free` weights of the network were drawn, the others held.
    pub(super) fn summary(&self, draws: &[Draw], looks: &[Look], free: usize) -> Summary {
        let thetas: Vec<&[f64]> = draws.iter().map(|draw| draw.theta.as_slice()).collect();
        let share = self.loss.dim() as f64 / free as f64;
        let ratio = share * virial_ratio(&self.loss, self.laplace.gaussian.theta(), &thetas);
        let base = self.loss.value(self.laplace.gaussian.theta());
        let rise = looks.iter().map(|look| look.loss - base).sum::<f64>() / looks.len() as f64;
        Summary {
            virial_ratio: (draws.len() > 1).then_some(ratio),
            loss_rise: Some(rise),
            ..Summary::default()
        }
    }
}
