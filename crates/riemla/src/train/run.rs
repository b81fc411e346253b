//! What all optimisers share: evaluation, the record of a run, and the best point so far.

use super::{Progress, TrainReport, TrainStatus};
use crate::Control;
use crate::error::{Result, check_finite, check_len};
use crate::linalg::vector::norm;
use crate::objective::Objective;

/// Most entries that a history keeps, apart from the last one.
pub(super) const HISTORY_LIMIT: usize = 1000;

/// Checks the start of a run.
pub(super) fn check_start(dim: usize, theta: &[f64]) -> Result<()> {
    check_len("length of theta", dim, theta.len())?;
    check_finite("theta", theta)
}

/// Value and gradient norm at a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    pub(super) value: f64,
    pub(super) gradient_norm: f64,
}

impl Level {
    pub(super) const UNKNOWN: Self = Self { value: f64::NAN, gradient_norm: f64::NAN };

    pub(super) fn is_finite(&self) -> bool {
        self.value.is_finite() && self.gradient_norm.is_finite()
    }
}

/// Evaluates value and gradient together, and counts.
pub(super) struct Evaluator<'a> {
    objective: &'a dyn Objective,
    pub(super) evaluations: usize,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(objective: &'a dyn Objective) -> Self {
        Self { objective, evaluations: 0 }
    }

    /// Outside the domain the gradient means nothing.
    pub(super) fn evaluate(&mut self, theta: &[f64], gradient: &mut [f64]) -> Level {
        self.evaluations += 1;
        let value = self.objective.value_and_gradient(theta, gradient);
        if !value.is_finite() {
            return Level { value, ..Level::UNKNOWN };
        }
        Level { value, gradient_norm: norm(gradient) }
    }
}

/// The best point so far: where a run returns to when it leaves the domain.
pub(super) struct Best {
    theta: Vec<f64>,
    pub(super) level: Level,
}

impl Best {
    pub(super) fn new(theta: &[f64]) -> Self {
        Self { theta: theta.to_vec(), level: Level::UNKNOWN }
    }

    /// Keeps the point if it is the first or better than the one kept.
    pub(super) fn offer(&mut self, theta: &[f64], level: Level) {
        if self.level.value.is_nan() || level.value < self.level.value {
            self.theta.copy_from_slice(theta);
            self.level = level;
        }
    }

    pub(super) fn restore(&self, theta: &mut [f64]) {
        theta.copy_from_slice(&self.theta);
    }
}

/// The record of a run.
pub(super) struct Run<'a> {
    control: Control<'a, Progress>,
    total: usize,
    history: Vec<f64>,
    stride: usize,
    observed: usize,
    last: f64,
}

impl<'a> Run<'a> {
    pub(super) fn new(total: usize, control: Control<'a, Progress>) -> Self {
        let history = Vec::with_capacity(HISTORY_LIMIT.min(total + 1) + 1);
        Self { control, total, history, stride: 1, observed: 0, last: f64::NAN }
    }

    /// Records one iteration; true if a stop was requested.
    pub(super) fn observe(&mut self, iteration: usize, level: Level) -> bool {
        self.record(level.value);
        let Level { value, gradient_norm } = level;
        self.control.report(&Progress { iteration, total: self.total, value, gradient_norm });
        self.control.is_stopped()
    }

    fn record(&mut self, value: f64) {
        if self.observed.is_multiple_of(self.stride) {
            if self.history.len() == HISTORY_LIMIT {
                self.halve();
            }
            if self.observed.is_multiple_of(self.stride) {
                self.history.push(value);
            }
        }
        self.observed += 1;
        self.last = value;
    }

    fn halve(&mut self) {
        for i in 0..HISTORY_LIMIT.div_ceil(2) {
            self.history[i] = self.history[2 * i];
        }
        self.history.truncate(HISTORY_LIMIT.div_ceil(2));
        self.stride *= 2;
    }

    pub(super) fn finish(
        mut self,
        status: TrainStatus,
        level: Level,
        evaluations: usize,
        iterations: usize,
    ) -> TrainReport {
        if self.observed > 0 && !(self.observed - 1).is_multiple_of(self.stride) {
            self.history.push(self.last);
        }
        TrainReport {
            value: level.value,
            gradient_norm: level.gradient_norm,
            evaluations,
            iterations,
            status,
            history: self.history,
            history_stride: self.stride,
        }
    }
}
