//! A trained problem under one seed and prior: its posteriors, their scores, what is written of them.

use std::sync::Arc;

use riemla::curvature::Laplace;
use riemla::objective::Likelihood;
use riemla::posterior::{Posterior, PosteriorConfig};
use riemla_files::{Digest, FittedTo, Origin};

use super::cell::Drawn;
use super::config::Problem;
use super::fit::Fit;
use super::record::{CellKey, DrawSummary, MadeFrom, ModelSummary, RunRecord};
use super::rows::Rows;
use super::score::{Predictor, Score};
use super::{Experiment, Result};

/// A problem with its data, ready for seeds.
pub struct Ready<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The problem.
    pub problem: &'a Problem,
    /// Inputs of the data sets that a model should find strange.
    pub strange: Vec<(String, Vec<f64>)>,
}

/// A trained problem under one seed and prior.
pub struct Fitted<'a> {
    /// The problem.
    pub ready: &'a Ready<'a>,
    /// Its rows under this seed.
    pub rows: &'a Rows,
    /// Its weights.
    pub fit: &'a Fit,
    /// The approximation under this prior.
    pub laplace: Arc<Laplace>,
    /// What draws from it and their scores depend on.
    pub made_from: MadeFrom,
}

impl<'a> Fitted<'a> {
    /// Under the prior of `laplace`.
    pub fn new(ready: &'a Ready<'a>, rows: &'a Rows, fit: &'a Fit, laplace: Laplace) -> Self {
        let data = FittedTo::new(&rows.train, rows.validation.as_ref());
        let strange = ready.strange.iter().map(|(_, inputs)| Digest::of_numbers([inputs.as_slice()]));
        let made_from = MadeFrom {
            draws: Origin::new(fit.network.spec(), &laplace, data),
            test: Digest::of_data(&rows.test),
            out_of_distribution: strange.collect(),
        };
        Self { ready, rows, fit, laplace: Arc::new(laplace), made_from }
    }

    /// The posterior of a key.
    pub fn posterior(&self, key: &CellKey) -> Result<Posterior> {
        let config = PosteriorConfig {
            batch: self.ready.problem.batch.filter(|_| key.method.batched()),
            ..key.setting.config(key.method.method())
        };
        let posterior = Posterior::of_network(&self.fit.loss, &self.laplace, config)?;
        match &self.rows.validation {
            Some(rows) if key.setting.needs_validation() => Ok(posterior.with_held_out(rows.clone())?),
            _ => Ok(posterior),
        }
    }

    /// The scores of draws.
    pub fn scores(&self, key: &CellKey, thetas: Vec<&[f64]>) -> Result<Vec<Score>> {
        let Ready { experiment, problem, strange } = self.ready;
        let predictor = Predictor::new(&self.fit.network, &self.laplace, key.method.method(), thetas)?;
        if strange.is_empty() {
            return Ok(predictor.scores(&problem.name, &self.rows.test, experiment.bins)?);
        }
        let sets: Vec<(String, &[f64])> =
            strange.iter().map(|(name, inputs)| (name.clone(), inputs.as_slice())).collect();
        Ok(predictor.out_of_distribution(self.rows.test.inputs(), &sets)?)
    }

    /// What is written of draws.
    pub fn record(
        &self,
        key: CellKey,
        (requested, quick): (u64, bool),
        drawn: Drawn,
        (scores, draws): (Vec<Score>, DrawSummary),
    ) -> RunRecord {
        let laplace = &self.laplace;
        let sigma_noise = match laplace.likelihood {
            Likelihood::Gaussian { sigma_noise } => Some(sigma_noise),
            _ => None,
        };
        RunRecord {
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            quick,
            config: self.ready.problem.clone(),
            bins: Some(self.ready.experiment.bins),
            requested,
            samples: drawn.draws.len() as u64,
            failed: drawn.failed.len() as u64,
            scores,
            draws,
            model: ModelSummary {
                weights: laplace.gaussian.theta().len(),
                prior_precision: laplace.prior.scalar(),
                sigma_noise,
                log_marginal_likelihood: laplace.log_marginal_likelihood,
                gradient_norm: laplace.gradient_norm,
                training: self.fit.training.clone(),
            },
            found_strength: drawn.found,
            made_from: self.made_from.clone(),
            key,
        }
    }
}
