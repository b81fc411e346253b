//! One draw from a posterior, with what its geodesic did.

use serde::{Deserialize, Serialize};

use super::PolishSummary;
use crate::geometry::{Counters, Diagnostics, Geodesic, Status};

/// A geodesic without its vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GeodesicSummary {
    /// How it ended.
    pub status: Status,
    /// Time reached.
    pub t: f64,
    /// What it cost, redrawn attempts included.
    pub counters: Counters,
    /// Its invariants.
    pub diagnostics: Diagnostics,
    /// Tangent vectors tried; above 1 if earlier geodesics did not finish.
    pub attempts: usize,
}

impl GeodesicSummary {
    pub(super) fn new(geodesic: &Geodesic, spent_before: Counters, attempts: usize) -> Self {
        let mut counters = geodesic.counters;
        counters += spent_before;
        let Geodesic { status, t, diagnostics, .. } = *geodesic;
        Self { status, t, counters, diagnostics, attempts }
    }
}

/// One draw: depends on (seed, index) alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// Number of the draw.
    pub index: u64,
    /// The weights.
    pub theta: Vec<f64>,
    /// What the geodesic did; none for methods without.
    pub geodesic: Option<GeodesicSummary>,
    /// What the chain that polished it did, if it was polished.
    pub polish: Option<PolishSummary>,
    /// The kind of processor that took it ([`crate::linalg::processor`]); empty if it is not known.
    #[serde(default)]
    pub processor: String,
}

impl Draw {
    /// A draw that was taken on this machine.
    pub fn new(index: u64, theta: Vec<f64>, geodesic: Option<GeodesicSummary>) -> Self {
        Self { index, theta, geodesic, polish: None, processor: crate::linalg::processor().into() }
    }
}
