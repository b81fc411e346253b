//! The loss of a network on data as a model that can do everything.

use std::sync::Arc;

use super::curvature::row_curvatures;
use super::moments::linearized_moments;
use super::outputs::{linearized_outputs, outputs};
use super::{Model, OutputMoments, Outputs, Tail};
use crate::Result;
use crate::curvature::{Gaussian, SubsetRanges};
use crate::geometry::{FisherMetric, Metric};
use crate::nn::{Arithmetic, Network};
use crate::objective::{Likelihood, LinearizedLoss, NetworkLoss, Objective, Prior};

impl Model for NetworkLoss {
    fn linearized(&self, center: &[f64]) -> Result<Box<dyn Objective>> {
        let loss = self.with(self.likelihood(), self.prior().clone())?;
        Ok(Box::new(LinearizedLoss::new(loss, center)?))
    }

    fn prior(&self) -> Option<&Prior> {
        Some(Self::prior(self))
    }

    fn rows(&self) -> Option<usize> {
        Some(self.data().len())
    }

    fn labels(&self) -> Option<&[usize]> {
        self.data().labels()
    }

    fn on_rows(&self, rows: &[usize], weights: &[f64]) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.on_weighted_rows(rows, weights)?))
    }

    fn row_curvatures(&self, center: &[f64], directions: &[Vec<f64>]) -> Result<Vec<f64>> {
        row_curvatures(self, center, directions)
    }

    fn fisher_metric<'a>(&'a self, gaussian: &'a Gaussian, linearized: bool) -> Result<Box<dyn Metric + 'a>> {
        let metric = FisherMetric::new(self, gaussian.theta(), gaussian.subset())?;
        let metric = metric.sharing(gaussian.precision())?;
        Ok(Box::new(if linearized { metric.linearized() } else { metric }))
    }

    fn is_convex_in(&self, subset: &SubsetRanges) -> bool {
        let last = self.network().output_layer();
        let known = matches!(
            self.likelihood(),
            Likelihood::Categorical | Likelihood::Bernoulli | Likelihood::Gaussian { .. }
        );
        known && subset.as_slice().iter().all(|range| last.start <= range.start && range.end <= last.end)
    }

    fn outputs(&self) -> Option<Arc<dyn Outputs>> {
        let network = match self.network().arithmetic() {
            Arithmetic::Double => self.network().clone(),
            Arithmetic::Single => Arc::new(Network::new(self.network().spec()).ok()?),
        };
        Some(Arc::new(NetworkOutputs { network, likelihood: self.likelihood() }))
    }

    fn multiplying_in_single(&self) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.multiplying_in(Arithmetic::Single)?))
    }

    fn tail(&self, fixed: &[f64], subset: &SubsetRanges) -> Result<Option<Tail>> {
        let Some(first) = subset.as_slice().first() else { return Ok(None) };
        let tail = Self::tail(self, fixed, first.start)?;
        Ok(tail.map(|(first, loss)| Tail { first, model: Box::new(loss) }))
    }

    fn smoothness_warning(&self) -> Option<String> {
        self.network().smoothness_warning()
    }
}

/// A network and its likelihood: enough to predict where no training data are at hand.
#[derive(Debug, Clone)]
pub struct NetworkOutputs {
    network: Arc<Network>,
    likelihood: Likelihood,
}

impl NetworkOutputs {
    /// Checks that the likelihood fits the number of outputs.
    pub fn new(network: Arc<Network>, likelihood: Likelihood) -> Result<Self> {
        likelihood.check_outputs(network.outputs())?;
        Ok(Self { network, likelihood })
    }
}

impl Outputs for NetworkOutputs {
    fn input_len(&self) -> usize {
        self.network.inputs()
    }

    fn output_len(&self) -> usize {
        self.network.outputs()
    }

    fn likelihood(&self) -> Likelihood {
        self.likelihood
    }

    fn evaluate(&self, thetas: &[&[f64]], inputs: &[f64]) -> Result<Vec<Vec<f64>>> {
        outputs(&self.network, thetas, inputs)
    }

    fn evaluate_linearized(
        &self,
        center: &[f64],
        thetas: &[&[f64]],
        inputs: &[f64],
    ) -> Result<Vec<Vec<f64>>> {
        linearized_outputs(&self.network, center, thetas, inputs)
    }

    fn linearized_moments(&self, gaussian: &Gaussian, inputs: &[f64]) -> Result<OutputMoments> {
        linearized_moments(&self.network, gaussian, inputs)
    }
}
