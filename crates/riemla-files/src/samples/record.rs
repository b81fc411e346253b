//! What is written about a run and about each of its draws.

use riemla::geometry::{Counters, Diagnostics, Status};
use riemla::posterior::{Draw, GeodesicSummary, PolishSummary};
use serde::{Deserialize, Serialize};

use super::RunConfig;
use crate::identity::Origin;
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
    /// The posterior and its data.
    pub depends_on: Origin,
}

impl RunInfo {
    /// The information of a run; `dim` is the number of weights.
    pub fn new(config: impl Into<RunConfig>, seed: u64, dim: usize, depends_on: Origin) -> Self {
        Self { format_version: FORMAT_VERSION, seed, dim, config: config.into(), depends_on }
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
    /// What the chain that polished it did; none for draws without.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub polish: Option<PolishRecord>,
    /// The kind of processor that took it; empty in files of versions that did not write it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub processor: String,
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

/// The chain of a polished draw, all numbers in one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolishRecord {
    gradients: usize,
    proposals: usize,
    accepted: usize,
    #[serde(with = "any_number")]
    acceptance: f64,
    #[serde(with = "any_number")]
    loss_start: f64,
    #[serde(with = "any_number")]
    loss_half: f64,
    #[serde(with = "any_number")]
    loss_end: f64,
    #[serde(with = "any_number")]
    square_start: f64,
    #[serde(with = "any_number")]
    square_end: f64,
    #[serde(with = "any_number")]
    overlap: f64,
}

impl DrawRecord {
    /// The record of a draw.
    pub fn new(draw: &Draw) -> Self {
        Self {
            index: draw.index,
            geodesic: draw.geodesic.as_ref().map(GeodesicRecord::new),
            polish: draw.polish.as_ref().map(PolishRecord::new),
            processor: draw.processor.clone(),
        }
    }

    /// The draw of a record.
    pub fn into_draw(self, theta: Vec<f64>) -> Draw {
        let geodesic = self.geodesic.map(|record| record.summary());
        let polish = self.polish.map(|record| record.summary());
        Draw { index: self.index, theta, geodesic, polish, processor: self.processor }
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

impl PolishRecord {
    fn new(summary: &PolishSummary) -> Self {
        let PolishSummary {
            gradients,
            proposals,
            accepted,
            acceptance,
            loss_start,
            loss_half,
            loss_end,
            square_start,
            square_end,
            overlap,
        } = *summary;
        Self {
            gradients,
            proposals,
            accepted,
            acceptance,
            loss_start,
            loss_half,
            loss_end,
            square_start,
            square_end,
            overlap,
        }
    }

    fn summary(&self) -> PolishSummary {
        let Self {
            gradients,
            proposals,
            accepted,
            acceptance,
            loss_start,
            loss_half,
            loss_end,
            square_start,
            square_end,
            overlap,
        } = *self;
        PolishSummary {
            gradients,
            proposals,
            accepted,
            acceptance,
            loss_start,
            loss_half,
            loss_end,
            square_start,
            square_end,
            overlap,
        }
    }
}
