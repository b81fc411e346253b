//! What a method approximates, seen from the comparison: a density, or the posterior of a network.

use riemla::objective::Objective;

use super::super::Result;
use super::super::bench::Source;

/// A target of approximations.
pub trait Target: Source + Sync {
    /// −log density; of the linearised network, if asked for and there is one.
    fn objective(&self, linearized: bool) -> Result<Box<dyn Objective + '_>>;

    /// Where the Laplace approximation sits.
    fn center(&self) -> &[f64];

    /// A draw of the Laplace approximation: chains start there.
    fn start(&self, seed: u64, index: u64) -> Vec<f64>;

    /// What a user sees of every draw: predictions on test rows. None for a density.
    fn functions(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<Vec<Vec<f64>>>> {
        let _ = (thetas, linearized);
        Ok(None)
    }

    /// The test score of draws; none for a density.
    fn score(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<f64>> {
        let _ = (thetas, linearized);
        Ok(None)
    }

    /// Independent draws of the target itself, where they can be had.
    fn exact(&self, seed: u64, count: u64) -> Option<Vec<Vec<f64>>> {
        let _ = (seed, count);
        None
    }
}
