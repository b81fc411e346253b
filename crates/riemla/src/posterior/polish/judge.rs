//! Whether polished draws need more polish: diagnostics of many short independent chains.

use serde::Serialize;

use super::PolishSummary;
use crate::posterior::Draw;

/// What the chains of polished draws did together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PolishReport {
    /// Chains.
    pub draws: usize,
    /// Mean gradients of a chain.
    pub gradients: f64,
    /// Mean acceptance probability.
    pub acceptance: f64,
    /// Mean change of the loss over the chains.
    pub change: f64,
    /// Mean change of the loss over the second halves of the chains: 0 for chains that have settled.
    pub drift: f64,
    /// Its standard error over chains.
    pub drift_error: f64,
    /// Standard deviation of the loss over the draws.
    pub deviation: f64,
    /// Correlation of ends with starts in the coordinates in which the Gaussian is white: 1 where a chain did not move,
    /// about 0 where it has forgotten its start.
    pub memory: f64,
    /// 1/√(1 − memory²): the nested R-hat (Margossian et al., 2024) of chains grouped by their starts, as far as an end
    /// depends on its start linearly. 1 where no start matters any more.
    pub nested_r_hat: f64,
}

/// A drift of the loss is reported from so many of its standard errors on...
pub const DRIFT_ERRORS: f64 = 3.0;
/// ... if it is more than this share of the loss's standard deviation.
pub const DRIFT_SHARE: f64 = 0.1;
/// Below this mean acceptance probability the step is too large for most proposals.
pub const LOW_ACCEPTANCE: f64 = 0.3;

impl PolishReport {
    /// Of the draws that were polished; none if there are fewer than two.
    pub fn of(draws: &[Draw]) -> Option<Self> {
        let all: Vec<PolishSummary> = draws.iter().filter_map(|draw| draw.polish).collect();
        if all.len() < 2 {
            return None;
        }
        let n = all.len() as f64;
        let mean = |of: &dyn Fn(&PolishSummary) -> f64| all.iter().map(of).sum::<f64>() / n;
        let deviation = |of: &dyn Fn(&PolishSummary) -> f64| {
            let mean = mean(of);
            (all.iter().map(|one| (of(one) - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
        };
        let drift = |one: &PolishSummary| one.loss_end - one.loss_half;
        let memory =
            mean(&|one| one.overlap) / (mean(&|one| one.square_start) * mean(&|one| one.square_end)).sqrt();
        Some(Self {
            draws: all.len(),
            gradients: mean(&|one| one.gradients as f64),
            acceptance: mean(&|one| one.acceptance),
            change: mean(&|one| one.loss_end - one.loss_start),
            drift: mean(&drift),
            drift_error: deviation(&drift) / n.sqrt(),
            deviation: deviation(&|one| one.loss_end),
            memory,
            nested_r_hat: 1.0 / (1.0 - memory * memory).sqrt(),
        })
    }

    /// Whether the loss still changes, so that longer chains would give other draws.
    pub fn drifts(&self) -> bool {
        let limit = (DRIFT_ERRORS * self.drift_error).max(DRIFT_SHARE * self.deviation);
        // A NaN has not settled.
        self.drift.is_nan() || limit.is_nan() || self.drift.abs() > limit
    }
}
