//! What a method approximates, seen from the comparison: a density, or the posterior of a network.

use std::sync::atomic::AtomicBool;

use riemla::geometry::Counters;
use riemla::objective::Objective;

use crate::experiments::Result;
use crate::setting::Entry;

/// What draws are asked for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The method.
    pub contender: Entry,
    /// How many draws.
    pub samples: u64,
    /// Members, if it is an ensemble.
    pub members: u64,
    /// The seed.
    pub seed: u64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
}

/// Draws of a method and what they cost.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    /// The draws.
    pub thetas: Vec<Vec<f64>>,
    /// Draws that failed.
    pub failed: u64,
    /// Work of all draws; zero for methods without geodesics.
    pub counters: Counters,
    /// Work of the search for the strength.
    pub search: Counters,
    /// The strength, given or found.
    pub strength: Option<f64>,
    /// Whether the rule that found it is met there; none without a rule.
    pub rule_met: Option<bool>,
}

impl Drawn {
    /// Draws that took so many gradients together.
    pub fn of_gradients(thetas: Vec<Vec<f64>>, gradients: usize) -> Self {
        Self { thetas, counters: Counters { gradients, ..Counters::default() }, ..Self::default() }
    }
}

/// A target of approximations.
pub trait Target: Sync {
    /// −log density; of the linearised network, if asked for and there is one.
    fn objective(&self, linearized: bool) -> Result<Box<dyn Objective + '_>>;

    /// Where the Laplace approximation sits.
    fn center(&self) -> &[f64];

    /// A draw of the Laplace approximation: chains start there.
    fn start(&self, seed: u64, index: u64) -> Vec<f64>;

    /// Draws of a method; none if it does not go with this target.
    fn draws(&self, wanted: &Wanted<'_>) -> Result<Option<Drawn>>;

    /// What a user sees of every draw: predictions on test rows. None for a density.
    fn functions(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<Vec<Vec<f64>>>>;

    /// The test score of draws; none for a density.
    fn score(&self, thetas: &[&[f64]], linearized: bool) -> Result<Option<f64>>;

    /// Independent draws of the target itself, where they can be had.
    fn exact(&self, seed: u64, count: u64) -> Option<Vec<Vec<f64>>>;
}
