//! What the engine needs of a trained problem or a density under one seed and prior.

use super::Result;
use super::cell::{Drawn, Wanted};
use super::record::{CellKey, MadeFrom, ModelSummary, Score};
use super::truth::TruthNumbers;

/// Takes the draws of cells.
pub trait Source {
    /// Takes the draws of a cell that are missing, keeps them, and returns all.
    fn draws(&self, key: &CellKey, wanted: &Wanted<'_>) -> Result<Drawn>;

    /// The trained network and its Laplace approximation; none for a density.
    fn model(&self) -> Option<ModelSummary> {
        None
    }

    /// Seconds of one gradient of a draw, if that is known before it is taken.
    fn gradient_seconds(&self, _: &CellKey) -> Result<Option<f64>> {
        Ok(None)
    }

    /// What draws and verdicts depend on.
    fn made_from(&self) -> &MadeFrom;
}

/// Takes the draws of cells and says what they are worth.
pub trait Bench: Source {
    /// What is found out about draws, of which there is at least one.
    fn judge(&self, key: &CellKey, drawn: &Drawn) -> Result<Verdict>;
}

/// What was found out about draws.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Scores by name.
    pub scores: Vec<Score>,
    /// Mean of (θ − θ*)·∇L(θ)/K; none of a single point.
    pub virial_ratio: Option<f64>,
    /// Distances from the truth, where there is one.
    pub truth: Option<TruthNumbers>,
}
