//! Several networks that predict together: trained from fresh weights, each with its own fit and draws.
//!
//! A directory of members has one directory for each; a plain one is taken as a set of one, so that commands need no
//! second way.

use std::path::{Path, PathBuf};

use riemla::data::Dataset;
use riemla::predict::{Prediction, Temperature};
use riemla::train::TrainStatus;
use riemla_files::encoding::Scale;
use riemla_files::members::members_of;
use riemla_files::{InUse, Model, SavedPosterior};
use serde::Deserialize;

use super::draws::{self, AT_TEMPERATURE, MIXED};
use super::error::{Result, WorkflowError};
use super::folds::{MOST_ROWS, TrainedShare};
use super::held_out::{held_out_rows, temperature};
use super::input::DataFiles;
use super::predictor::{Predictor, Way};
use super::sample::{Sampled, sample};
use super::sample_config::SampleConfig;
use super::saved::read_posterior;
use super::train::{NetworkChoice, TrainConfig, Trained, prepare, train_on};
use crate::watch::Session;

/// The directories of the members; the directory itself if it is a plain one.
pub fn directories(directory: &Path) -> Result<Vec<PathBuf>> {
    Ok(members_of(directory)?.unwrap_or_else(|| vec![directory.into()]))
}

/// Trains several networks on the same rows, from fresh weights each: member k from the seed plus k − 1.
///
/// Hidden layers are chosen once, for the first; prior and noise are found for each. Once the session is stopped, the members
/// that are finished are kept.
pub fn train_members(config: &TrainConfig, members: usize, session: Session<'_>) -> Result<Vec<Trained>> {
    let prepared = prepare(config)?;
    let mut all = vec![train_on(config, prepared.clone(), session)?];
    for k in 1..members {
        if session.stopped() {
            break;
        }
        session.watch.note(&format!("member {} of {members}", k + 1));
        let next = TrainConfig {
            network: NetworkChoice::Given(all[0].model.network.clone()),
            seed: config.seed.wrapping_add(k as u64),
            baselines: false,
            ..config.clone()
        };
        let trained = train_on(&next, prepared.clone(), session)?;
        if trained.report.status != TrainStatus::Stopped {
            all.push(trained);
        }
    }
    if all.len() < members {
        let note = format!("interrupted: {} of {members} members are kept", all.len());
        all[0].notes.push(note);
    }
    Ok(all)
}

/// Draws of every member: `samples` in all, shared out evenly (rounded up); member k has the seed plus k − 1.
pub fn sample_members(directory: &Path, config: &SampleConfig, session: Session<'_>) -> Result<Vec<Sampled>> {
    let Some(members) = members_of(directory)? else {
        return Ok(vec![sample(directory, config, session)?]);
    };
    let _in_use = InUse::claim(directory)?;
    let count = members.len();
    let mut all = Vec::new();
    for (k, member) in members.iter().enumerate() {
        if session.stopped() && !all.is_empty() {
            break;
        }
        session.watch.note(&format!("member {} of {count}", k + 1));
        let own = SampleConfig {
            samples: config.samples.div_ceil(count as u64),
            seed: config.seed.wrapping_add(k as u64),
            seconds: config.seconds.map(|seconds| seconds / count as f64),
            // What folds say was judged for one network.
            folds: None,
            ..config.clone()
        };
        all.push(sample(member, &own, session)?);
    }
    Ok(all)
}

/// How much each member counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// All the same.
    #[default]
    Equal,
    /// In proportion to their marginal likelihoods, as posterior probabilities of models under equal odds.
    Evidence,
}

/// A posterior directory, or the members of one.
pub struct Posteriors {
    /// Directories and what is in them; at least one.
    pub members: Vec<(PathBuf, SavedPosterior)>,
    /// How much each counts.
    pub weights: Vec<f64>,
}

impl Posteriors {
    /// Reads one posterior, or all members.
    pub fn read(directory: &Path, weighting: Weighting) -> Result<Self> {
        let one = |path: PathBuf| read_posterior(&path).map(|saved| (path, saved));
        let members = directories(directory)?.into_iter().map(one).collect::<Result<Vec<_>>>()?;
        let weights = weights(&members, weighting)?;
        Ok(Self { members, weights })
    }

    /// The first member, whose description of columns, classes and rows is that of all.
    pub fn first(&self) -> &SavedPosterior {
        &self.members[0].1
    }

    /// Its model.
    pub fn model(&self) -> &Model {
        &self.first().model
    }

    /// Rows that none of them was trained on: those given, or those that training held out.
    pub fn held_out(&self, given: Option<&DataFiles>) -> Result<Option<Dataset>> {
        held_out_rows(self.first(), given, &mut Vec::new())
    }

    /// All of them predicting with the sets of one name; with the ending `-temperature`, at a temperature fitted to
    /// held-out rows.
    pub fn predictor(&self, name: &str) -> Result<Together> {
        let unless_a_set = |plain: &&str| !plain.is_empty() && !draws::is_set(&self.members[0].0, name);
        if let Some(plain) = name.strip_suffix(MIXED).filter(unless_a_set) {
            let plainly = Some(self.predictor(plain)?).filter(|plain| plain.temperature.is_none());
            return plainly
                .and_then(|plain| plain.mixed())
                .ok_or_else(|| WorkflowError::unfit(no_share(plain)));
        }
        let tempered = name.strip_suffix(AT_TEMPERATURE).filter(unless_a_set);
        let one = |(path, saved): &(PathBuf, SavedPosterior)| {
            draws::predictor(saved, path, tempered.unwrap_or(name))
        };
        let predictors = self.members.iter().map(one).collect::<Result<Vec<_>>>()?;
        let beside = match self.members.as_slice() {
            [(path, saved)] => draws::trained_beside(saved, path, tempered.unwrap_or(name))?,
            _ => None,
        };
        let weights = self.weights.clone();
        let plain = Together { predictors, weights, temperature: None, beside, mixed: false };
        if tempered.is_none() {
            return Ok(plain);
        }
        let mut notes = Vec::new();
        match temperature(&plain, self.held_out(None)?.as_ref(), &mut notes)? {
            None => Err(WorkflowError::unfit(notes.join("; "))),
            found => Ok(Together { temperature: found, ..plain }),
        }
    }
}

fn no_share(plain: &str) -> String {
    format!(
        "the trained weights have no share in predictions with the draws of {plain}: `riemla sample` looks for one on tables of \
         classes or numbers with at most {MOST_ROWS} training rows; predict with --method {plain}"
    )
}

fn weights(members: &[(PathBuf, SavedPosterior)], weighting: Weighting) -> Result<Vec<f64>> {
    if weighting == Weighting::Equal {
        return Ok(vec![1.0; members.len()]);
    }
    let evidence = |(path, saved): &(PathBuf, SavedPosterior)| {
        saved.laplace.log_marginal_likelihood.ok_or_else(|| {
            WorkflowError::unfit(format!(
                "{} has no marginal likelihood to weigh members by: use equal weights",
                path.display()
            ))
        })
    };
    let evidences = members.iter().map(evidence).collect::<Result<Vec<f64>>>()?;
    let largest = evidences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Ok(evidences.into_iter().map(|value| (value - largest).exp()).collect())
}

/// Predictors whose predictions are mixed; one predicts as it would alone.
#[derive(Clone)]
pub struct Together {
    /// At least one.
    pub predictors: Vec<Predictor>,
    /// How much each counts.
    pub weights: Vec<f64>,
    /// The temperature of the mixture; 1 if none.
    pub temperature: Option<Temperature>,
    /// The trained weights and how much they should count beside the draws, where that was found.
    pub beside: Option<(TrainedShare, Predictor)>,
    /// Whether they do.
    pub mixed: bool,
}

impl From<Predictor> for Together {
    fn from(only: Predictor) -> Self {
        Self { predictors: vec![only], weights: vec![1.0], temperature: None, beside: None, mixed: false }
    }
}

impl Together {
    /// Predictions for row-major inputs, in the units of the data.
    pub fn predict(&self, inputs: &[f64]) -> riemla::Result<Prediction> {
        let members = self.predictors.iter().map(|one| one.predict(inputs));
        let mixed = Prediction::mixture(&members.collect::<riemla::Result<Vec<_>>>()?, &self.weights)?;
        match self.temperature {
            Some(temperature) => temperature.apply(mixed),
            None => Ok(mixed),
        }
    }

    /// With the trained weights beside the draws; none if their share is 0 or not known.
    pub fn mixed(&self) -> Option<Self> {
        let (TrainedShare { share, .. }, trained) =
            self.beside.as_ref().filter(|(found, _)| found.share > 0.0)?;
        let [draws] = self.predictors.as_slice() else { return None };
        Some(Self {
            predictors: vec![draws.clone(), trained.clone()],
            weights: vec![1.0 - share, *share],
            temperature: None,
            beside: self.beside.clone(),
            mixed: true,
        })
    }

    /// Whether more than one vector of weights predicts.
    pub fn is_average(&self) -> bool {
        self.draws() > 1 || self.predictors.iter().any(|one| one.way == Way::ClosedForm)
    }

    /// Weights of networks behind a prediction.
    pub fn draws(&self) -> usize {
        self.predictors.iter().map(|one| one.thetas.len()).sum()
    }

    /// Features of a row.
    pub fn input_len(&self) -> usize {
        self.predictors[0].model.input_len()
    }

    /// Scales of real targets.
    pub fn scales(&self) -> &[Scale] {
        &self.predictors[0].scales
    }
}
