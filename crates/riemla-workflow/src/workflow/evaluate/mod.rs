//! How good a posterior is on data it has not seen, beside what is cheaper.
//!
//! The trained weights alone, the same with a temperature, the Laplace approximation with exact and
//! with linearised predictions, and every set of draws, on the same rows: scores with bootstrap
//! intervals, differences with intervals of their own, and how well data of another kind are told apart.

mod figures;
mod ood;
mod report;
mod result;

use std::path::Path;

use riemla::data::Dataset;
use riemla::predict::{Prediction, Temperature, TemperatureStatus, fit_temperature};
use riemla::score::Bootstrap;
use riemla_files::SavedPosterior;

use super::draws::{DrawnSet, assembled, drawn, set_names};
use super::error::{Result, WorkflowError};
use super::held_out::too_few;
use super::input::DataFiles;
use super::predictor::{Predictor, decoded};
use super::sample::read_posterior;
use crate::method::MethodName;
use crate::scores::{ScoreKind, Scorer, decoded_targets, kinds, proper};
use crate::watch::Watch;

pub use ood::OodResult;
pub use report::report;
pub use result::{Evaluation, MethodResult};

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
}

/// Evaluates a posterior directory.
pub fn evaluate(directory: &Path, config: &EvaluateConfig, watch: &dyn Watch) -> Result<Evaluation> {
    watch.begin("reading", 0);
    let saved = read_posterior(directory)?;
    let mut notes = Vec::new();
    let data = config.data.labelled(&saved.model, &mut notes)?;
    let others = config.ood.iter().map(|files| files.inputs(&saved.model, &mut notes));
    let others = others.collect::<Result<Vec<_>>>()?;
    let predictors = predictors(directory, &saved, config, &mut notes)?;
    let targets = decoded_targets(data.targets(), predictors[0].2.scale());
    let scorer = Scorer::default();
    let mut methods: Vec<MethodResult> = Vec::new();
    for (name, method, way) in &predictors {
        watch.begin(&format!("predicting with {name}"), 0);
        let prediction = way.predict(data.inputs())?;
        watch.begin(&format!("scoring {name}"), 0);
        let interval = |kind: &ScoreKind| scorer.interval(kind, &prediction, &targets, &config.bootstrap);
        let scores = kinds(&targets).iter().map(interval).collect::<riemla::Result<_>>()?;
        let base = methods.first().map(|map| &map.prediction);
        let gain = |map| scorer.difference(proper(&targets), (&prediction, map), &targets, &config.bootstrap);
        let gain = base.map(gain).transpose()?;
        let mut ood = Vec::new();
        for (files, inputs) in config.ood.iter().zip(&others) {
            let name = files.data.display().to_string();
            ood.push(OodResult::new(name, &prediction, &way.predict(inputs)?, &config.bootstrap)?);
        }
        let (name, method, draws) = (name.clone(), *method, way.draws());
        methods.push(MethodResult { name, method, draws, scores, gain, prediction, ood });
    }
    let temperature = predictors.iter().find_map(|(_, _, way)| way.temperature());
    Ok(Evaluation {
        posterior: directory.display().to_string(),
        data: config.data.data.display().to_string(),
        model: saved.model,
        targets,
        methods,
        temperature,
        bootstrap: config.bootstrap,
        notes,
    })
}

/// One way to predict.
enum Way {
    Draws(Predictor),
    Temperature(Predictor, Temperature),
}

impl Way {
    fn draws(&self) -> usize {
        match self {
            Self::Draws(predictor) | Self::Temperature(predictor, _) => predictor.thetas.len(),
        }
    }

    fn scale(&self) -> Option<riemla_files::encoding::Scale> {
        match self {
            Self::Draws(predictor) | Self::Temperature(predictor, _) => predictor.scale,
        }
    }

    fn temperature(&self) -> Option<Temperature> {
        if let Self::Temperature(_, temperature) = self { Some(*temperature) } else { None }
    }

    fn predict(&self, inputs: &[f64]) -> riemla::Result<Prediction> {
        match self {
            Self::Draws(predictor) => predictor.predict(inputs),
            Self::Temperature(map, temperature) => {
                let outputs = outputs_of(map, inputs)?;
                let prediction =
                    temperature.predict(&outputs, map.model.likelihood(), map.model.output_len())?;
                Ok(decoded(prediction, map.scale))
            }
        }
    }
}

/// Outputs of the trained weights, row-major.
fn outputs_of(map: &Predictor, inputs: &[f64]) -> riemla::Result<Vec<f64>> {
    let theta: Vec<&[f64]> = map.thetas.iter().map(Vec::as_slice).collect();
    Ok(map.model.outputs(&theta, inputs)?.swap_remove(0))
}

/// All ways to predict, the trained weights first.
fn predictors(
    directory: &Path,
    saved: &SavedPosterior,
    config: &EvaluateConfig,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, MethodName, Way)>> {
    let there = set_names(directory)?;
    let sets = if config.sets.is_empty() { there } else { config.sets.clone() };
    if sets.is_empty() {
        notes.push(format!(
            "{} has no draws of geodesics yet: `riemla sample {0}` makes them",
            directory.display()
        ));
    }
    let of_set = |name: &str| -> Result<(String, MethodName, Predictor)> {
        let DrawnSet { config, thetas, .. } = drawn(saved, directory, name)?;
        Ok((name.into(), (&config).into(), assembled(saved, &config, thetas)?))
    };
    let (name, method, map) = of_set(MethodName::Map.name())?;
    let mut all = vec![(name, method, Way::Draws(map.clone()))];
    if let Some(temperature) = temperature(&map, held_out(saved, config, notes)?, notes)? {
        let method = MethodName::MapTemperature;
        all.push((method.name().into(), method, Way::Temperature(map, temperature)));
    }
    let cheap = [MethodName::La.name(), MethodName::LinLa.name()];
    let others = sets.iter().map(String::as_str).filter(|name| !cheap.contains(name));
    for name in cheap.into_iter().chain(others) {
        let (name, method, predictor) = of_set(name)?;
        all.push((name, method, Way::Draws(predictor)));
    }
    Ok(all)
}

/// The temperature that held-out rows ask for; none, with a note, if they are too few to say.
fn temperature(
    map: &Predictor,
    held_out: Option<Dataset>,
    notes: &mut Vec<String>,
) -> Result<Option<Temperature>> {
    let Some(held_out) = held_out else {
        let note = "no temperature: it needs rows that were not trained on; give some with --validation";
        notes.push(note.into());
        return Ok(None);
    };
    let outputs = outputs_of(map, held_out.inputs())?;
    if let Some(reason) = too_few(&outputs, map.model.likelihood(), &held_out) {
        notes.push(format!("no temperature: {reason}; give more with --validation"));
        return Ok(None);
    }
    let temperature = fit_temperature(&outputs, map.model.likelihood(), held_out.targets())?;
    if temperature.status != TemperatureStatus::Converged {
        notes.push(format!("temperature: {}", temperature.status));
    }
    Ok(Some(temperature))
}

fn held_out(
    saved: &SavedPosterior,
    config: &EvaluateConfig,
    notes: &mut Vec<String>,
) -> Result<Option<Dataset>> {
    match &config.validation {
        Some(files) => files.labelled(&saved.model, notes).map(Some),
        None => Ok(saved.data.as_ref().and_then(|data| data.validation.clone())),
    }
}

impl From<crate::plot::PlotError> for WorkflowError {
    fn from(error: crate::plot::PlotError) -> Self {
        Self::Unfit(format!("a figure cannot be drawn: {error}"))
    }
}
