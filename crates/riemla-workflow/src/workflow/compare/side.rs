//! One of the two sets of a comparison: its draws and what can be measured on them alone.

use std::sync::Arc;

use riemla::compare::{ImportanceWeights, LEAST_WEIGHTS, pareto_smoothed};
use riemla::data::{Dataset, Targets};
use riemla::posterior::{Method, Posterior, PosteriorConfig};
use riemla::predict::Prediction;
use riemla::reference::Reference;
use riemla_files::{RunConfig, SavedPosterior};

use super::Place;
use crate::scores::decoded_targets;
use crate::workflow::draws::{DrawnSet, assembled, drawn};
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::predictor::{Predictor, ROWS};
use crate::workflow::saved::{loss_of, read_posterior};

/// A set of draws as it was read.
pub(super) struct Loaded {
    pub place: Place,
    pub saved: SavedPosterior,
    pub config: RunConfig,
    pub seed: u64,
    pub predictor: Predictor,
}

/// What was measured on one set.
#[derive(Debug, Clone)]
pub struct Side {
    /// Where it is.
    pub place: Place,
    /// Its name in tables.
    pub label: String,
    /// The method that drew it.
    pub method: &'static str,
    /// Number of draws.
    pub draws: usize,
    /// Number of uncertain weights K.
    pub weights: usize,
    /// The loss at the draws; none if the posterior does not hold its data.
    pub loss: Option<LossSummary>,
    /// The spread of the network's outputs; none without data.
    pub spread: Option<Spread>,
    /// How the Gaussian would do as a proposal; only for draws of it.
    pub importance: Option<ImportanceWeights>,
}

/// The loss at the draws of a set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossSummary {
    /// Mean of L(θ) − L(θ*).
    pub rise: f64,
    /// Mean of (θ − θ*)·∇L(θ)/K, and its standard error; none for an ensemble, whose members are minima.
    pub virial_ratio: Option<(f64, f64)>,
}

/// Mean over rows and outputs of the standard deviation over draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Of the outputs: logits, or numbers in the units of the data.
    pub outputs: f64,
    /// Of class probabilities.
    pub probabilities: Option<f64>,
}

impl Loaded {
    /// Reads a set of at least two draws.
    pub fn read(place: Place) -> Result<Self> {
        let saved = read_posterior(&place.posterior)?;
        let DrawnSet { config, seed, thetas, .. } = drawn(&saved, &place.posterior, &place.set)?;
        if thetas.len() < 2 {
            return Err(WorkflowError::unfit(format!(
                "{} of {} has {} draw: a comparison needs at least 2 draws of each set, better 100",
                place.set,
                place.posterior.display(),
                thetas.len()
            )));
        }
        let predictor = assembled(&saved, &config, thetas)?;
        Ok(Self { place, saved, config, seed, predictor })
    }

    /// Whether draw i of both begins with the same random tangent vector.
    pub fn is_paired_with(&self, other: &Self) -> bool {
        let from_tangents =
            |side: &Self| side.config.posterior_method().is_some_and(|method| method != Method::Map);
        let same_seed = self.seed == other.seed
            && self.saved.laplace.gaussian.theta() == other.saved.laplace.gaussian.theta();
        same_seed && from_tangents(self) && from_tangents(other)
    }

    /// The weights of every draw.
    pub fn thetas(&self) -> Vec<&[f64]> {
        self.predictor.thetas.iter().map(Vec::as_slice).collect()
    }

    /// All that can be said about this set alone.
    pub fn measure(&self, label: String, inputs: Option<&[f64]>) -> Result<Side> {
        let target = self.target()?;
        let thetas = self.thetas();
        let minima = matches!(self.config, RunConfig::Reference(Reference::Ensemble(_)));
        let loss = target.as_ref().map(|target| summary(target, &thetas, minima)).transpose()?;
        let gaussian = matches!(self.config.posterior_method(), Some(Method::La | Method::LinLa))
            && thetas.len() >= LEAST_WEIGHTS;
        let importance = |target: &Posterior| pareto_smoothed(&target.log_importance_weights(&thetas)?);
        let importance = target.as_ref().filter(|_| gaussian).map(importance).transpose()?;
        Ok(Side {
            place: self.place.clone(),
            label,
            method: self.config.method(),
            draws: thetas.len(),
            weights: self.saved.laplace.gaussian.subset().len(),
            loss,
            spread: inputs.map(|inputs| self.spread(inputs)).transpose()?,
            importance,
        })
    }

    /// What the draws are meant to be of: exp(−L), or exp(−L) of the linearised network.
    fn target(&self) -> Result<Option<Posterior>> {
        let Some(data) = &self.saved.data else { return Ok(None) };
        let loss = loss_of(&self.saved, &data.train)?;
        let method = if self.config.is_linearized() { Method::LinLa } else { Method::La };
        let laplace = Arc::new(self.saved.laplace.clone());
        Ok(Some(Posterior::of_network(&loss, &laplace, PosteriorConfig::new(method))?))
    }

    fn spread(&self, inputs: &[f64]) -> Result<Spread> {
        let Predictor { model, scales, .. } = &self.predictor;
        let (mut outputs, mut probabilities) = (Vec::new(), Vec::new());
        for rows in inputs.chunks((ROWS * model.input_len()).max(1)) {
            let piece = model.spread(&self.thetas(), rows)?;
            outputs.extend(piece.outputs);
            probabilities.extend(piece.probabilities.unwrap_or_default());
        }
        // Outputs that are no targets, such as logarithms of variances, have no unit.
        let unit = |k: usize| scales.get(k % model.output_len()).map_or(1.0, |scale| scale.std);
        outputs.iter_mut().enumerate().for_each(|(k, deviation)| *deviation *= unit(k));
        let probabilities = (!probabilities.is_empty()).then(|| mean(&probabilities));
        Ok(Spread { outputs: mean(&outputs), probabilities })
    }

    /// The prediction for data, and its targets, both in the units of the data.
    pub fn predict(&self, data: &Dataset) -> Result<(Prediction, Targets)> {
        let targets = decoded_targets(data.targets(), &self.predictor.scales);
        Ok((self.predictor.predict(data.inputs())?, targets))
    }
}

fn summary(target: &Posterior, thetas: &[&[f64]], minima: bool) -> Result<LossSummary> {
    let rise = mean(&target.loss_rises(thetas)?);
    let virial_ratio = (!minima).then(|| target.virial_ratio_with_error(thetas)).transpose()?;
    Ok(LossSummary { rise, virial_ratio })
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
