//! Training and the Laplace approximation, as users get them.

use riemla::curvature::{LaplaceConfig, PriorChoice};
use riemla::nn::{Activation, NetworkSpec};
use riemla::train::TrainReport;
use riemla_files::{SavedPosterior, Task, TrainingData};

use super::Demo;
use super::result::{LaplaceSummary, TrainingSummary};
use crate::workflow::{
    NetworkChoice, Prepared, Result, TrainConfig, Trained, WorkflowError, fit_on, train_on,
};

/// A trained network with its Laplace approximation.
pub(super) struct Model {
    pub saved: SavedPosterior,
    pub training: TrainingSummary,
    pub summary: LaplaceSummary,
}

impl Model {
    /// Weights and prior precision by the training of the workflow, which ends where the gradient is zero:
    /// geodesics begin there. The Laplace approximation keeps that prior.
    pub fn fit(demo: &Demo<'_>) -> Result<Self> {
        let data = TrainingData { train: demo.data.train.clone(), validation: None };
        let Trained { model, report, cost, .. } = trained(demo, data.clone())?;
        let keep = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        let saved = fit_on(model, data, &keep, None, demo.session)?.posterior;
        let summary = LaplaceSummary {
            parameters: saved.model.theta.len(),
            prior_precision: saved.laplace.prior.scalar().unwrap_or(f64::NAN),
            log_marginal_likelihood: saved.laplace.log_marginal_likelihood,
            gradient_norm: saved.laplace.gradient_norm,
            prior_trials: cost.trials,
        };
        let TrainReport { value, gradient_norm, status, .. } = report;
        let training = TrainingSummary { loss: value, gradient_norm, evaluations: cost.gradients, status };
        Ok(Self { saved, training, summary })
    }
}

fn trained(demo: &Demo<'_>, data: TrainingData) -> Result<Trained> {
    let network = NetworkChoice::Given(NetworkSpec::mlp(&demo.config.layers, Activation::Tanh));
    let (seed, new) = (demo.config.seed, TrainConfig::new("two half circles"));
    let settings = TrainConfig { network, seed, baselines: false, ..new };
    let prepared =
        Prepared { encoding: None, data, held_out: None, task: Task::Classification, notes: Vec::new() };
    let trained = train_on(&settings, prepared, demo.session)?;
    if demo.session.stopped() { Err(WorkflowError::Interrupted) } else { Ok(trained) }
}
