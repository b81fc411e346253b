//! A network's loss as an objective that mini-batches estimate.

use std::sync::Arc;

use super::Stochastic;
use crate::Result;
use crate::data::Dataset;
use crate::nn::Network;
use crate::objective::{Likelihood, NetworkLoss, Objective as _, Prior};

/// The loss of a network on data, for [`super::minibatch`].
pub struct StochasticLoss {
    network: Arc<Network>,
    data: Arc<Dataset>,
    likelihood: Likelihood,
    prior: Prior,
}

impl StochasticLoss {
    /// Checks that network, data, likelihood and prior fit together.
    pub fn new(
        network: Arc<Network>,
        data: Arc<Dataset>,
        likelihood: Likelihood,
        prior: Prior,
    ) -> Result<Self> {
        NetworkLoss::on_batch(network.clone(), &data, &[0], likelihood, prior.clone())?;
        Ok(Self { network, data, likelihood, prior })
    }
}

impl Stochastic for StochasticLoss {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn dim(&self) -> usize {
        self.network.dim()
    }

    fn batch_value_and_gradient(&self, indices: &[usize], theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (network, prior) = (self.network.clone(), self.prior.clone());
        // The pieces were checked to fit; only bad indices can fail, and those give no value.
        match NetworkLoss::on_batch(network, &self.data, indices, self.likelihood, prior) {
            Ok(loss) => loss.value_and_gradient(theta, gradient),
            Err(_) => f64::NAN,
        }
    }
}
