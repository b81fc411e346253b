//! A network's loss as an objective that mini-batches estimate.

use super::Stochastic;
use crate::objective::{NetworkLoss, Objective as _};

impl Stochastic for NetworkLoss {
    fn len(&self) -> usize {
        self.data().len()
    }

    fn weights(&self) -> usize {
        self.network().dim()
    }

    fn batch_value_and_gradient(&self, indices: &[usize], theta: &[f64], gradient: &mut [f64]) -> f64 {
        // Only bad indices can fail, and those give no value.
        self.on_rows(indices).map_or(f64::NAN, |loss| loss.value_and_gradient(theta, gradient))
    }
}
