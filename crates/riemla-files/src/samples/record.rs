//! What is written about a run and about each of its draws.

use riemla::geometry::{Counters, Diagnostics, Status};
use riemla::posterior::{Draw, GeodesicSummary};
use serde::{Deserialize, Serialize};

use super::RunConfig;
use crate::json::{FORMAT_VERSION, any_number};

/// What all draws of a run have in common. Two runs with equal information give equal draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// Version of the format.
    pub format_version: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Number of weights.
    pub dim: usize,
    /// Method with its settings.
    pub config: RunConfig,
    /// CRC-32 of θ* as little-endian F64, so that draws of another fit are not mixed in.
    pub theta_crc32: u32,
}

impl RunInfo {
    /// The information of a run around `theta`.
    pub fn new(config: impl Into<RunConfig>, seed: u64, theta: &[f64]) -> Self {
        let config = config.into();
        let mut crc = crc32fast::Hasher::new();
        theta.iter().for_each(|value| crc.update(&value.to_le_bytes()));
        let theta_crc32 = crc.finalize();
        Self { format_version: FORMAT_VERSION, seed, dim: theta.len(), config, theta_crc32 }
    }

    /// What is different in another run, in words.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let json = |run: &Self| serde_json::to_value(run).unwrap_or_default();
        let (ours, theirs) = (json(self), json(other));
        let mut found = Vec::new();
        compare("", &ours, &theirs, &mut found);
        found
    }
}

fn compare(at: &str, ours: &serde_json::Value, theirs: &serde_json::Value, found: &mut Vec<String>) {
    match (ours.as_object(), theirs.as_object()) {
        (Some(a), Some(b)) if a.keys().eq(b.keys()) => {
            for (key, value) in a {
                let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                compare(&at, value, &b[key], found);
            }
        }
        _ if ours != theirs => found.push(format!("{at} is {theirs} there, but {ours} now")),
        _ => {}
    }
}

/// What is known about one draw besides its weights: one line of `samples.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawRecord {
    /// Number of the draw.
    pub index: u64,
    /// What its geodesic did; none for methods without.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub geodesic: Option<GeodesicRecord>,
}

/// A geodesic, all numbers in one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeodesicRecord {
    status: Status,
    #[serde(with = "any_number")]
    t: f64,
    attempts: usize,
    values: usize,
    gradients: usize,
    curvatures: usize,
    steps: usize,
    rejections: usize,
    #[serde(with = "any_number")]
    speed: f64,
    #[serde(with = "any_number")]
    speed_drift: f64,
    #[serde(default, with = "any_number")]
    speed_correction: f64,
    #[serde(with = "any_number")]
    loss_start: f64,
    #[serde(with = "any_number")]
    loss_end: f64,
    #[serde(with = "any_number")]
    loss_bound: f64,
}

impl DrawRecord {
    /// The record of a draw.
    pub fn new(draw: &Draw) -> Self {
        Self { index: draw.index, geodesic: draw.geodesic.as_ref().map(GeodesicRecord::new) }
    }

    /// The draw of a record.
    pub fn into_draw(self, theta: Vec<f64>) -> Draw {
        Draw { index: self.index, theta, geodesic: self.geodesic.map(|record| record.summary()) }
    }
}

impl GeodesicRecord {
    fn new(summary: &GeodesicSummary) -> Self {
        let GeodesicSummary { status, t, counters, diagnostics, attempts } = *summary;
        let Counters { values, gradients, curvatures, steps, rejections } = counters;
        let Diagnostics { speed, speed_drift, speed_correction, loss_start, loss_end, loss_bound } =
            diagnostics;
        Self {
            status,
            t,
            attempts,
            values,
            gradients,
            curvatures,
            steps,
            rejections,
            speed,
            speed_drift,
            speed_correction,
            loss_start,
            loss_end,
            loss_bound,
        }
    }

    fn summary(&self) -> GeodesicSummary {
        let Self { values, gradients, curvatures, steps, rejections, .. } = *self;
        let Self { speed, speed_drift, speed_correction, loss_start, loss_end, loss_bound, .. } = *self;
        GeodesicSummary {
            status: self.status,
            t: self.t,
            counters: Counters { values, gradients, curvatures, steps, rejections },
            diagnostics: Diagnostics {
                speed,
                speed_drift,
                speed_correction,
                loss_start,
                loss_end,
                loss_bound,
            },
            attempts: self.attempts,
        }
    }
}
