//! The negative log-likelihood of held-out data as a score of draws.

use std::sync::Arc;

use super::{Forward, Prediction, monte_carlo};
use crate::data::{Dataset, Targets};
use crate::nn::Network;
use crate::objective::Likelihood;
use crate::posterior::{Posterior, Validation};
use crate::{Error, Result, score};

/// Mean −log p(y | x) of `data` under the average over draws, for
/// [`Posterior::with_validation`]. `center` is θ* where predictions are linearised.
pub fn held_out_nll(
    network: Arc<Network>,
    likelihood: Likelihood,
    center: Option<Vec<f64>>,
    data: Dataset,
) -> Result<Validation> {
    likelihood.check(network.outputs(), data.targets())?;
    if data.features() != network.inputs() {
        return Err(Error::shape("held-out features per sample", network.inputs(), data.features()));
    }
    Ok(Box::new(move |thetas| {
        let forward = center.as_deref().map_or(Forward::Exact, Forward::Linearized);
        let prediction = monte_carlo(&network, likelihood, thetas, forward, data.inputs());
        let nll = prediction.and_then(|prediction| match (&prediction, data.targets()) {
            (Prediction::Classes(p), Targets::Classes(labels)) => {
                score::nll(&p.probabilities, p.classes, labels)
            }
            (Prediction::Values(p), Targets::Values { values, .. }) => {
                score::nlpd(&p.mean, &p.variance(), values)
            }
            _ => Err(Error::Unsupported("targets of another kind than the likelihood".into())),
        });
        nll.unwrap_or(f64::INFINITY)
    }))
}

impl Posterior {
    /// Takes `data` as the held-out data that [`crate::posterior::Strength::HeldOut`] is tuned on.
    pub fn with_held_out(self, data: Dataset) -> Result<Self> {
        let (loss, laplace) = (self.loss(), self.laplace());
        let center = self.config().method.is_linearized().then(|| laplace.theta.clone());
        let score = held_out_nll(loss.network().clone(), loss.likelihood(), center, data)?;
        Ok(self.with_validation(score))
    }
}
