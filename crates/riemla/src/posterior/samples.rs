//! Sets of draws and what can be said of them.

use std::sync::Arc;

use super::{Calibration, Draw, Method, PolishFound};
use crate::Error;
use crate::geometry::{Counters, Status};

/// Draws in the order they were asked for, and what is missing.
#[derive(Debug, Clone)]
pub struct SampleSet {
    /// Which posterior.
    pub method: Method,
    /// The seed of all draws.
    pub seed: u64,
    /// The draws.
    pub draws: Vec<Draw>,
    /// Draws that failed under the policy for unfinished geodesics, with the reason.
    pub failed: Vec<(u64, Error)>,
    /// Whether a stop was requested before all were drawn.
    pub stopped: bool,
    /// How the strength of the metric was found, if by a rule.
    pub calibration: Option<Arc<Calibration>>,
    /// Step size and length of the chains that polished the draws, if they were.
    pub polish: Option<Arc<PolishFound>>,
}

impl SampleSet {
    /// The weights of every draw.
    pub fn thetas(&self) -> Vec<&[f64]> {
        self.draws.iter().map(|draw| draw.theta.as_slice()).collect()
    }

    /// Total work of all geodesics and chains, with the searches for strength, step and length.
    pub fn counters(&self) -> Counters {
        let mut total = self.calibration.as_ref().map_or(Counters::default(), |c| c.counters);
        for geodesic in self.draws.iter().filter_map(|draw| draw.geodesic) {
            total += geodesic.counters;
        }
        total.gradients += self.polish.as_ref().map_or(0, |found| found.search_gradients);
        total.gradients +=
            self.draws.iter().filter_map(|draw| draw.polish).map(|p| p.gradients).sum::<usize>();
        total
    }

    /// Fraction of the kept geodesics that did not reach their end.
    pub fn unfinished(&self) -> f64 {
        let geodesics: Vec<_> = self.draws.iter().filter_map(|draw| draw.geodesic).collect();
        let bad = geodesics.iter().filter(|geodesic| geodesic.status != Status::Reached).count();
        bad as f64 / geodesics.len().max(1) as f64
    }

    /// Largest relative speed drift of all geodesics.
    pub fn max_speed_drift(&self) -> f64 {
        let drifts = self.draws.iter().filter_map(|draw| draw.geodesic).map(|g| g.diagnostics.speed_drift);
        drifts.fold(0.0, f64::max)
    }
}
