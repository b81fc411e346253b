//! From the best rung to the maximum near it.

use super::TrialStart;
use super::ladder::STEP;
use super::point::Searcher;
use crate::Result;

/// Steps in log ρ are halved down to this.
const FINEST: f64 = 0.1;
/// Nats that a step must gain: where the data say nothing, the evidence rises for ever, by less and less.
const GAIN: f64 = 0.01;

/// Trials that are expected: two or three for every step and direction.
pub(super) fn expected(dim: usize) -> usize {
    let halvings = |first: f64| (first / FINEST).log2().ceil() as usize;
    3 * halvings(0.5 * STEP) + if dim > 1 { 4 * dim * halvings(STEP) } else { 0 }
}

impl Searcher<'_> {
    /// First all coordinates together, then, if there are several, each of them.
    pub(super) fn refine(&mut self) -> Result<()> {
        let all: Vec<usize> = (0..self.dim()).collect();
        let mut step = 0.5 * STEP;
        while !all.is_empty() && step > FINEST {
            if self.either_way(&all, step)?.is_none() {
                return Ok(());
            }
            step *= 0.5;
        }
        self.confirm()?;
        let mut step = STEP;
        while all.len() > 1 && step > FINEST {
            let mut moved = false;
            for coordinate in &all {
                let Some(climbed) = self.either_way(&[*coordinate], step)? else { return Ok(()) };
                moved |= climbed;
            }
            if !moved {
                step *= 0.5;
            }
        }
        Ok(())
    }

    /// Climbs up or else down; whether it did, or none after a stop.
    fn either_way(&mut self, coordinates: &[usize], step: f64) -> Result<Option<bool>> {
        Ok(match self.climb(coordinates, step)? {
            Some(false) => self.climb(coordinates, -step)?,
            climbed => climbed,
        })
    }

    /// Moves coordinates as long as the evidence rises. Every descent starts at the best weights so far,
    /// so that it stays in their valley.
    fn climb(&mut self, coordinates: &[usize], step: f64) -> Result<Option<bool>> {
        let mut climbed = false;
        while let Some(best) = self.best.first() {
            let (mut at, theta, evidence) = (best.at.clone(), best.theta.clone(), best.evidence);
            coordinates.iter().for_each(|&c| at[c] += step);
            if at.iter().any(|x| *x > self.highest) {
                break;
            }
            let Some(next) = self.try_at(&at, theta, TrialStart::Refined)? else { return Ok(None) };
            if next.evidence <= evidence + GAIN {
                break;
            }
            climbed = true;
        }
        Ok(Some(climbed))
    }
}
