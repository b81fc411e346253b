//! One posterior: its draws, its predictions, its scores.

use std::time::Instant;

use riemla::geometry::Counters;
use riemla::posterior::{Draw, Method, PosteriorConfig};
use riemla::score::Bootstrap;

use super::fit::Model;
use super::result::{DrawRecord, FailedDraw, Map, MethodResult, Scores};
use super::{Demo, DemoConfig};
use crate::scores::Scorer;
use crate::watch::Steps;
use crate::workflow::draws::assembled;
use crate::workflow::evaluate::{Judge, Way};
use crate::workflow::guarantees::Wanted;
use crate::workflow::{Kept, Result, SampleConfig, WorkflowError, draw_model, posterior_of};

/// Draws that maps are made of: more change nothing that an eye could see.
pub(super) const MAP_DRAWS: usize = 200;
/// Confidences in ten bins.
const SCORER: Scorer = Scorer { bins: 10 };
/// The report shows no intervals.
const RESAMPLES: usize = 2;

/// At least one draw, and the seconds that drawing took; or why there is none.
pub(super) type Outcome = std::result::Result<(MethodResult, f64), String>;

pub(super) fn run(demo: &Demo<'_>, model: &Model, method: Method) -> Result<Outcome> {
    let Demo { config, session, .. } = *demo;
    let watch = session.watch;
    // A number is meant for the paper's metric: that is where a strength of 1 means something.
    let base =
        if config.strength.fixed().is_some() { PosteriorConfig::paper } else { PosteriorConfig::of_commands };
    let posterior = PosteriorConfig { strength: config.strength, ..base(method) };
    let settings = SampleConfig::new(posterior.clone(), requested(method, config), config.seed);
    watch.begin(&format!("drawing from {method}"), settings.samples);
    let drawn = posterior_of(&model.saved, &posterior)?;
    let begun = Instant::now();
    let kept = match draw_model(drawn, None, &settings, session.watched_by(&Steps(watch))) {
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
    Ok(Ok((assess(demo, model, &posterior, &kept)?, seconds)))
}

/// The trained weights are one point: more draws would repeat it.
fn requested(method: Method, config: &DemoConfig) -> u64 {
    if method == Method::Map { 1 } else { config.samples }
}

fn assess(demo: &Demo<'_>, model: &Model, config: &PosteriorConfig, kept: &Kept) -> Result<MethodResult> {
    let (data, method) = (&demo.data, config.method);
    let judge = Judge {
        scorer: SCORER,
        targets: data.test.targets().clone(),
        data: &data.test,
        others: &data.far,
        held_out: None,
        bootstrap: Bootstrap { resamples: RESAMPLES, ..Bootstrap::default() },
        wanted: Wanted::default(),
        watch: demo.session.watch,
    };
    let thetas: Vec<Vec<f64>> = kept.draws.iter().map(|draw| draw.theta.clone()).collect();
    let predictor = assembled(&model.saved, &config.clone().into(), thetas.clone())?;
    let found = judge.result(&Way::of(method.into(), predictor.into()), None, &mut Vec::new())?;
    // The loss that draws are judged by: of the network that makes the predictions.
    let target = posterior_of(&model.saved, config)?;
    let rows: Vec<&[f64]> = thetas.iter().map(Vec::as_slice).collect();
    let virial = (method != Method::Map).then(|| target.virial_ratio(&rows)).transpose()?;
    let losses = target.loss_rises(&rows)?.into_iter().map(|rise| model.training.loss + rise);
    let record = |(draw, loss): (&Draw, f64)| {
        let Draw { index, geodesic, .. } = *draw;
        DrawRecord { index, loss, geodesic }
    };
    Ok(MethodResult {
        method,
        requested: requested(method, demo.config),
        draws: kept.draws.len() as u64,
        scores: Scores::of(&found)?,
        reliability: SCORER.reliability(&found.prediction, data.test.targets())?,
        strength: kept.made.strength,
        virial_ratio: virial,
        counters: method.is_riemannian().then(|| counters(kept)),
        failed: kept.failed.iter().cloned().map(|(index, reason)| FailedDraw { index, reason }).collect(),
        records: kept.draws.iter().zip(losses).map(record).collect(),
        map: map(demo, model, config, &thetas[..thetas.len().min(MAP_DRAWS)])?,
    })
}

/// Predictions at the nodes of maps.
fn map(demo: &Demo<'_>, model: &Model, config: &PosteriorConfig, thetas: &[Vec<f64>]) -> Result<Map> {
    let predictor = assembled(&model.saved, &config.clone().into(), thetas.to_vec())?;
    let nodes = predictor.predict(&demo.data.nodes)?;
    let Some(nodes) = nodes.classes() else { return Ok(Map::default()) };
    Ok(Map {
        probability: nodes.probabilities.chunks_exact(nodes.classes).map(|p| p[1]).collect(),
        epistemic: nodes.epistemic.clone().unwrap_or_default(),
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
