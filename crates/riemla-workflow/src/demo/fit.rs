//! Training and the Laplace approximation, as users get them.

use std::sync::Arc;

use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice};
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{NetworkLoss, Prior};
use riemla::train::TrainReport;
use riemla_files::{Task, TrainingData};

use super::result::{LaplaceSummary, TrainingSummary};
use super::{Demo, DemoError};
use crate::workflow::{NetworkChoice, Prepared, TrainConfig, Trained, WorkflowError, train_on};

/// A trained network with its Laplace approximation.
pub(super) struct Model {
    pub network: Arc<Network>,
    pub laplace: Arc<Laplace>,
    /// The loss under the chosen prior.
    pub loss: NetworkLoss,
    pub training: TrainingSummary,
    pub summary: LaplaceSummary,
}

impl Model {
    /// Weights and prior precision by the training of the workflow, which ends where the gradient is zero:
    /// geodesics begin there. The Laplace approximation keeps that prior.
    pub fn fit(demo: &Demo<'_>) -> Result<Self, DemoError> {
        let Trained { model, report, cost, .. } = trained(demo)?;
        demo.session.watch.begin("Laplace approximation", 0);
        let network = Arc::new(Network::new(&model.network)?);
        let prior = Prior::new(&model.prior_precision, &network)?;
        let loss = NetworkLoss::new(network.clone(), demo.data.train.clone(), model.likelihood, prior)?;
        let keep = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        let control = demo.session.control();
        let laplace = Arc::new(Laplace::fit(&loss, &model.theta, &keep, control)?);
        let summary = LaplaceSummary {
            parameters: network.dim(),
            prior_precision: laplace.prior.scalar().unwrap_or(f64::NAN),
            log_marginal_likelihood: laplace.log_marginal_likelihood,
            gradient_norm: laplace.gradient_norm,
            prior_trials: cost.trials,
        };
        let TrainReport { value, gradient_norm, status, .. } = report;
        let training = TrainingSummary { loss: value, gradient_norm, evaluations: cost.gradients, status };
        Ok(Self { network, laplace, loss, training, summary })
    }
}

fn trained(demo: &Demo<'_>) -> Result<Trained, DemoError> {
    let Demo { config, data, session } = demo;
    let network = NetworkChoice::Given(NetworkSpec::mlp(&config.layers, Activation::Tanh));
    let settings =
        TrainConfig { network, seed: config.seed, baselines: false, ..TrainConfig::new("two half circles") };
    let data = TrainingData { train: (*data.train).clone(), validation: None };
    let prepared =
        Prepared { encoding: None, data, held_out: None, task: Task::Classification, notes: Vec::new() };
    match train_on(&settings, prepared, *session) {
        Ok(_) if session.stopped() => Err(DemoError::Interrupted),
        Err(WorkflowError::Library(error)) => Err(error.into()),
        trained => Ok(trained?),
    }
}
