//! SWAG: a Gaussian with the moments of the iterates of stochastic gradient descent.
//!
//! Maddox, Garipov, Izmailov, Vetrov and Wilson, "A simple baseline for Bayesian uncertainty in deep
//! learning" (NeurIPS 2019). The width of the Gaussian is that of the descent's noise, set by learning rate
//! and batch size; no loss decides on it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Control;
use crate::error::{Error, Result, check_len, check_positive};
use crate::random::{Rng, fill_normal};
use crate::train::{
    MiniBatch, Progress, Rule, Schedule, Stochastic, TrainReport, TrainStatus, minibatch_seen,
};

/// Settings of [`swag`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swag {
    /// Constant learning rate, of the mean over the data.
    pub learning_rate: f64,
    /// Share of the last step's direction that is kept.
    pub momentum: f64,
    /// Epochs; the weights at the end of each are an iterate.
    pub epochs: usize,
    /// Rows per step. With all of them there is no noise, and so no width.
    pub batch_size: usize,
    /// Last iterates whose deviations span the low-rank part.
    pub rank: usize,
    /// Factor of the covariance; 1/2 in the paper.
    pub scale: f64,
}

impl Default for Swag {
    fn default() -> Self {
        Self { learning_rate: 0.01, momentum: 0.9, epochs: 100, batch_size: 32, rank: 20, scale: 0.5 }
    }
}

impl Swag {
    /// The same for a loss on this many rows: at most half of them go into a batch, since with all of them the descent
    /// would have no noise.
    pub fn for_rows(self, rows: usize) -> Self {
        Self { batch_size: self.batch_size.min((rows / 2).max(1)), ..self }
    }

    /// Checks the ranges of the settings.
    pub fn check(&self) -> Result<()> {
        check_positive("scale", self.scale)?;
        if self.rank < 2 {
            return Err(Error::range("rank", self.rank, "at least 2"));
        }
        if self.epochs < self.rank {
            return Err(Error::range("epochs", self.epochs, format!("at least the rank, {}", self.rank)));
        }
        Ok(())
    }
}

/// Moments of iterates, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct SwagMoments {
    /// Iterates so far.
    pub iterates: usize,
    /// Their mean.
    pub mean: Vec<f64>,
    /// Sums of their squared deviations from the mean.
    squares: Vec<f64>,
    /// Deviations of the last iterates, each from the mean of its time (as in the paper).
    pub deviations: VecDeque<Vec<f64>>,
    rank: usize,
}

impl SwagMoments {
    /// Moments of no iterates yet.
    pub fn new(dim: usize, rank: usize) -> Self {
        let zeros = vec![0.0; dim];
        Self { iterates: 0, mean: zeros.clone(), squares: zeros, deviations: VecDeque::new(), rank }
    }

    /// Adds an iterate (Welford's recurrence, which loses no digits).
    pub fn add(&mut self, theta: &[f64]) {
        self.iterates += 1;
        let share = 1.0 / self.iterates as f64;
        let mut deviation = Vec::with_capacity(theta.len());
        for ((mean, squares), value) in self.mean.iter_mut().zip(&mut self.squares).zip(theta) {
            let before = value - *mean;
            *mean += share * before;
            let after = value - *mean;
            *squares += before * after;
            deviation.push(after);
        }
        if self.deviations.len() == self.rank {
            self.deviations.pop_front();
        }
        self.deviations.push_back(deviation);
    }

    /// Mean square deviation of each weight from its mean.
    pub fn variance(&self) -> Vec<f64> {
        self.squares.iter().map(|sum| sum / self.iterates.max(1) as f64).collect()
    }

    /// mean + √scale·(diag(variance)^½ z₁ + D z₂/√(R−1)), z standard normal, D the R deviations.
    pub fn draw(&self, scale: f64, rng: &mut Rng) -> Vec<f64> {
        let mut theta = vec![0.0; self.mean.len()];
        fill_normal(rng, &mut theta);
        theta.iter_mut().zip(self.variance()).for_each(|(z, variance)| *z *= variance.sqrt());
        let mut z = vec![0.0; self.deviations.len()];
        fill_normal(rng, &mut z);
        let root = (self.deviations.len().max(2) as f64 - 1.0).sqrt();
        for (deviation, z) in self.deviations.iter().zip(z) {
            crate::linalg::vector::axpy(z / root, deviation, &mut theta);
        }
        theta.iter_mut().zip(&self.mean).for_each(|(value, mean)| *value = mean + scale.sqrt() * *value);
        theta
    }
}

/// The moments of gradient descent from `start`, and how the descent ended.
///
/// The gradient is that of the mean over the data, prior included, as PyTorch has it with weight decay.
pub fn swag(
    objective: &dyn Stochastic,
    start: &[f64],
    seed: u64,
    config: &Swag,
    control: Control<'_, Progress>,
) -> Result<(SwagMoments, TrainReport)> {
    config.check()?;
    check_len("length of the start", objective.weights(), start.len())?;
    let settings = MiniBatch {
        rule: Rule::Sgd { momentum: config.momentum },
        learning_rate: Schedule::Constant(config.learning_rate),
        epochs: config.epochs,
        batch_size: config.batch_size,
        seed,
        gradient_scale: 1.0 / objective.len().max(1) as f64,
    };
    let mut moments = SwagMoments::new(start.len(), config.rank);
    let mut theta = start.to_vec();
    let report = minibatch_seen(objective, &mut theta, &settings, control, &mut |theta| moments.add(theta))?;
    match report.status {
        TrainStatus::Stopped => Err(Error::Stopped { what: "gradient descent of SWAG was complete".into() }),
        TrainStatus::NonFinite => Err(Error::range(
            "learning_rate",
            config.learning_rate,
            "smaller: gradient descent of SWAG left the domain of the loss",
        )),
        _ => Ok((moments, report)),
    }
}
