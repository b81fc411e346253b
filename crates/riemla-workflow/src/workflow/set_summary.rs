//! What `riemla sample` found out about a set of draws, kept with it for reports.

use std::path::Path;

use riemla_files::json::{FORMAT_VERSION, read_json, write_json};
use riemla_files::ours::SUMMARY_FILE;
use serde::{Deserialize, Serialize};

use super::diagnostics::Diagnosis;
use super::error::Result;

/// Numbers about a set, and warnings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetSummary {
    format_version: u64,
    riemla_version: String,
    /// Draws that it is about.
    pub draws: usize,
    /// Strength of the metric.
    pub strength: Option<f64>,
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
    pub(super) fn new(draws: usize, diagnosis: &Diagnosis) -> Self {
        let summary = &diagnosis.summary;
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        Self {
            format_version: FORMAT_VERSION,
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            draws,
            strength: finite(summary.strength),
            virial_ratio: finite(summary.virial_ratio),
            loss_rise: finite(summary.loss_rise),
            gradients: finite(summary.gradients),
            warnings: diagnosis.warnings.clone(),
        }
    }

    /// Writes it into the directory of a set.
    pub(super) fn write(&self, set: &Path) -> Result<()> {
        Ok(write_json(&set.join(SUMMARY_FILE), self)?)
    }

    /// Reads it; none if there is none.
    pub fn read(set: &Path) -> Result<Option<Self>> {
        let file = set.join(SUMMARY_FILE);
        Ok(if file.is_file() { Some(read_json(&file, REMEDY)?) } else { None })
    }
}
