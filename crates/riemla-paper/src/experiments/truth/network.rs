//! The posterior of a network as a target: trained to a mode, prior and noise given.

use riemla::objective::{Likelihood, LinearizedLoss, Objective};
use riemla::random::{Purpose, stream};
use riemla::reference::{Ensemble, Reference, Swag, swag};

use super::super::cell::{Drawn, Wanted, keep};
use super::super::fitted::Fitted;
use super::super::{ExperimentError, Result};
use super::target::Target;
use riemla_workflow::scores::{Scorer, kind_of, proper};

/// Test rows whose predictions are compared.
const ROWS: usize = 100;

impl Fitted<'_> {
    /// No draws if a learning rate that was given is too large for the loss.
    pub(in super::super) fn swag(&self, rate: Option<f64>, wanted: &Wanted<'_>) -> Result<Drawn> {
        let default = Swag::default();
        let config = Swag { learning_rate: rate.unwrap_or(default.learning_rate), ..default }
            .for_rows(self.rows.train.len());
        let found = swag(&self.fit.loss, &self.fit.theta, wanted.seed, &config, wanted.session.control());
        let (moments, report) = match found {
            Err(riemla::Error::Stopped { .. }) => return Err(ExperimentError::Interrupted),
            Err(error @ riemla::Error::Range { .. }) if rate.is_some() => {
                return Ok(Drawn { unfit: Some(error.to_string()), ..Drawn::default() });
            }
            found => found?,
        };
        let draw = |index| moments.draw(config.scale, &mut stream(wanted.seed, Purpose::Draw, index));
        // An epoch costs about what a gradient on all data costs.
        let gradients = report.iterations.min(config.epochs);
        let drawn = Drawn::of_gradients((0..wanted.samples).map(draw).collect(), gradients);
        keep(wanted, Reference::Swag(config).into(), self.fit.theta.len(), drawn)
    }

    /// Trainings from fresh weights.
    pub(in super::super) fn ensemble(&self, wanted: &Wanted<'_>) -> Result<Drawn> {
        let ensemble = Ensemble::default();
        let (mut thetas, mut gradients) = (Vec::new(), 0);
        for index in 0..wanted.samples {
            let control = wanted.session.control();
            let member = ensemble.member(&self.fit.loss, wanted.seed, index, control)?;
            if wanted.session.stopped() {
                return Err(ExperimentError::Interrupted);
            }
            gradients += ensemble.training.epochs_for(self.rows.train.len()) + member.report.iterations;
            thetas.push(member.theta);
        }
        let drawn = Drawn::of_gradients(thetas, gradients);
        keep(wanted, Reference::Ensemble(ensemble).into(), self.fit.theta.len(), drawn)
    }

    /// The inputs of the test rows that are looked at.
    fn inputs(&self) -> &[f64] {
        let test = &self.rows.test;
        &test.inputs()[..ROWS.min(test.len()) * test.features()]
    }
}

impl Target for Fitted<'_> {
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
        let tangent = self.laplace.gaussian.draw_tangent(&mut stream(seed, Purpose::Start, index));
        self.fit.theta.iter().zip(tangent).map(|(center, v)| center + v).collect()
    }

    fn functions(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<Vec<Vec<f64>>>> {
        let thetas = thetas.iter().map(|theta| theta.to_vec()).collect();
        let raw = self.fit.predictor(&self.laplace, linearized, thetas)?.outputs(self.inputs())?;
        let (likelihood, width) = (self.fit.loss.likelihood(), self.fit.network.outputs());
        Ok(Some(raw.iter().map(|draw| predictions(likelihood, width, draw)).collect()))
    }

    fn score(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<f64>> {
        let thetas = thetas.iter().map(|theta| theta.to_vec()).collect();
        let prediction =
            self.fit.predictor(&self.laplace, linearized, thetas)?.predict(self.rows.test.inputs())?;
        let targets = self.rows.test.targets();
        Ok(Some(Scorer::default().of(proper(kind_of(&prediction)), &prediction, targets)?))
    }
}

/// Outputs as predictions: values, or the probabilities of all classes but the first (which they imply).
fn predictions(likelihood: Likelihood, width: usize, outputs: &[f64]) -> Vec<f64> {
    match likelihood {
        Likelihood::Categorical => outputs.chunks(width).flat_map(softmax_but_first).collect(),
        Likelihood::Bernoulli | Likelihood::MultiLabel => {
            outputs.iter().map(|f| 1.0 / (1.0 + (-f).exp())).collect()
        }
        _ => outputs.to_vec(),
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
