//! What `riemla sample` found out about a set of draws, kept with it for reports.

use std::path::Path;

use riemla::posterior::Draw;
use riemla_files::ours::SUMMARY_FILE;
use riemla_files::{Digest, RunInfo};
use serde::{Deserialize, Serialize};

use super::diagnostics::Diagnosis;
use super::error::Result;
use crate::of_run;

/// Numbers about a set, and warnings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetSummary {
    riemla_version: String,
    /// Draws that it is about.
    pub draws: usize,
    /// The digest of these draws, as in `samples.json`.
    pub theta: Digest,
    /// Strength of the metric.
    pub strength: Option<f64>,
    /// How far draws on batches go towards the ends of their geodesics, if not to the end.
    #[serde(default)]
    pub length: Option<f64>,
    /// Mean of (θ − θ*)·∇L(θ) over the number of weights: 1 for draws from the posterior.
    pub virial_ratio: Option<f64>,
    /// Mean rise of the loss from θ*.
    pub loss_rise: Option<f64>,
    /// Gradients per draw.
    pub gradients: Option<f64>,
    /// What to know before trusting the draws.
    pub warnings: Vec<String>,
}

const REMEDY: &str = "remove it and run `riemla sample` again: it is written again, the draws stay";

impl SetSummary {
    pub(super) fn new(draws: &[Draw], diagnosis: &Diagnosis) -> Self {
        let summary = &diagnosis.summary;
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        Self {
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            draws: draws.len(),
            theta: Digest::of_numbers(draws.iter().map(|draw| draw.theta.as_slice())),
            strength: finite(summary.strength),
            length: summary.length,
            virial_ratio: finite(summary.virial_ratio),
            loss_rise: finite(summary.loss_rise),
            gradients: finite(summary.gradients),
            warnings: diagnosis.warnings.clone(),
        }
    }

    /// Writes it into the directory of a set, with the run that the draws belong to.
    pub(super) fn write(&self, set: &Path, run: &RunInfo) -> Result<()> {
        Ok(of_run::write(&set.join(SUMMARY_FILE), run, self)?)
    }

    /// Reads what is said about the draws of a set; none if there is nothing, or nothing about these draws, as after
    /// a kill between the two files. An error if it is of another run.
    pub fn read(set: &Path, run: &RunInfo, theta: &Digest) -> Result<Option<Self>> {
        let found: Option<Self> = of_run::read(&set.join(SUMMARY_FILE), run, REMEDY)?;
        Ok(found.filter(|summary| summary.theta == *theta))
    }
}
