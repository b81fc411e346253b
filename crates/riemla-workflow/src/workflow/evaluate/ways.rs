//! The ways to predict that an evaluation compares: those of one posterior, and those of its members together.

use std::path::Path;

use riemla::data::Dataset;
use riemla::objective::Likelihood;
use riemla::predict::{Prediction, Temperature};
use riemla_files::encoding::Scale;
use riemla_files::{Digest, SavedPosterior};

use super::EvaluateConfig;
use crate::method::MethodName;
use crate::scores::constant;
use crate::workflow::draws::{
    AT_TEMPERATURE, DrawnSet, MIXED, assembled, closed_form, drawn, set_names, trained_beside,
};
use crate::workflow::error::Result;
use crate::workflow::folds::TrainedShare;
use crate::workflow::guarantees::Wanted;
use crate::workflow::held_out::{TemperatureChoice, temperature};
use crate::workflow::members::{Posteriors, Together};
use crate::workflow::predictor::{Predictor, decoded, scales};
use crate::workflow::sample::SAMPLES_DIRECTORY;
use crate::workflow::set_summary::SetSummary;

/// One way to predict.
pub(crate) struct Way {
    pub(super) name: String,
    pub(super) method: MethodName,
    pub(super) source: Source,
    /// What was found out about its draws.
    pub(super) summary: Option<SetSummary>,
}

/// Where its predictions come from.
pub(crate) enum Source {
    /// The training targets alone.
    Constant { train: Dataset, likelihood: Box<Likelihood>, outputs: usize, scales: Vec<Scale> },
    /// Weights.
    Weights(Together),
}

impl From<Predictor> for Source {
    fn from(only: Predictor) -> Self {
        Self::Weights(only.into())
    }
}

impl Source {
    pub(super) fn draws(&self) -> usize {
        match self {
            Self::Constant { .. } => 0,
            Self::Weights(together) => together.draws(),
        }
    }

    /// Outputs per row.
    fn outputs(&self) -> usize {
        match self {
            Self::Constant { outputs, .. } => *outputs,
            Self::Weights(together) => together.predictors[0].model.output_len(),
        }
    }

    /// The digest of the draws of each member.
    pub(super) fn digests(&self) -> Vec<Digest> {
        match self {
            Self::Constant { .. } => Vec::new(),
            Self::Weights(together) => together.predictors.iter().map(|one| digest(&one.thetas)).collect(),
        }
    }

    pub(super) fn temperature(&self) -> Option<Temperature> {
        match self {
            Self::Constant { .. } => None,
            Self::Weights(together) => together.temperature,
        }
    }

    /// What the trained weights count beside the draws, if they do.
    pub(super) fn trained_share(&self) -> Option<TrainedShare> {
        match self {
            Self::Weights(together) if together.mixed => together.beside.as_ref().map(|(found, _)| *found),
            _ => None,
        }
    }

    pub(super) fn predict(&self, inputs: &[f64], rows: usize) -> riemla::Result<Prediction> {
        match self {
            Self::Constant { train, likelihood, outputs, scales } => {
                Ok(decoded(constant(train, **likelihood, *outputs, rows), scales))
            }
            Self::Weights(together) => together.predict(inputs),
        }
    }
}

/// As in `samples.json`.
fn digest(thetas: &[Vec<f64>]) -> Digest {
    Digest::of_numbers(thetas.iter().map(Vec::as_slice))
}

/// What several members are called together, after the name of one.
const MEMBERS: &str = "-members";

impl Way {
    /// A method by its own name.
    pub(crate) fn of(method: MethodName, source: Source) -> Self {
        Self { name: method.name().into(), method, source, summary: None }
    }

    /// The same at a temperature fitted to held-out rows, or with the trained weights beside the draws: of averages only as new rows
    /// are predicted.
    fn at_temperature(&self, held_out: Option<&Dataset>, notes: &mut Vec<String>) -> Result<Option<Self>> {
        let Source::Weights(plain) = &self.source else { return Ok(None) };
        let (tempered, method) = if self.method == MethodName::Map && !plain.is_average() {
            let temperature = temperature(plain, held_out, notes)?;
            (Together { temperature, ..plain.clone() }, MethodName::MapTemperature)
        } else {
            (TemperatureChoice::Auto.apply(plain.clone(), held_out, Wanted::default())?, self.method)
        };
        let mixed = tempered.mixed;
        let name = match self.name.strip_suffix(MEMBERS) {
            _ if mixed => format!("{}{MIXED}", self.name),
            Some(one) => format!("{one}{AT_TEMPERATURE}{MEMBERS}"),
            None => format!("{}{AT_TEMPERATURE}", self.name),
        };
        let found = mixed || tempered.temperature.is_some();
        Ok(found.then(|| Self { name, method, source: Source::Weights(tempered), summary: None }))
    }
}

/// All ways to predict, each with what becomes of it for new rows behind it, the trained weights first.
pub(super) fn ways(
    posteriors: &Posteriors,
    held_out: Option<&Dataset>,
    config: &EvaluateConfig,
    notes: &mut Vec<String>,
) -> Result<Vec<Way>> {
    let mut all = Vec::new();
    for way in plain_ways(posteriors, config, notes)? {
        let tempered = way.at_temperature(held_out, notes)?;
        all.push(way);
        all.extend(tempered);
    }
    Ok(all)
}

/// All ways to predict. Where there are several members: those of the first without its
/// draws, to compare with, and every way of all of them together, named `…-members`.
fn plain_ways(posteriors: &Posteriors, config: &EvaluateConfig, notes: &mut Vec<String>) -> Result<Vec<Way>> {
    let [(directory, saved), others @ ..] = posteriors.members.as_slice() else { return Ok(Vec::new()) };
    let mut first = ways_of(directory, saved, config, notes)?;
    if others.is_empty() {
        return Ok(first);
    }
    let mut members = Vec::new();
    for (directory, saved) in others {
        // What there is to say about the rows was said for the first.
        members.push(ways_of(directory, saved, config, &mut Vec::new())?);
    }
    let mut all = Vec::new();
    for way in &first {
        let found: Vec<&Way> =
            members.iter().filter_map(|ways| ways.iter().find(|w| w.name == way.name)).collect();
        let of = |way: &&Way| match &way.source {
            Source::Weights(together) => Some(together.predictors.clone()),
            Source::Constant { .. } => None,
        };
        let predictors: Vec<Vec<Predictor>> = [&way].into_iter().chain(&found).filter_map(of).collect();
        if predictors.len() <= members.len() {
            if !matches!(way.source, Source::Constant { .. }) {
                let (here, there) = (predictors.len(), posteriors.members.len());
                notes
                    .push(format!("{}: only {here} of {there} members have it, so it is left out", way.name));
            }
            continue;
        }
        for (k, member) in [way].into_iter().chain(found.iter().copied()).enumerate() {
            let warnings = member.summary.iter().flat_map(|summary| &summary.warnings);
            notes.extend(warnings.map(|warning| format!("{} of member {}: {warning}", way.name, k + 1)));
        }
        let (predictors, weights) = (predictors.concat(), posteriors.weights.clone());
        let together = Together { predictors, weights, temperature: None, beside: None, mixed: false };
        all.push(Way {
            name: format!("{}{MEMBERS}", way.name),
            method: way.method,
            source: Source::Weights(together),
            summary: None,
        });
    }
    let alone = [MethodName::Map, MethodName::Constant];
    first.retain(|way| alone.contains(&way.method));
    first.extend(all);
    Ok(first)
}

/// The ways of one posterior, the trained weights first.
fn ways_of(
    directory: &Path,
    saved: &SavedPosterior,
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
    let of_set = |name: &str| -> Result<Way> {
        let DrawnSet { config, thetas, run, .. } = drawn(saved, directory, name)?;
        let summary = match run {
            Some(run) => {
                SetSummary::read(&directory.join(SAMPLES_DIRECTORY).join(name), &run, &digest(&thetas))?
            }
            None => None,
        };
        let (method, predictor) = ((&config).into(), assembled(saved, &config, thetas)?);
        let beside = trained_beside(saved, directory, name)?;
        let together = Together { beside, ..predictor.into() };
        Ok(Way { name: name.into(), summary, ..Way::of(method, Source::Weights(together)) })
    };
    let map = of_set(MethodName::Map.name())?;
    let outputs = map.source.outputs();
    let mut all = vec![map];
    if let Some(data) = &saved.data {
        let source = Source::Constant {
            train: data.train.clone(),
            likelihood: Box::new(saved.laplace.likelihood),
            outputs,
            scales: scales(&saved.model),
        };
        all.push(Way::of(MethodName::Constant, source));
    }
    let cheap = [MethodName::La.name(), MethodName::LinLa.name()];
    let done = |name: &str| all.iter().any(|way| way.name == name) || cheap.contains(&name);
    let others: Vec<&str> = sets.iter().map(String::as_str).filter(|name| !done(name)).collect();
    for name in cheap.into_iter().chain(others) {
        all.push(match name.parse() {
            Ok(method @ MethodName::LinLaProbit) => Way::of(method, closed_form(saved)?.into()),
            _ => of_set(name)?,
        });
    }
    Ok(all)
}
