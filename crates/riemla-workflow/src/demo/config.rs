//! What the demonstration can be asked for.

use riemla::error::check_positive;
use riemla::posterior::Strength;
use riemla::{Error, Result};
use serde::Serialize;

/// Most draws per method: beyond, the draws alone would fill the memory of a small computer.
pub const MOST_SAMPLES: u64 = 10_000;

/// Settings of a demonstration; everything in the result but the times follows from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemoConfig {
    /// Seed of data, initial weights and draws.
    pub seed: u64,
    /// Draws from each posterior, 1 to [`MOST_SAMPLES`].
    pub samples: u64,
    /// Strength a of the metric: a number for the paper's, I + a²∇L∇Lᵀ, or a rule that finds that of
    /// the default metric.
    pub strength: Strength,
    /// Number of training points.
    pub train_points: usize,
    /// Number of test points, and of points far from the data.
    pub test_points: usize,
    /// Standard deviation of the points around their half circle.
    pub noise: f64,
    /// Sizes of the network's layers, inputs and outputs included.
    pub layers: Vec<usize>,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            samples: 50,
            strength: Strength::typical(),
            train_points: 150,
            test_points: 1000,
            noise: 0.3,
            layers: vec![2, 16, 16, 2],
        }
    }
}

impl DemoConfig {
    pub(super) fn check(&self) -> Result<()> {
        if !(1..=MOST_SAMPLES).contains(&self.samples) {
            let allowed = format!("at least 1 and at most {MOST_SAMPLES}");
            return Err(Error::range("number of samples", self.samples, allowed));
        }
        if self.train_points == 0 || self.test_points == 0 {
            return Err(Error::range("number of points", 0, "at least 1"));
        }
        self.strength.validate()?;
        check_positive("noise of the data", self.noise)
    }
}
