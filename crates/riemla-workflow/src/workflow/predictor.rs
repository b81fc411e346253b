//! Predictions for any number of rows: in pieces, so that memory stays small, and in the units of
//! the data.

use std::sync::Arc;

use riemla::nn::Network;
use riemla::posterior::NetworkOutputs;
use riemla::predict::{self, ClassPrediction, LabelPrediction, Prediction, RegressionPrediction};
use riemla_files::Model;
use riemla_files::encoding::{Encoding, Scale};

/// Rows predicted at a time: bounds the memory, which holds the outputs of every draw.
pub const ROWS: usize = 500;

/// How predictions come from weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Way {
    /// The average over drawn weights.
    #[default]
    Draws,
    /// In closed form, around the trained weights.
    ClosedForm,
}

/// Weights, and how predictions come from them.
#[derive(Clone)]
pub struct Predictor {
    /// The forward pass and the likelihood.
    pub model: predict::Predictor,
    /// Drawn weights; one for a point estimate.
    pub thetas: Vec<Vec<f64>>,
    /// How predictions come from them.
    pub way: Way,
    /// Scales of real targets, to be undone; none if there are none.
    pub scales: Vec<Scale>,
}

impl Predictor {
    /// The trained weights of a model alone.
    pub fn map(model: &Model) -> riemla::Result<Self> {
        let outputs = NetworkOutputs::new(Arc::new(Network::new(&model.network)?), model.likelihood)?;
        Ok(Self {
            model: predict::Predictor::exact(Arc::new(outputs)),
            thetas: vec![model.theta.clone()],
            way: Way::Draws,
            scales: scales(model),
        })
    }

    /// Outputs of every draw: per draw a row-major rows × outputs array.
    pub fn outputs(&self, inputs: &[f64]) -> riemla::Result<Vec<Vec<f64>>> {
        let thetas: Vec<&[f64]> = self.thetas.iter().map(Vec::as_slice).collect();
        self.model.outputs(&thetas, inputs)
    }

    /// Predictions for row-major inputs, in the units of the data.
    pub fn predict(&self, inputs: &[f64]) -> riemla::Result<Prediction> {
        let thetas: Vec<&[f64]> = self.thetas.iter().map(Vec::as_slice).collect();
        let part = |rows: &[f64]| match &self.way {
            Way::Draws => self.model.predict(&thetas, rows),
            Way::ClosedForm => self.model.predict_closed_form(rows),
        };
        let all = in_pieces(inputs, self.model.input_len(), part)?;
        Ok(decoded(all, &self.scales))
    }
}

/// Applies `part` to pieces of the rows and puts the results together.
pub fn in_pieces(
    inputs: &[f64],
    width: usize,
    part: impl Fn(&[f64]) -> riemla::Result<Prediction>,
) -> riemla::Result<Prediction> {
    let mut pieces = inputs.chunks((ROWS * width).max(1));
    let mut all = part(pieces.next().unwrap_or_default())?;
    for rows in pieces {
        match (&mut all, part(rows)?) {
            (Prediction::Classes(all), Prediction::Classes(more)) => append_classes(all, more),
            (Prediction::Values(all), Prediction::Values(more)) => append_values(all, more),
            (Prediction::Counts(all), Prediction::Counts(more)) => append_values(all, more),
            (Prediction::Labels(all), Prediction::Labels(more)) => append_labels(all, more),
            _ => {}
        }
    }
    Ok(all)
}

fn append_classes(all: &mut ClassPrediction, more: ClassPrediction) {
    all.probabilities.extend(more.probabilities);
    all.entropy.extend(more.entropy);
    for (to, from) in [(&mut all.aleatoric, more.aleatoric), (&mut all.epistemic, more.epistemic)] {
        to.iter_mut().for_each(|to| to.extend(from.iter().flatten()));
    }
}

fn append_labels(all: &mut LabelPrediction, more: LabelPrediction) {
    all.probabilities.extend(more.probabilities);
    all.entropy.extend(more.entropy);
    for (to, from) in [(&mut all.aleatoric, more.aleatoric), (&mut all.epistemic, more.epistemic)] {
        to.iter_mut().for_each(|to| to.extend(from.iter().flatten()));
    }
}

fn append_values(all: &mut RegressionPrediction, more: RegressionPrediction) {
    all.mean.extend(more.mean);
    all.epistemic_variance.extend(more.epistemic_variance);
    all.aleatoric_variance.extend(more.aleatoric_variance);
}

/// A prediction of a standardised target in the units of the target.
pub fn decoded(prediction: Prediction, scales: &[Scale]) -> Prediction {
    match prediction {
        Prediction::Values(mut values) if !scales.is_empty() => {
            let scales = || scales.iter().cycle();
            values.mean.iter_mut().zip(scales()).for_each(|(mean, scale)| *mean = scale.decode(*mean));
            for variances in [&mut values.epistemic_variance, &mut values.aleatoric_variance] {
                let pairs = variances.iter_mut().zip(scales());
                pairs.for_each(|(variance, scale)| *variance *= scale.std * scale.std);
            }
            Prediction::Values(values)
        }
        prediction => prediction,
    }
}

/// Scales of a model's real targets.
pub fn scales(model: &Model) -> Vec<Scale> {
    model.encoding.as_ref().map_or(Vec::new(), Encoding::target_scales)
}
