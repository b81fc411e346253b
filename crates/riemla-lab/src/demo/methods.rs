//! One posterior: its draws, its predictions, its scores.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use riemla::Control;
use riemla::objective::{Likelihood, LinearizedLoss, Objective};
use riemla::posterior::{Method, NetworkOutputs, Posterior, PosteriorConfig, SampleSet, virial_ratio};
use riemla::predict::{ClassPrediction, Prediction};
use riemla::score;
use riemla::{Error, Result};

use super::DemoConfig;
use super::data::DemoData;
use super::fit::Model;
use super::result::{BINS, DrawRecord, FailedDraw, Map, MethodResult, Scores};
use crate::watch::Watch;
use crate::workflow::Predictor;

/// Draws that maps are made of: more change nothing that an eye could see.
pub(super) const MAP_DRAWS: usize = 200;
const CLASSES: usize = 2;

pub(super) enum Outcome {
    /// At least one draw, and the seconds that drawing took.
    Drawn(Box<MethodResult>, f64),
    /// No draw.
    Nothing { reason: String, error: Option<Error> },
}

pub(super) fn run(
    model: &Model,
    data: &DemoData,
    config: &DemoConfig,
    method: Method,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Outcome> {
    // A number is meant for the paper's metric: that is where a strength of 1 means something.
    let base = if config.strength.fixed().is_some() { PosteriorConfig::paper } else { PosteriorConfig::new };
    let settings = PosteriorConfig { strength: config.strength, ..base(method) };
    let posterior = Posterior::of_network(&model.loss, &model.laplace, settings)?;
    let count = requested(method, config);
    watch.begin(&format!("drawing from {method}"), count);
    let begun = Instant::now();
    let progress = |_: &riemla::posterior::Draw| watch.step();
    let control = Control::default().observing(&progress).stopping(stop);
    let set = posterior.sample(config.seed, count, control)?;
    let seconds = begun.elapsed().as_secs_f64();
    if set.draws.is_empty() {
        let error = set.failed.into_iter().next().map(|(_, error)| error);
        let reason = error.as_ref().map_or("interrupted before its first draw".into(), Error::to_string);
        return Ok(Outcome::Nothing { reason, error });
    }
    watch.begin(&format!("predicting with {method}"), 0);
    Ok(Outcome::Drawn(Box::new(assess(model, data, config, &set)?), seconds))
}

/// The strength that the draws were made with.
fn strength(set: &SampleSet, config: &DemoConfig) -> Option<f64> {
    set.calibration.as_ref().map(|found| found.strength).or(config.strength.fixed())
}

/// The trained weights are one point: more draws would repeat it.
fn requested(method: Method, config: &DemoConfig) -> u64 {
    if method == Method::Map { 1 } else { config.samples }
}

fn assess(model: &Model, data: &DemoData, config: &DemoConfig, set: &SampleSet) -> Result<MethodResult> {
    let thetas = set.thetas();
    let labels = data.test.labels().unwrap_or_default();
    let test = predict(model, set.method, &thetas, data.test.inputs())?;
    let far = predict(model, set.method, &thetas, &data.far)?;
    let nodes = predict(model, set.method, &thetas[..thetas.len().min(MAP_DRAWS)], &data.nodes)?;
    let objective = objective(model, set.method)?;
    let uncertain = set.method != Method::Map;
    Ok(MethodResult {
        method: set.method,
        requested: requested(set.method, config),
        draws: set.draws.len() as u64,
        scores: scores(&test, labels, &far)?,
        reliability: score::reliability_bins(&test.probabilities, CLASSES, labels, BINS)?,
        strength: set.method.is_riemannian().then(|| strength(set, config)).flatten(),
        virial_ratio: uncertain.then(|| virial_ratio(&*objective, model.laplace.gaussian.theta(), &thetas)),
        counters: set.method.is_riemannian().then(|| set.counters()),
        failed: set.failed.iter().map(FailedDraw::new).collect(),
        records: set.draws.iter().map(|draw| DrawRecord::new(draw, &*objective)).collect(),
        map: Map {
            probability: nodes.probabilities.chunks_exact(CLASSES).map(|p| p[1]).collect(),
            epistemic: nodes.epistemic.unwrap_or_default(),
        },
    })
}

/// The loss that a method's draws are judged by: of the network that makes its predictions.
fn objective(model: &Model, method: Method) -> Result<Box<dyn Objective>> {
    let loss = model.loss.with(model.loss.likelihood(), model.loss.prior().clone())?;
    Ok(if method.is_linearized() {
        Box::new(LinearizedLoss::new(loss, model.laplace.gaussian.theta())?)
    } else {
        Box::new(loss)
    })
}

fn predict(model: &Model, method: Method, thetas: &[&[f64]], inputs: &[f64]) -> Result<ClassPrediction> {
    let outputs = NetworkOutputs::new(model.network.clone(), Likelihood::Categorical)?;
    let gaussian = model.laplace.gaussian.clone();
    let predictor = Predictor {
        model: riemla::predict::Predictor::new(Arc::new(outputs), method, gaussian),
        thetas: thetas.iter().map(|theta| theta.to_vec()).collect(),
        scale: None,
    };
    match predictor.predict(inputs)? {
        Prediction::Classes(classes) => Ok(classes),
        Prediction::Values(_) => Err(Error::Unsupported("the demonstration predicts classes".into())),
    }
}

fn scores(test: &ClassPrediction, labels: &[usize], far: &ClassPrediction) -> Result<Scores> {
    let p = &test.probabilities;
    let doubt = |p: &ClassPrediction| -> Result<Vec<f64>> {
        Ok(score::max_probabilities(&p.probabilities, CLASSES)?.iter().map(|p| 1.0 - p).collect())
    };
    let (near, away) = (doubt(test)?, doubt(far)?);
    let confidence = |doubts: &[f64]| 1.0 - doubts.iter().sum::<f64>() / doubts.len() as f64;
    Ok(Scores {
        accuracy: score::accuracy(p, CLASSES, labels)?,
        nll: score::nll(p, CLASSES, labels)?,
        brier: score::brier(p, CLASSES, labels)?,
        ece: score::ece(p, CLASSES, labels, BINS)?,
        mce: score::mce(p, CLASSES, labels, BINS)?,
        auroc_far: score::auroc(&away, &near)?,
        confidence_test: confidence(&near),
        confidence_far: confidence(&away),
    })
}
