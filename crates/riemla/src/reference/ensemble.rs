//! Deep ensembles: the same network trained again and again from fresh weights.

use rand::Rng as _;
use serde::{Deserialize, Serialize};

use crate::objective::NetworkLoss;
use crate::random::{Purpose, stream};
use crate::train::{Progress, Recipe, TrainReport};
use crate::{Control, Result};

/// Settings of a deep ensemble (Lakshminarayanan, Pritzel and Blundell, NeurIPS 2017).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ensemble {
    /// How members are trained.
    pub training: Recipe,
}

/// A member of an ensemble.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Seed of its initial weights and of the order of its mini-batches.
    pub seed: u64,
    /// Its weights.
    pub theta: Vec<f64>,
    /// How its training ended.
    pub report: TrainReport,
}

impl Ensemble {
    /// The training seed of member number `index` under `seed`.
    pub fn member_seed(seed: u64, index: u64) -> u64 {
        stream(seed, Purpose::Member, index).next_u64()
    }

    /// Trains member number `index`: a function of (seed, index) alone, the same as [`Recipe::train`] with
    /// the member's own seed.
    pub fn member(
        &self,
        loss: &NetworkLoss,
        seed: u64,
        index: u64,
        control: Control<'_, Progress>,
    ) -> Result<Member> {
        let seed = Self::member_seed(seed, index);
        let (theta, report) = self.training.train(loss, seed, control)?;
        Ok(Member { seed, theta, report })
    }
}
