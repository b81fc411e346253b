//! `runs.jsonl`: one line per posterior and seed, with all that is known of it.

use std::fmt;

use riemla::geometry::{Counters, Status};
use riemla::posterior::Draw;
use riemla_files::{Digest, Origin, TrainingRecord};
use serde::{Deserialize, Serialize};

use super::cell::Drawn;
use super::log::{Line, Log};
use super::results::mean;
use super::truth::TruthNumbers;
use super::{MethodName, PriorName, Setting};
use riemla_workflow::setting::Entry;
use riemla_workflow::strength::FoundStrength;

/// Which posterior a line is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellKey {
    /// The experiment.
    pub experiment: String,
    /// The problem: the column `train_set` of results.
    pub problem: String,
    /// The seed.
    pub seed: u64,
    /// The prior.
    pub prior: PriorName,
    /// How geodesics are run; the field has the name of the presets, which came first.
    #[serde(rename = "preset")]
    pub setting: Setting,
    /// The method.
    pub method: MethodName,
}

/// What the scores of a line depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeFrom {
    /// What the draws depend on.
    pub draws: Origin,
    /// The rows of the test; none for a density.
    pub test: Option<Digest>,
    /// Data that a model should find strange.
    pub out_of_distribution: Vec<Digest>,
}

impl CellKey {
    /// The method with its setting.
    pub fn entry(&self) -> Entry {
        Entry::of(self.method, self.setting)
    }
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { problem, seed, prior, setting, method, .. } = self;
        write!(f, "{problem}, seed {seed}, prior {}, {setting}, {method}", prior.name())
    }
}

/// One line of `runs.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which posterior.
    #[serde(flatten)]
    pub key: CellKey,
    /// Version of this program.
    pub riemla_version: String,
    /// Whether this is the small version of the experiment.
    pub quick: bool,
    /// All that the numbers depend on besides: data, network, training, batches; or a density, and chains.
    pub config: serde_json::Value,
    /// Bins of the calibration errors; none in files of old.
    #[serde(default)]
    pub bins: Option<usize>,
    /// Draws asked for.
    pub requested: u64,
    /// Draws made.
    pub samples: u64,
    /// Draws that failed.
    pub failed: u64,
    /// Scores.
    pub scores: Vec<Score>,
    /// What the draws are like.
    pub draws: DrawSummary,
    /// The model; none for a density.
    #[serde(default)]
    pub model: Option<ModelSummary>,
    /// How the strength was found, if by a rule.
    pub found_strength: Option<FoundStrength>,
    /// What all of this depends on.
    pub made_from: MadeFrom,
    /// How far the draws are from the truth, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<TruthNumbers>,
    /// Why it was not run, if it would have taken longer than the experiment allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<Estimate>,
}

/// How long a cell would take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Seconds of one draw on its thread.
    pub seconds_per_draw: f64,
    /// Seconds of all draws on all threads.
    pub seconds: f64,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds_per_draw {
            s if s < 1.0 => write!(f, "less than a second per draw"),
            s if s < 90.0 => write!(f, "about {s:.0} seconds per draw"),
            s if s < 5400.0 => write!(f, "about {:.0} minutes per draw", s / 60.0),
            s => write!(f, "about {:.1} hours per draw", s / 3600.0),
        }
    }
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// On which data.
    pub test_set: String,
    /// Which score.
    pub score: String,
    /// Its value, in the units of the paper's tables.
    pub value: f64,
}

/// What the draws of a posterior are like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DrawSummary {
    /// Strength of the metric.
    pub strength: Option<f64>,
    /// Mean of (θ − θ*)·∇L(θ)/K; 1 for exact draws.
    pub virial_ratio: Option<f64>,
    /// Mean relative change of the speed along a geodesic.
    pub speed_drift: Option<f64>,
    /// Fraction of draws that failed, or whose first geodesic did not reach its end.
    pub unfinished_fraction: Option<f64>,
    /// Mean gradients per draw, without the search for the strength.
    pub gradients_per_sample: Option<f64>,
    /// Mean seconds per draw on its thread, without the search for the strength.
    pub seconds_per_sample: Option<f64>,
    /// All work of the draws.
    pub counters: Option<Counters>,
}

impl DrawSummary {
    /// Of draws; the virial ratio is computed elsewhere.
    pub fn new(drawn: &Drawn, virial_ratio: Option<f64>) -> Self {
        let summaries: Vec<_> = drawn.draws.iter().filter_map(|draw: &Draw| draw.geodesic).collect();
        let plain = Self {
            virial_ratio,
            seconds_per_sample: drawn.made.seconds_per_draw,
            strength: drawn.made.strength,
            ..Self::default()
        };
        if summaries.is_empty() {
            return plain;
        }
        let (n, failed) = (summaries.len() as f64, drawn.failed.len() as f64);
        let mut counters = Counters::default();
        summaries.iter().for_each(|summary| counters += summary.counters);
        let polish: usize = drawn.draws.iter().filter_map(|draw| draw.polish).map(|p| p.gradients).sum();
        let unfinished = summaries.iter().filter(|s| s.status != Status::Reached || s.attempts > 1).count();
        let drifts = summaries.iter().map(|s| s.diagnostics.speed_drift).filter(|drift| drift.is_finite());
        Self {
            speed_drift: mean(drifts),
            unfinished_fraction: Some((unfinished as f64 + failed) / (n + failed)),
            gradients_per_sample: Some((counters.gradients + polish) as f64 / n),
            counters: Some(counters),
            ..plain
        }
    }
}

/// The trained network and its Laplace approximation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSummary {
    /// Number of weights.
    pub weights: usize,
    /// Prior precision used.
    pub prior_precision: Option<f64>,
    /// Noise used.
    pub sigma_noise: Option<f64>,
    /// Log marginal likelihood.
    pub log_marginal_likelihood: Option<f64>,
    /// Norm of the loss's gradient at θ* under that prior.
    pub gradient_norm: f64,
    /// How θ* was trained.
    pub training: TrainingRecord,
    /// Seconds of the curvature and its factorisation; none in files of old.
    #[serde(default)]
    pub fit_seconds: Option<f64>,
    /// Memory of that at its peak, in MB beyond data and network: an estimate.
    #[serde(default)]
    pub fit_megabytes: Option<f64>,
}

impl Line for RunRecord {
    type Key = CellKey;
    const FILE: &'static str = "runs";

    fn key(&self) -> &CellKey {
        &self.key
    }
}

/// `runs.jsonl` of a directory.
pub type Records = Log<RunRecord>;
