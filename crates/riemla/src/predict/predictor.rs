//! From draws to predictions, with the forward pass and the likelihood of the posterior that made them.

use std::sync::Arc;

use super::{ClassPrediction, LabelPrediction, Prediction, RegressionPrediction};
use crate::curvature::Gaussian;
use crate::data::Dataset;
use crate::objective::{Likelihood, TargetKind};
use crate::posterior::{Method, OutputMoments, Outputs, Posterior};
use crate::{Error, Result};

/// Predicts with draws of one posterior.
#[derive(Clone)]
pub struct Predictor {
    outputs: Arc<dyn Outputs>,
    method: Method,
    /// Where outputs are linearised; none for predictions with the model itself.
    gaussian: Option<Arc<Gaussian>>,
}

impl Predictor {
    /// Predictions of `method` with draws around `gaussian`: the network, or the one linearised at its
    /// centre for `lin-la` and `lin-riem-la`.
    pub fn new(outputs: Arc<dyn Outputs>, method: Method, gaussian: Arc<Gaussian>) -> Self {
        Self { outputs, method, gaussian: method.is_linearized().then_some(gaussian) }
    }

    /// Predictions with the model itself, whoever made the draws.
    pub fn exact(outputs: Arc<dyn Outputs>) -> Self {
        Self { outputs, method: Method::Map, gaussian: None }
    }

    /// Numbers per input row.
    pub fn input_len(&self) -> usize {
        self.outputs.input_len()
    }

    /// The likelihood used.
    pub fn likelihood(&self) -> Likelihood {
        self.outputs.likelihood()
    }

    /// Outputs per row.
    pub fn output_len(&self) -> usize {
        self.outputs.output_len()
    }

    /// Outputs of every draw: per draw a row-major rows × outputs array.
    pub fn outputs(&self, thetas: &[&[f64]], inputs: &[f64]) -> Result<Vec<Vec<f64>>> {
        match &self.gaussian {
            Some(gaussian) => self.outputs.evaluate_linearized(gaussian.theta(), thetas, inputs),
            None => self.outputs.evaluate(thetas, inputs),
        }
    }

    /// Monte Carlo prediction: the average over drawn weights. `inputs` is row-major.
    pub fn predict(&self, thetas: &[&[f64]], inputs: &[f64]) -> Result<Prediction> {
        Prediction::from_outputs(&self.outputs(thetas, inputs)?, self.output_len(), self.likelihood())
    }

    /// Closed-form prediction of `lin-la`, without draws: Gaussian outputs, and for classes and labels the probit
    /// approximation p = softmax(f / √(1 + π/8·var f)). Rates and variances that are exponentials of outputs have the
    /// moments of log-normal variables.
    pub fn predict_closed_form(&self, inputs: &[f64]) -> Result<Prediction> {
        let (Method::LinLa, Some(gaussian)) = (self.method, &self.gaussian) else {
            let message = format!("closed-form predictions exist for lin-la only, not for {}", self.method);
            return Err(Error::Unsupported(message));
        };
        let OutputMoments { mean, variance } = self.outputs.linearized_moments(gaussian, inputs)?;
        let (c, likelihood) = (self.outputs.output_len(), self.outputs.likelihood());
        Ok(match likelihood.kind() {
            TargetKind::Classes => {
                Prediction::Classes(ClassPrediction::probit(&mean, &variance, likelihood, c))
            }
            TargetKind::Labels => Prediction::Labels(LabelPrediction::probit(&mean, &variance, c)),
            TargetKind::Values => {
                Prediction::Values(RegressionPrediction::from_moments(mean, variance, c, likelihood))
            }
            TargetKind::Counts => {
                Prediction::Counts(RegressionPrediction::from_moments(mean, variance, c, likelihood))
            }
        })
    }

    /// Mean −log p(y | x) of `data` under the average over draws.
    pub fn nll(&self, thetas: &[&[f64]], data: &Dataset) -> Result<f64> {
        self.predict(thetas, data.inputs())?.nll(data.targets())
    }
}

impl Posterior {
    /// What turns its draws into predictions; an error if the model has no outputs.
    pub fn predictor(&self) -> Result<Predictor> {
        let outputs = self.model().outputs().ok_or_else(|| {
            let message = "this model has no outputs to predict with: implement Model::outputs";
            Error::Unsupported(message.into())
        })?;
        Ok(Predictor::new(outputs, self.config().method, self.gaussian().clone()))
    }

    /// Monte Carlo prediction for row-major inputs with draws of this posterior: the forward pass
    /// (linearised or not) and the likelihood are its own.
    pub fn predict(&self, thetas: &[&[f64]], inputs: &[f64]) -> Result<Prediction> {
        self.predictor()?.predict(thetas, inputs)
    }

    /// Takes `data` as the held-out data that [`crate::posterior::Strength::HeldOut`] is tuned on.
    pub fn with_held_out(self, data: Dataset) -> Result<Self> {
        let predictor = self.predictor()?;
        let outputs = &predictor.outputs;
        outputs.likelihood().check(outputs.output_len(), data.targets())?;
        if data.features() != outputs.input_len() {
            return Err(Error::shape("held-out features per sample", outputs.input_len(), data.features()));
        }
        Ok(self.with_validation(Box::new(move |thetas| predictor.nll(thetas, &data))))
    }
}
