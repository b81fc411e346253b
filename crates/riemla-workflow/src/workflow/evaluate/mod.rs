//! How good a posterior is on test data, compared with cheaper baselines.
//!
//! The trained weights alone, the same with a temperature, the Laplace approximation with exact and
//! with linearised predictions, and every set of draws, on the same rows: scores with bootstrap
//! intervals, differences with their own intervals, and how well out-of-distribution data are recognised.

mod figures;
mod made_from;
mod ood;
mod report;
mod result;
mod selective;
mod ways;

use std::path::Path;

use riemla::data::{Dataset, Targets};
use riemla::score::Bootstrap;

use super::error::Result;
use super::guarantees::Wanted;
use super::held_out::held_out_rows;
use super::input::DataFiles;
use super::members::{Posteriors, Weighting};
use super::predictor::scales;
use crate::method::MethodName;
use crate::scores::{ScoreKind, Scorer, decoded_targets, kind_of, kinds, proper};
use crate::watch::Watch;
use result::{advised, loss_to_map, share_note, temperature_note};
use ways::{Source, ways};

pub(crate) use ways::Way;

pub use made_from::MadeFrom;
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
    /// Held-out rows for temperatures; those kept in the posterior if none.
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
    let other = |files: &DataFiles| {
        let inputs = files.inputs(&saved.model, &mut notes)?;
        Ok((files.data.display().to_string(), inputs))
    };
    let others = config.ood.iter().map(other).collect::<Result<Vec<_>>>()?;
    let held_out = held_out_rows(saved, config.validation.as_ref(), &mut notes)?;
    let ways = ways(&posteriors, held_out.as_ref(), config, &mut notes)?;
    let judge = Judge {
        scorer: Scorer::default(),
        targets: decoded_targets(data.targets(), &scales(&saved.model)),
        data: &data,
        others: &others,
        held_out: held_out.as_ref(),
        bootstrap: config.bootstrap,
        wanted: config.wanted,
        watch,
    };
    let mut methods: Vec<MethodResult> = Vec::new();
    for way in &ways {
        let found = judge.result(way, methods.first(), &mut notes)?;
        methods.push(found);
    }
    let name = proper(saved.laplace.likelihood.kind()).name;
    notes.extend(temperature_note(&methods));
    notes.extend(share_note(&methods));
    notes.extend(advised(&methods).filter_map(|method| loss_to_map(&method.name, name, method.gain?)));
    let map = methods.iter().find(|method| method.method == MethodName::MapTemperature);
    let temperature = map.and_then(|method| method.temperature);
    let made_from = MadeFrom::new(&posteriors, &data, &others, held_out.as_ref(), config);
    Ok(Evaluation {
        posterior: directory.display().to_string(),
        data: config.data.data.display().to_string(),
        prior_precision: saved.prior_precision(),
        likelihood: saved.laplace.likelihood,
        model: saved.model.clone(),
        targets: judge.targets,
        methods,
        made_from,
        temperature,
        bootstrap: config.bootstrap,
        notes,
    })
}

/// What every way to predict is judged by.
pub(crate) struct Judge<'a> {
    pub scorer: Scorer,
    /// The truth, in the units of predictions.
    pub targets: Targets,
    /// The rows it belongs to.
    pub data: &'a Dataset,
    /// Inputs of other kinds, with their names.
    pub others: &'a [(String, Vec<f64>)],
    pub held_out: Option<&'a Dataset>,
    pub bootstrap: Bootstrap,
    pub wanted: Wanted,
    pub watch: &'a dyn Watch,
}

impl Judge<'_> {
    /// Predicts and scores in one way; `map` is what the gain is over.
    pub fn result(
        &self,
        way: &Way,
        map: Option<&MethodResult>,
        notes: &mut Vec<String>,
    ) -> Result<MethodResult> {
        let Self { scorer, targets, data, bootstrap, .. } = self;
        let Way { name, method, source, summary } = way;
        self.watch.begin(&format!("predicting with {name}"), 0);
        let prediction = source.predict(data.inputs(), data.len())?;
        self.watch.begin(&format!("scoring {name}"), 0);
        let kind = kind_of(&prediction);
        let interval = |kind: &ScoreKind| scorer.interval(kind, &prediction, targets, bootstrap);
        let scores = kinds(kind).iter().map(interval).collect::<riemla::Result<_>>()?;
        let pair = |map: &MethodResult| {
            scorer.difference(proper(kind), &prediction, &map.prediction, targets, bootstrap)
        };
        let gain = map.map(pair).transpose()?;
        let mut ood = Vec::new();
        for (name, inputs) in self.others {
            let strange = source.predict(inputs, inputs.len() / data.features().max(1))?;
            ood.push(OodResult::new(name.clone(), &prediction, strange, bootstrap)?);
        }
        let mut missing = Vec::new();
        let of = (&prediction, targets);
        let selective = Selective::new(source, self.held_out, self.wanted, of, &mut missing)?;
        notes.extend(missing.into_iter().map(|reason| format!("{name}: {reason}")));
        Ok(MethodResult {
            name: name.clone(),
            method: *method,
            draws: source.draws(),
            theta: source.digests(),
            temperature: source.temperature(),
            trained_share: source.trained_share(),
            scores,
            per_target: scorer.per_target(&prediction, targets)?,
            gain,
            prediction,
            ood,
            selective,
            summary: summary.clone(),
        })
    }
}
