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

use std::path::Path;

use riemla::data::Dataset;
use riemla::objective::Likelihood;
use riemla::predict::{Prediction, Temperature};
use riemla::score::Bootstrap;
use riemla_files::SavedPosterior;
use riemla_files::encoding::Scale;

use super::draws::{DrawnSet, assembled, closed_form, drawn, predictor, set_names};
use super::error::{Result, WorkflowError};
use super::guarantees::Wanted;
use super::held_out::{at_temperature, held_out_rows};
use super::input::DataFiles;
use super::predictor::{self, Predictor, decoded, scales};
use super::sample::{SAMPLES_DIRECTORY, read_posterior};
use super::set_summary::SetSummary;
use crate::method::MethodName;
use crate::scores::{ScoreKind, Scorer, constant, decoded_targets, kinds, proper};
use crate::watch::Watch;

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
}

/// Evaluates a posterior directory.
pub fn evaluate(directory: &Path, config: &EvaluateConfig, watch: &dyn Watch) -> Result<Evaluation> {
    watch.begin("reading", 0);
    let saved = read_posterior(directory)?;
    let mut notes = Vec::new();
    let data = config.data.labelled(&saved.model, &mut notes)?;
    let others = config.ood.iter().map(|files| files.inputs(&saved.model, &mut notes));
    let others = others.collect::<Result<Vec<_>>>()?;
    let held_out = held_out_rows(&saved, config.validation.as_ref(), &mut notes)?;
    let ways = ways(directory, &saved, held_out.as_ref(), config, &mut notes)?;
    let targets = decoded_targets(data.targets(), &scales(&saved.model));
    let kind = saved.laplace.likelihood.kind();
    let scorer = Scorer::default();
    let mut methods: Vec<MethodResult> = Vec::new();
    for Way { name, method, source } in &ways {
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
        let (name, method, draws) = (name.clone(), *method, source.draws());
        let summary = SetSummary::read(&directory.join(SAMPLES_DIRECTORY).join(&name))?;
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
    let temperature = ways.iter().find_map(|way| way.source.temperature());
    Ok(Evaluation {
        posterior: directory.display().to_string(),
        data: config.data.data.display().to_string(),
        prior_precision: saved.prior_precision(),
        likelihood: saved.laplace.likelihood,
        model: saved.model,
        targets,
        methods,
        temperature,
        bootstrap: config.bootstrap,
        notes,
    })
}

/// One way to predict.
struct Way {
    name: String,
    method: MethodName,
    source: Source,
}

/// Where its predictions come from.
enum Source {
    /// The training targets alone.
    Constant { train: Dataset, likelihood: Likelihood, outputs: usize, scales: Vec<Scale> },
    /// Weights.
    Weights(Predictor),
}

impl Source {
    fn draws(&self) -> usize {
        match self {
            Self::Constant { .. } => 0,
            Self::Weights(predictor) => predictor.thetas.len(),
        }
    }

    fn temperature(&self) -> Option<Temperature> {
        match self {
            Self::Weights(Predictor { way: predictor::Way::Temperature(temperature), .. }) => {
                Some(*temperature)
            }
            _ => None,
        }
    }

    fn predict(&self, inputs: &[f64], rows: usize) -> riemla::Result<Prediction> {
        match self {
            Self::Constant { train, likelihood, outputs, scales } => {
                Ok(decoded(constant(train, *likelihood, *outputs, rows), scales))
            }
            Self::Weights(predictor) => predictor.predict(inputs),
        }
    }
}

/// All ways to predict, the trained weights first.
fn ways(
    directory: &Path,
    saved: &SavedPosterior,
    held_out: Option<&Dataset>,
    config: &EvaluateConfig,
    notes: &mut Vec<String>,
) -> Result<Vec<Way>> {
    let there = set_names(directory)?;
    let sets = if config.sets.is_empty() { there } else { config.sets.clone() };
    if sets.is_empty() {
        notes.push(format!(
            "{} has no draws of geodesics yet: `riemla sample {0}` creates them",
            directory.display()
        ));
    }
    let weights = |name: &str, method: MethodName, predictor| Way {
        name: name.into(),
        method,
        source: Source::Weights(predictor),
    };
    let of_set = |name: &str| -> Result<Way> {
        let DrawnSet { config, thetas, .. } = drawn(saved, directory, name)?;
        Ok(weights(name, (&config).into(), assembled(saved, &config, thetas)?))
    };
    let named = |method: MethodName, predictor| weights(method.name(), method, predictor);
    let map = predictor(saved, directory, MethodName::Map.name())?;
    let mut all = vec![named(MethodName::Map, map.clone())];
    if let Some(data) = &saved.data {
        let source = Source::Constant {
            train: data.train.clone(),
            likelihood: saved.laplace.likelihood,
            outputs: map.model.output_len(),
            scales: scales(&saved.model),
        };
        let method = MethodName::Constant;
        all.push(Way { name: method.name().into(), method, source });
    }
    if let Some(at_temperature) = at_temperature(map, held_out, notes)? {
        all.push(named(MethodName::MapTemperature, at_temperature));
    }
    let cheap = [MethodName::La.name(), MethodName::LinLa.name()];
    let done = |name: &str| all.iter().any(|way| way.name == name) || cheap.contains(&name);
    let others: Vec<&str> = sets.iter().map(String::as_str).filter(|name| !done(name)).collect();
    for name in cheap.into_iter().chain(others) {
        all.push(match name.parse() {
            Ok(MethodName::LinLaProbit) => named(MethodName::LinLaProbit, closed_form(saved)?),
            _ => of_set(name)?,
        });
    }
    Ok(all)
}

impl From<crate::plot::PlotError> for WorkflowError {
    fn from(error: crate::plot::PlotError) -> Self {
        Self::Unfit(format!("a figure cannot be drawn: {error}"))
    }
}
