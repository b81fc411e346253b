//! The strength that a rule found, kept beside the draws so that it is searched for only once.

use std::path::Path;

use riemla::posterior::{Calibration, Strength};
use riemla_files::json::{FORMAT_VERSION, read_json, write_json};
use serde::{Deserialize, Serialize};

use super::error::Result;

const FILE: &str = "calibration.json";

/// `calibration.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationRecord {
    /// Version of the format.
    pub format_version: u64,
    /// The rule.
    pub rule: Strength,
    /// What it found.
    pub strength: f64,
    /// How the search ended.
    pub status: String,
    /// Strengths that were tried.
    pub trials: usize,
    /// Gradients that the search took.
    pub gradients: usize,
    /// Values that the search took.
    pub values: usize,
}

impl CalibrationRecord {
    /// The record of a search.
    pub fn new(found: &Calibration) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            rule: found.rule,
            strength: found.strength,
            status: format!("{:?}", found.status).to_lowercase(),
            trials: found.trials.len(),
            gradients: found.counters.gradients,
            values: found.counters.values,
        }
    }

    /// Reads it from the directory of a set, if it is there.
    pub fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(FILE);
        Ok(path.is_file().then(|| read_json(&path)).transpose()?)
    }

    /// Writes it to the directory of a set.
    pub fn write(&self, directory: &Path) -> Result<()> {
        Ok(write_json(&directory.join(FILE), self)?)
    }
}
