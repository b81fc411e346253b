//! From fresh weights to a minimum without further questions: Adam, then L-BFGS.

use serde::{Deserialize, Serialize};

use super::{Adam, Lbfgs, MiniBatch, Progress, Rule, Schedule, TrainReport, adam, lbfgs, minibatch};
use crate::objective::NetworkLoss;
use crate::{Control, Result};

/// Rows up to which Adam takes all of them in every step.
const FULL_BATCH: usize = 2000;
/// Rows per step beyond.
const BATCH: usize = 256;
/// Visits of rows in all epochs of mini-batches together, as large data allow.
const VISITS: usize = 1_000_000;

/// Most numbers that L-BFGS keeps of its steps: a quarter of a gigabyte.
const REMEMBERED: usize = 1 << 25;
/// Fewest steps it remembers, however many weights.
const LEAST_MEMORY: usize = 10;

/// Settings that train small and middle-sized networks to a minimum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Adam's learning rate, falling to 0 with mini-batches.
    pub learning_rate: f64,
    /// Epochs of Adam on all data; fewer in mini-batches, with more than 2000 rows.
    pub epochs: usize,
    /// Steps that L-BFGS remembers. A long memory saves evaluations: the curvatures of a network
    /// differ by many powers of ten. Fewer for networks of more than 170 000 weights.
    pub memory: usize,
    /// Most iterations of L-BFGS.
    pub iterations: usize,
    /// Gradient norm at which a minimum counts as reached.
    pub gradient_tolerance: f64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self { learning_rate: 0.01, epochs: 500, memory: 100, iterations: 2000, gradient_tolerance: 1e-6 }
    }
}

impl Recipe {
    /// Epochs of Adam for this number of rows.
    pub fn epochs_for(&self, rows: usize) -> usize {
        if !self.in_batches(rows) {
            self.epochs
        } else {
            (VISITS / rows).clamp(10, (self.epochs / 4).max(10))
        }
    }

    /// Whether Adam takes so many rows in mini-batches.
    pub fn in_batches(&self, rows: usize) -> bool {
        rows > FULL_BATCH
    }

    /// Adam: from anywhere to the neighbourhood of a minimum. `seed` orders the mini-batches.
    pub fn approach(
        &self,
        loss: &NetworkLoss,
        seed: u64,
        theta: &mut [f64],
        control: Control<'_, Progress>,
    ) -> Result<TrainReport> {
        let rows = loss.data().len();
        let epochs = self.epochs_for(rows);
        if !self.in_batches(rows) {
            let learning_rate = Schedule::Constant(self.learning_rate);
            return adam(loss, theta, &Adam { learning_rate, epochs, ..Adam::default() }, control);
        }
        let settings = MiniBatch {
            rule: Rule::ADAM,
            learning_rate: Schedule::Cosine { initial: self.learning_rate },
            epochs,
            batch_size: BATCH,
            seed,
            gradient_scale: 1.0,
        };
        minibatch(loss, theta, &settings, control)
    }

    /// L-BFGS: to the minimum, or to another gradient norm than the recipe's.
    pub fn polish(
        &self,
        loss: &NetworkLoss,
        theta: &mut [f64],
        tolerance: Option<f64>,
        control: Control<'_, Progress>,
    ) -> Result<TrainReport> {
        let settings = Lbfgs {
            memory: self.memory.min((REMEMBERED / (2 * theta.len().max(1))).max(LEAST_MEMORY)),
            max_iterations: self.iterations,
            gradient_tolerance: tolerance.unwrap_or(self.gradient_tolerance),
            ..Lbfgs::default()
        };
        lbfgs(loss, theta, &settings, control)
    }

    /// A whole training from the fresh weights of `seed`; the report is that of L-BFGS.
    pub fn train(
        &self,
        loss: &NetworkLoss,
        seed: u64,
        control: Control<'_, Progress>,
    ) -> Result<(Vec<f64>, TrainReport)> {
        let mut theta = loss.network().initialize(seed);
        self.approach(loss, seed, &mut theta, control)?;
        let report = self.polish(loss, &mut theta, None, control)?;
        Ok((theta, report))
    }
}
