//! How good a posterior is on test data, compared with cheaper baselines.
//!
//! The trained weights alone, the same with a temperature, the Laplace approximation with exact and
//! with linearised predictions, and every set of draws, on the same rows: scores with bootstrap
//! intervals, differences with their own intervals, and how well out-of-distribution data are recognised.

mod figures;
mod ood;
mod report;
mod result;
mod selective;
mod ways;

use std::path::Path;

use riemla::score::Bootstrap;

use super::error::Result;
use super::guarantees::Wanted;
use super::held_out::held_out_rows;
use super::input::DataFiles;
use super::members::{Posteriors, Weighting};
use super::predictor::scales;
use crate::scores::{ScoreKind, Scorer, decoded_targets, kinds, proper};
use crate::watch::Watch;
use result::loss_to_map;
use ways::{Source, Way, ways};

pub use ood::OodResult;
pub use report::report;
pub use result::{Evaluation, MethodResult};
pub use selective::Selective;

/// What is asked of an evaluation.
#[derive(Debug, Clone)]
pub struct EvaluateConfig {
    /// Data with targets.
    pub data: DataFiles,
    /// Data of another kind, that should be recognised as such.
    pub ood: Vec<DataFiles>,
    /// Held-out rows for the temperature; those kept in the posterior if none.
    pub validation: Option<DataFiles>,
    /// Sets of draws; all there are if empty.
    pub sets: Vec<String>,
    /// Resamples and level of the intervals.
    pub bootstrap: Bootstrap,
    /// An error rate and a coverage to keep, by the held-out rows.
    pub wanted: Wanted,
    /// How much each member counts, if there are several.
    pub weighting: Weighting,
}

/// Evaluates a posterior directory.
pub fn evaluate(directory: &Path, config: &EvaluateConfig, watch: &dyn Watch) -> Result<Evaluation> {
    watch.begin("reading", 0);
    let posteriors = Posteriors::read(directory, config.weighting)?;
    let saved = posteriors.first();
    let mut notes = Vec::new();
    let data = config.data.labelled(&saved.model, &mut notes)?;
    let others = config.ood.iter().map(|files| files.inputs(&saved.model, &mut notes));
    let others = others.collect::<Result<Vec<_>>>()?;
    let held_out = held_out_rows(saved, config.validation.as_ref(), &mut notes)?;
    let ways = ways(&posteriors, held_out.as_ref(), config, &mut notes)?;
    let targets = decoded_targets(data.targets(), &scales(&saved.model));
    let kind = saved.laplace.likelihood.kind();
    let scorer = Scorer::default();
    let mut methods: Vec<MethodResult> = Vec::new();
    for Way { name, method, source, summary } in &ways {
        watch.begin(&format!("predicting with {name}"), 0);
        let prediction = source.predict(data.inputs(), data.len())?;
        watch.begin(&format!("scoring {name}"), 0);
        let interval = |kind: &ScoreKind| scorer.interval(kind, &prediction, &targets, &config.bootstrap);
        let scores = kinds(kind).iter().map(interval).collect::<riemla::Result<_>>()?;
        let base = methods.first().map(|map| &map.prediction);
        let gain = |map| scorer.difference(proper(kind), (&prediction, map), &targets, &config.bootstrap);
        let gain = base.map(gain).transpose()?;
        let mut ood = Vec::new();
        for (files, inputs) in config.ood.iter().zip(&others) {
            let name = files.data.display().to_string();
            let rows = inputs.len() / saved.model.network.input.len().max(1);
            ood.push(OodResult::new(name, &prediction, &source.predict(inputs, rows)?, &config.bootstrap)?);
        }
        let mut missing = Vec::new();
        let of = (&prediction, &targets);
        let selective = Selective::new(source, held_out.as_ref(), config.wanted, of, &mut missing)?;
        notes.extend(missing.into_iter().map(|reason| format!("{name}: {reason}")));
        let per_target = scorer.per_target(&prediction, &targets)?;
        let (name, method, draws, summary) = (name.clone(), *method, source.draws(), summary.clone());
        methods.push(MethodResult {
            name,
            method,
            draws,
            scores,
            per_target,
            gain,
            prediction,
            ood,
            selective,
            summary,
        });
    }
    let drawn = methods.iter().filter(|method| method.summary.is_some());
    notes.extend(drawn.filter_map(|method| loss_to_map(&method.name, proper(kind).name, method.gain?)));
    let temperature = ways.iter().find_map(|way| way.source.temperature());
    Ok(Evaluation {
        posterior: directory.display().to_string(),
        data: config.data.data.display().to_string(),
        prior_precision: saved.prior_precision(),
        likelihood: saved.laplace.likelihood,
        model: saved.model.clone(),
        targets,
        methods,
        temperature,
        bootstrap: config.bootstrap,
        notes,
    })
}
