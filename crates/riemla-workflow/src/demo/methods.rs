//! One posterior: its draws, its predictions, its scores.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use riemla::Control;
use riemla::data::Targets;
use riemla::objective::{Likelihood, LinearizedLoss, Objective};
use riemla::posterior::{Method, NetworkOutputs, Posterior, PosteriorConfig, SampleSet, virial_ratio};
use riemla::predict::Prediction;
use riemla::{Error, Result};

use super::DemoConfig;
use super::data::DemoData;
use super::fit::Model;
use super::result::{DrawRecord, FailedDraw, Map, MethodResult, Scores};
use crate::scores::{Doubts, Scorer};
use crate::watch::Watch;
use crate::workflow::Predictor;

/// Draws that maps are made of: more change nothing that an eye could see.
pub(super) const MAP_DRAWS: usize = 200;
/// Confidences in ten bins.
const SCORER: Scorer = Scorer { bins: 10 };

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
    let test = predict(model, set.method, &thetas, data.test.inputs())?;
    let far = predict(model, set.method, &thetas, &data.far)?;
    let nodes = predict(model, set.method, &thetas[..thetas.len().min(MAP_DRAWS)], &data.nodes)?;
    let Prediction::Classes(nodes) = nodes else {
        return Err(Error::Unsupported("the demonstration predicts classes".into()));
    };
    let objective = objective(model, set.method)?;
    let uncertain = set.method != Method::Map;
    Ok(MethodResult {
        method: set.method,
        requested: requested(set.method, config),
        draws: set.draws.len() as u64,
        scores: scores(&test, data.test.targets(), &far)?,
        reliability: SCORER.reliability(&test, data.test.targets())?,
        strength: set.method.is_riemannian().then(|| strength(set, config)).flatten(),
        virial_ratio: uncertain.then(|| virial_ratio(&*objective, model.laplace.gaussian.theta(), &thetas)),
        counters: set.method.is_riemannian().then(|| set.counters()),
        failed: set.failed.iter().map(FailedDraw::new).collect(),
        records: set.draws.iter().map(|draw| DrawRecord::new(draw, &*objective)).collect(),
        map: Map {
            probability: nodes.probabilities.chunks_exact(nodes.classes).map(|p| p[1]).collect(),
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

fn predict(model: &Model, method: Method, thetas: &[&[f64]], inputs: &[f64]) -> Result<Prediction> {
    let outputs = NetworkOutputs::new(model.network.clone(), Likelihood::Categorical)?;
    let gaussian = model.laplace.gaussian.clone();
    let predictor = Predictor {
        model: riemla::predict::Predictor::new(Arc::new(outputs), method, gaussian),
        thetas: thetas.iter().map(|theta| theta.to_vec()).collect(),
        scale: None,
    };
    predictor.predict(inputs)
}

fn scores(test: &Prediction, targets: &Targets, far: &Prediction) -> Result<Scores> {
    let (near, away) = (Doubts::of(test)?, Doubts::of(far)?);
    let mut found = SCORER.all(test, targets)?;
    found.extend(near.areas(&away)?);
    let named =
        |name: &str| found.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value);
    let confidence = |doubts: &[f64]| 1.0 - doubts.iter().sum::<f64>() / doubts.len() as f64;
    Ok(Scores {
        accuracy: named("accuracy"),
        nll: named("nll"),
        brier: named("brier"),
        ece: named("ece"),
        mce: named("mce"),
        auroc_far: named("auroc"),
        confidence_test: confidence(&near.confidence),
        confidence_far: confidence(&away.confidence),
    })
}
