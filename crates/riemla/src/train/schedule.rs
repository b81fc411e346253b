//! Learning rates over the epochs of a run.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_positive};

/// The learning rate as a function of the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// The same in every epoch.
    Constant(f64),
    /// initial·(1 + cos(π·epoch/epochs))/2: falls from `initial` in the first epoch towards 0,
    /// which it would reach one epoch after the last (PyTorch's `CosineAnnealingLR` with
    /// `T_max` = epochs).
    Cosine {
        /// Rate of the first epoch.
        initial: f64,
    },
}

impl Schedule {
    /// The rate in epoch number `epoch` (from 0) of `epochs`.
    pub fn at(&self, epoch: usize, epochs: usize) -> f64 {
        match *self {
            Self::Constant(rate) => rate,
            Self::Cosine { initial } => {
                let passed = epoch as f64 / epochs.max(1) as f64;
                0.5 * initial * (1.0 + (std::f64::consts::PI * passed).cos())
            }
        }
    }

    /// Checks that the rate is finite and above zero.
    pub(super) fn check(&self) -> Result<()> {
        let (Self::Constant(rate) | Self::Cosine { initial: rate }) = *self;
        check_positive("learning_rate", rate)
    }
}
