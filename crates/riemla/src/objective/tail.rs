//! The loss of a network's last layers, on what the layers before them make of the data.

use std::sync::Arc;

use rayon::prelude::*;

use super::NetworkLoss;
use super::blocks::Block;
use crate::Result;
use crate::data::Dataset;
use crate::nn::{Network, Trace, unpack};

impl NetworkLoss {
    /// The loss as a function of the weights from some layer on, where all before that of weight `first` stay at those
    /// of `fixed`: how many these are, and the loss of the others, with the same values. It runs the last layers alone,
    /// on the outputs of those before, which are kept.
    ///
    /// None where nothing is to be gained: no layer before has weights. None, too, for a loss on some rows: take rows of
    /// the tail instead.
    pub fn tail(&self, fixed: &[f64], first: usize) -> Result<Option<(usize, Self)>> {
        crate::error::check_len("weights", self.network().dim(), fixed.len())?;
        if !self.has_all_rows() {
            return Ok(None);
        }
        let Some((head, tail)) = self.network().split(first)? else { return Ok(None) };
        let (fixed, data) = (&fixed[..head.dim()], self.data());
        let features = features(&head, fixed, self.blocks());
        // The loss is then not finite either, wherever it is evaluated.
        if features.iter().any(|feature| !feature.is_finite()) {
            return Ok(None);
        }
        let mut inputs = Dataset::new(features, tail.inputs(), data.targets().clone())?;
        if let Some(weights) = data.weights() {
            inputs = inputs.with_weights(weights.to_vec())?;
        }
        let loss = Self::new(Arc::new(tail), inputs, self.likelihood(), self.prior().after(fixed))?;
        Ok(Some((head.dim(), loss)))
    }
}

/// The outputs of a network for all samples, row-major.
fn features(network: &Network, theta: &[f64], blocks: &[Block]) -> Vec<f64> {
    let of_block = |block: &Block| {
        let mut values = Trace::of_output(network, block.n);
        network.forward(theta, &block.x, &mut values);
        let mut rows = Vec::with_capacity(values.output().len());
        unpack(values.output(), block.n, network.outputs(), &mut rows);
        rows
    };
    blocks.par_iter().map(of_block).collect::<Vec<_>>().concat()
}
