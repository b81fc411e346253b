//! From draws to predictions and scores.

use std::sync::Arc;

use riemla::curvature::Laplace;
use riemla::data::Dataset;
use riemla::posterior::{Method, NetworkOutputs};
use riemla::predict::{self, Prediction, RegressionPrediction};
use riemla::{Result, nn::Network, score};
use serde::{Deserialize, Serialize};

use super::rows::values;
use crate::workflow::predictor::in_pieces;

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// On which data.
    pub test_set: String,
    /// Which score.
    pub score: String,
    /// Its value: accuracy and calibration errors in percent.
    pub value: f64,
}

/// Predictions of one posterior.
pub struct Predictor<'a> {
    /// The forward pass and the likelihood.
    model: predict::Predictor,
    /// Its draws.
    thetas: Vec<&'a [f64]>,
}

impl<'a> Predictor<'a> {
    /// Predictions of a method with draws around a Laplace approximation.
    pub fn new(
        network: &Arc<Network>,
        laplace: &Laplace,
        method: Method,
        thetas: Vec<&'a [f64]>,
    ) -> Result<Self> {
        let outputs = NetworkOutputs::new(network.clone(), laplace.likelihood)?;
        let model = predict::Predictor::new(Arc::new(outputs), method, laplace.gaussian.clone());
        Ok(Self { model, thetas })
    }

    /// Predictions for row-major inputs.
    fn predict(&self, inputs: &[f64]) -> Result<Prediction> {
        in_pieces(inputs, self.model.input_len(), |rows| self.model.predict(&self.thetas, rows))
    }

    /// Outputs of every draw: per draw a row-major rows × outputs array.
    pub fn outputs(&self, inputs: &[f64]) -> Result<Vec<Vec<f64>>> {
        self.model.outputs(&self.thetas, inputs)
    }

    /// Class probabilities, rows × classes.
    pub fn probabilities(&self, inputs: &[f64]) -> Result<Vec<f64>> {
        let prediction = self.predict(inputs)?;
        Ok(prediction.classes().map_or(Vec::new(), |p| p.probabilities.clone()))
    }

    /// Means and variances (noise included), and variances of the function alone.
    pub fn moments(&self, inputs: &[f64]) -> Result<[Vec<f64>; 3]> {
        let prediction = self.predict(inputs)?;
        let moments = |p: &RegressionPrediction| [p.mean.clone(), p.variance(), p.epistemic_variance.clone()];
        Ok(prediction.values().map_or_else(Default::default, moments))
    }

    fn classes(&self) -> usize {
        self.model.likelihood().classes(self.model.output_len()).unwrap_or(0)
    }

    /// The scores on a test set.
    pub fn scores(&self, name: &str, test: &Dataset, bins: usize) -> Result<Vec<Score>> {
        let named = |(score, value): (&str, f64)| Score { test_set: name.into(), score: score.into(), value };
        let Some(labels) = test.labels() else {
            let [mean, variance, _] = self.moments(test.inputs())?;
            let targets = values(test);
            let found =
                [("nlpd", score::nlpd(&mean, &variance, targets)?), ("rmse", score::rmse(&mean, targets)?)];
            return Ok(found.map(named).into());
        };
        let (p, classes) = (self.probabilities(test.inputs())?, self.classes());
        let found = [
            ("accuracy", 100.0 * score::accuracy(&p, classes, labels)?),
            ("nll", score::nll(&p, classes, labels)?),
            ("brier", score::brier_per_class(&p, classes, labels)?),
            ("ece", 100.0 * score::ece(&p, classes, labels, bins)?),
            ("mce", 100.0 * score::mce(&p, classes, labels, bins)?),
        ];
        Ok(found.map(named).into())
    }

    /// How well strange inputs are told from test inputs: by the largest probability, and by entropy.
    pub fn out_of_distribution(&self, test: &[f64], strange: &[(String, &[f64])]) -> Result<Vec<Score>> {
        let classes = self.classes();
        let doubts = |inputs: &[f64]| -> Result<[Vec<f64>; 2]> {
            let p = self.probabilities(inputs)?;
            let doubt = score::max_probabilities(&p, classes)?.iter().map(|p| 1.0 - p).collect();
            Ok([doubt, score::entropies(&p, classes)?])
        };
        let near = doubts(test)?;
        let mut scores = Vec::new();
        for (name, inputs) in strange {
            let far = doubts(inputs)?;
            for (i, score) in ["auroc", "auroc-entropy"].into_iter().enumerate() {
                let value = score::auroc(&far[i], &near[i])?;
                scores.push(Score { test_set: name.clone(), score: score.into(), value });
            }
        }
        Ok(scores)
    }
}
