//! The posterior of a network as a target: trained to a mode, prior and noise given.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice};
use riemla::geometry::Counters;
use riemla::objective::{Likelihood, LinearizedLoss, Objective};
use riemla::posterior::{Control, Posterior, PosteriorConfig, SearchStatus};
use riemla::predict::{linearized_outputs, outputs};
use riemla::random::{Purpose, stream};
use riemla::reference::{Ensemble, Swag, swag};
use riemla::train::{StochasticLoss, until};

use super::target::{Drawn, Target, Wanted};
use crate::datasets::DataDirs;
use crate::experiments::fit::{self, Fit};
use crate::experiments::rows::{Rows, data_of, rows};
use crate::experiments::{ExperimentError, Problem, Result};
use crate::method::MethodName;
use crate::scores::{Scorer, proper};
use crate::setting::Setting;
use crate::watch::Watch;

/// Test rows whose predictions are compared.
const ROWS: usize = 100;

/// A trained network with its posterior.
pub struct NetworkTarget {
    rows: Rows,
    fit: Fit,
    laplace: Arc<Laplace>,
}

impl NetworkTarget {
    /// Trains, or takes the weights from disk, and fits the Laplace approximation.
    pub fn new(
        problem: &Problem,
        (out, data): (&Path, &DataDirs),
        wanted: &Wanted<'_>,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let rows = rows(problem, &data_of(problem, data)?, wanted.seed)?;
        let fit = fit::fit(out, problem, &rows, wanted.seed, wanted.stop, watch)?;
        let config = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        let laplace = Arc::new(Laplace::fit(&fit.loss, &fit.theta, &config)?);
        Ok(Self { rows, fit, laplace })
    }

    fn posterior(&self, config: PosteriorConfig, held_out: bool) -> Result<Option<Posterior>> {
        let train = self.rows.train.clone();
        let posterior = Posterior::new(&self.fit.loss, train, self.laplace.clone(), config)?;
        Ok(match (&self.rows.validation, held_out) {
            (Some(rows), true) => Some(posterior.with_held_out(rows.clone())?),
            (None, true) => None,
            (_, false) => Some(posterior),
        })
    }

    fn sample(&self, config: PosteriorConfig, held_out: bool, wanted: &Wanted<'_>) -> Result<Option<Drawn>> {
        let fixed = config.fixed_strength();
        let Some(posterior) = self.posterior(config, held_out)? else { return Ok(None) };
        let control = Control { progress: None, stop: Some(wanted.stop) };
        let set = posterior.sample(wanted.seed, wanted.samples, control);
        if set.stopped {
            return Err(ExperimentError::Interrupted);
        }
        let mut counters = Counters::default();
        set.draws.iter().filter_map(|draw| draw.geodesic).for_each(|geodesic| counters += geodesic.counters);
        let search = set.calibration.as_ref().map_or(Counters::default(), |found| found.counters);
        Ok(Some(Drawn {
            failed: set.failed.len() as u64,
            counters,
            search,
            rule_met: set.calibration.as_ref().map(|found| found.status == SearchStatus::Converged),
            strength: set.calibration.as_ref().map(|found| found.strength).or(fixed),
            thetas: set.draws.into_iter().map(|draw| draw.theta).collect(),
        }))
    }

    /// None if the learning rate is too large for the loss.
    fn swag(&self, rate: Option<f64>, wanted: &Wanted<'_>) -> Result<Option<Drawn>> {
        let loss = &self.fit.loss;
        let (network, train) = (loss.network().clone(), self.rows.train.clone());
        let stochastic = StochasticLoss::new(network, train, loss.likelihood(), loss.prior().clone())?;
        let default = Swag::default();
        let config = Swag {
            batch_size: default.batch_size.min(self.rows.train.len()),
            learning_rate: rate.unwrap_or(default.learning_rate),
            ..default
        };
        let found = swag(&stochastic, &self.fit.theta, wanted.seed, &config, &mut until(Some(wanted.stop)));
        let (moments, report) = match found {
            Err(riemla::Error::Stopped { .. }) => return Err(ExperimentError::Interrupted),
            Err(riemla::Error::Range { .. }) if rate.is_some() => return Ok(None),
            found => found?,
        };
        let draw = |index| moments.draw(config.scale, &mut stream(wanted.seed, Purpose::Draw, index));
        // An epoch costs about what a gradient on all data costs.
        let gradients = report.iterations.min(config.epochs);
        Ok(Some(Drawn::of_gradients((0..wanted.samples).map(draw).collect(), gradients)))
    }

    fn ensemble(&self, wanted: &Wanted<'_>) -> Result<Drawn> {
        let ensemble = Ensemble::default();
        let (mut thetas, mut gradients) = (Vec::new(), 0);
        for index in 0..wanted.members {
            let place = (wanted.seed, index);
            let mut observer = until(Some(wanted.stop));
            let member = ensemble.member(&self.fit.loss, &self.rows.train, place, &mut observer)?;
            if wanted.stop.load(Ordering::Relaxed) {
                return Err(ExperimentError::Interrupted);
            }
            gradients += ensemble.training.epochs_for(self.rows.train.len()) + member.report.iterations;
            thetas.push(member.theta);
        }
        Ok(Drawn::of_gradients(thetas, gradients))
    }

    /// The inputs of the test rows that are looked at.
    fn inputs(&self) -> &[f64] {
        let test = &self.rows.test;
        &test.inputs()[..ROWS.min(test.len()) * test.features()]
    }
}

impl Target for NetworkTarget {
    fn objective(&self, linearized: bool) -> Result<Box<dyn Objective + '_>> {
        let loss = self.fit.loss.with(self.fit.loss.likelihood(), self.fit.loss.prior().clone())?;
        Ok(match linearized {
            true => Box::new(LinearizedLoss::new(loss, &self.fit.theta)?),
            false => Box::new(loss),
        })
    }

    fn center(&self) -> &[f64] {
        &self.fit.theta
    }

    fn start(&self, seed: u64, index: u64) -> Vec<f64> {
        let tangent = self.laplace.draw_tangent(&mut stream(seed, Purpose::Start, index));
        self.fit.theta.iter().zip(tangent).map(|(center, v)| center + v).collect()
    }

    fn draws(&self, wanted: &Wanted<'_>) -> Result<Option<Drawn>> {
        let setting = wanted.contender.setting.unwrap_or(Setting::ANY);
        match (wanted.contender.method, wanted.contender.method.posterior()) {
            (_, Some(method)) => self.sample(setting.config(method), setting.needs_validation(), wanted),
            (MethodName::Swag, _) => self.swag(setting.rate(), wanted),
            (MethodName::Ensemble, _) => self.ensemble(wanted).map(Some),
            _ => Ok(None),
        }
    }

    fn functions(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<Vec<Vec<f64>>>> {
        let network = &self.fit.network;
        let raw = match linearized {
            true => linearized_outputs(network, &self.fit.theta, thetas, self.inputs())?,
            false => outputs(network, thetas, self.inputs())?,
        };
        let (likelihood, width) = (self.fit.loss.likelihood(), network.outputs());
        Ok(Some(raw.iter().map(|draw| predictions(likelihood, width, draw)).collect()))
    }

    fn score(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<f64>> {
        let thetas = thetas.iter().map(|theta| theta.to_vec()).collect();
        let prediction =
            self.fit.predictor(&self.laplace, linearized, thetas).predict(self.rows.test.inputs())?;
        let targets = self.rows.test.targets();
        Ok(Some(Scorer::default().of(proper(targets), &prediction, targets)?))
    }

    fn exact(&self, _seed: u64, _count: u64) -> Option<Vec<Vec<f64>>> {
        None
    }
}

/// Outputs as predictions: values, or the probabilities of all classes but the first (which they imply).
fn predictions(likelihood: Likelihood, width: usize, outputs: &[f64]) -> Vec<f64> {
    match likelihood {
        Likelihood::Gaussian { .. } => outputs.to_vec(),
        Likelihood::Bernoulli => outputs.iter().map(|f| 1.0 / (1.0 + (-f).exp())).collect(),
        _ => outputs.chunks(width).flat_map(softmax_but_first).collect(),
    }
}

fn softmax_but_first(logits: &[f64]) -> Vec<f64> {
    let highest = logits.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = logits.iter().map(|f| (f - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().skip(1).map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_probabilities_without_what_they_imply() {
        let two = predictions(Likelihood::Categorical, 2, &[0.0, 3f64.ln(), 800.0, 0.0]);
        assert!((two[0] - 0.75).abs() < 1e-15 && two[1] == 0.0 && two.len() == 2, "{two:?}");
        let one = predictions(Likelihood::Bernoulli, 1, &[0.0, -3f64.ln()]);
        assert!(one[0] == 0.5 && (one[1] - 0.25).abs() < 1e-15, "{one:?}");
    }
}
