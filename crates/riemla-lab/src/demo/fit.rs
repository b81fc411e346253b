//! Training to a minimum, and the Laplace approximation there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Refit};
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::train::{Adam, Lbfgs, Schedule, TrainReport, adam, lbfgs};

use super::data::DemoData;
use super::result::{LaplaceSummary, TrainingSummary};
use super::{DemoConfig, DemoError};
use crate::watch::{Watch, steps};

/// Prior precision to begin with; the marginal likelihood then chooses.
const FIRST_PRIOR: f64 = 1.0;
const EPOCHS: usize = 500;
const LEARNING_RATE: f64 = 0.01;
/// A long memory saves evaluations: the curvatures of a network differ by many powers of ten.
const MEMORY: usize = 100;

/// A trained network with its Laplace approximation.
pub(super) struct Model {
    pub network: Arc<Network>,
    pub laplace: Arc<Laplace>,
    /// The loss under the prior in force.
    pub loss: NetworkLoss,
    pub training: TrainingSummary,
    pub summary: LaplaceSummary,
}

impl Model {
    /// Adam to come near a minimum, L-BFGS to reach it, then weights and prior precision in turn
    /// until both settle, and once more the weights: the gradient is zero where geodesics begin.
    pub fn fit(
        config: &DemoConfig,
        data: &DemoData,
        stop: &AtomicBool,
        watch: &dyn Watch,
    ) -> Result<Self, DemoError> {
        let network = Arc::new(Network::new(&NetworkSpec::mlp(&config.layers, Activation::Tanh))?);
        let prior = Prior::isotropic(FIRST_PRIOR, network.dim())?;
        let first = NetworkLoss::new(network.clone(), data.train.clone(), Likelihood::Categorical, prior)?;
        let mut theta = network.initialize(config.seed);
        let begun = train(&first, &mut theta, stop, watch)?;
        watch.begin("Laplace approximation", 0);
        let settled = Laplace::fit(
            &first,
            &theta,
            &LaplaceConfig { refit: Some(Refit::default()), ..keep(false) },
            Control::default(),
        )?;
        let loss = settled.loss(&first)?;
        theta.copy_from_slice(settled.gaussian.theta());
        let last = polish(&loss, &mut theta, stop, watch)?;
        let laplace = Arc::new(Laplace::fit(&loss, &theta, &keep(true), Control::default())?);
        let training = TrainingSummary::new(begun + last.evaluations, &last);
        let summary = LaplaceSummary {
            parameters: network.dim(),
            prior_precision: laplace.prior.scalar().unwrap_or(f64::NAN),
            log_marginal_likelihood: laplace.log_marginal_likelihood,
            gradient_norm: laplace.gradient_norm,
            refit_rounds: settled.refit_rounds,
        };
        Ok(Self { network, laplace, loss, training, summary })
    }
}

/// A full GGN with the prior that is in the loss, or the best one.
fn keep(prior: bool) -> LaplaceConfig {
    let prior = if prior { PriorChoice::Keep } else { PriorChoice::Optimize };
    LaplaceConfig { prior, ..LaplaceConfig::default() }
}

/// Evaluations spent on the first minimum.
fn train(
    loss: &NetworkLoss,
    theta: &mut [f64],
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<usize, DemoError> {
    let rate = Schedule::Constant(LEARNING_RATE);
    let settings = Adam { learning_rate: rate, epochs: EPOCHS, ..Adam::default() };
    watch.begin("training", 0);
    let observer = steps(watch);
    let near = adam(loss, theta, &settings, Control::default().stopping(stop).observing(&observer))?;
    let minimum = polish(loss, theta, stop, watch)?;
    Ok(near.evaluations + minimum.evaluations)
}

fn polish(
    loss: &NetworkLoss,
    theta: &mut [f64],
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<TrainReport, DemoError> {
    let settings = Lbfgs { memory: MEMORY, ..Lbfgs::default() };
    let observer = steps(watch);
    let report = lbfgs(loss, theta, &settings, Control::default().stopping(stop).observing(&observer))?;
    if stop.load(Ordering::Relaxed) { Err(DemoError::Interrupted) } else { Ok(report) }
}
