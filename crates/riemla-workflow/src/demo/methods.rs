//! One posterior: its draws, its predictions, its scores.

use std::sync::Arc;
use std::time::Instant;

use riemla::data::Targets;
use riemla::geometry::Counters;
use riemla::objective::{Likelihood, LinearizedLoss, Objective};
use riemla::posterior::{Draw, Method, NetworkOutputs, Posterior, PosteriorConfig, virial_ratio};
use riemla::predict::Prediction;
use riemla::{Error, Result};

use super::fit::Model;
use super::result::{DrawRecord, FailedDraw, Map, MethodResult, Scores};
use super::{Demo, DemoConfig, DemoError};
use crate::scores::{Doubts, Scorer};
use crate::watch::Steps;
use crate::workflow::predictor::Way;
use crate::workflow::{Kept, Predictor, SampleConfig, WorkflowError, draw_model};

/// Draws that maps are made of: more change nothing that an eye could see.
pub(super) const MAP_DRAWS: usize = 200;
/// Confidences in ten bins.
const SCORER: Scorer = Scorer { bins: 10 };

/// At least one draw, and the seconds that drawing took; or why there is none.
pub(super) type Outcome = std::result::Result<(MethodResult, f64), String>;

pub(super) fn run(demo: &Demo<'_>, model: &Model, method: Method) -> std::result::Result<Outcome, DemoError> {
    let Demo { config, session, .. } = *demo;
    let watch = session.watch;
    // A number is meant for the paper's metric: that is where a strength of 1 means something.
    let base =
        if config.strength.fixed().is_some() { PosteriorConfig::paper } else { PosteriorConfig::of_commands };
    let settings = PosteriorConfig { strength: config.strength, ..base(method) };
    let posterior = Posterior::of_network(&model.loss, &model.laplace, settings)?;
    let settings = SampleConfig::new(posterior.config().clone(), requested(method, config), config.seed);
    watch.begin(&format!("drawing from {method}"), settings.samples);
    let begun = Instant::now();
    let kept = match draw_model(posterior, None, &settings, session.watched_by(&Steps(watch))) {
        Err(WorkflowError::Interrupted) => {
            return Ok(Err("interrupted before its first draw".into()));
        }
        kept => kept?,
    };
    let seconds = begun.elapsed().as_secs_f64();
    if kept.draws.is_empty() {
        let reason = kept.failed.first().map_or("interrupted before its first draw", |(_, reason)| reason);
        return Ok(Err(reason.into()));
    }
    watch.begin(&format!("predicting with {method}"), 0);
    Ok(Ok((assess(demo, model, method, &kept)?, seconds)))
}

/// The trained weights are one point: more draws would repeat it.
fn requested(method: Method, config: &DemoConfig) -> u64 {
    if method == Method::Map { 1 } else { config.samples }
}

fn assess(demo: &Demo<'_>, model: &Model, method: Method, kept: &Kept) -> Result<MethodResult> {
    let data = &demo.data;
    let thetas: Vec<&[f64]> = kept.draws.iter().map(|draw| draw.theta.as_slice()).collect();
    let test = predict(model, method, &thetas, data.test.inputs())?;
    let far = predict(model, method, &thetas, &data.far)?;
    let nodes = predict(model, method, &thetas[..thetas.len().min(MAP_DRAWS)], &data.nodes)?;
    let Prediction::Classes(nodes) = nodes else {
        return Err(Error::Unsupported("the demonstration predicts classes".into()));
    };
    let objective = objective(model, method)?;
    let uncertain = method != Method::Map;
    let record = |draw: &Draw| DrawRecord {
        index: draw.index,
        loss: objective.value(&draw.theta),
        geodesic: draw.geodesic,
    };
    Ok(MethodResult {
        method,
        requested: requested(method, demo.config),
        draws: kept.draws.len() as u64,
        scores: scores(&test, data.test.targets(), &far)?,
        reliability: SCORER.reliability(&test, data.test.targets())?,
        strength: kept.made.strength,
        virial_ratio: uncertain.then(|| virial_ratio(&*objective, model.laplace.gaussian.theta(), &thetas)),
        counters: method.is_riemannian().then(|| counters(kept)),
        failed: kept.failed.iter().cloned().map(|(index, reason)| FailedDraw { index, reason }).collect(),
        records: kept.draws.iter().map(record).collect(),
        map: Map {
            probability: nodes.probabilities.chunks_exact(nodes.classes).map(|p| p[1]).collect(),
            epistemic: nodes.epistemic.unwrap_or_default(),
        },
    })
}

/// The work of all geodesics, with the search for the strength.
fn counters(kept: &Kept) -> Counters {
    let mut total = kept.made.found.as_ref().map_or(Counters::default(), |found| found.counters);
    kept.draws.iter().filter_map(|draw| draw.geodesic).for_each(|geodesic| total += geodesic.counters);
    total.gradients += kept.made.polish.as_ref().map_or(0, |found| found.search_gradients);
    total.gradients +=
        kept.draws.iter().filter_map(|draw| draw.polish).map(|polish| polish.gradients).sum::<usize>();
    total
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
        way: Way::Draws,
        scales: Vec::new(),
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
