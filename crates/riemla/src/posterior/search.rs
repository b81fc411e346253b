//! One-dimensional searches in the logarithm of the strength: a root, and a minimum.
//!
//! A root is sought with few pilots, the same at every strength, so that differences between strengths are known
//! much better than levels are. Levels get more pilots only near the root. The result lies between trials, on the
//! line through those around it. Why and how well: docs/decisions/0028-strength-search.md.

use serde::{Deserialize, Serialize};

use crate::Result;

/// Strengths that are looked at, in units of the natural strength 2‖v‖/K: there the bound ‖v‖/a on
/// the rise of the loss is K/2, so that a geodesic of its own loss surely rises by less than draws of
/// the posterior do. The loss of a batch is bounded so, not that of all data: with a stronger metric a
/// draw follows its batch more closely, and from some strength on the loss of all data rises again.
pub(super) const LOWEST: f64 = 1e-3;
pub(super) const HIGHEST: f64 = 2.0;
/// Where a search begins: large strengths cost many steps, so rather too weak.
pub(super) const START: f64 = 0.4;
/// Strengths that rules found on networks lie around the start, by this much in the logarithm. A ratio that hardly
/// depends on the strength does not determine it: then the result stays here rather than at the end of the range
/// that the noise of the pilots points to.
pub(super) const USUAL_RANGE: f64 = 1.5;
/// A root needs no trial of its own when it is as close as this to one in the logarithm of the strength, whose ratio
/// is as close to 1 as the second number.
pub(super) const NEAR: f64 = 0.4;
pub(super) const NEAR_RATIO: f64 = 0.15;
/// Enough pilots: the standard error of the logarithm of the ratio, or what it means in the logarithm of the strength.
pub(super) const ENOUGH: f64 = 0.003;
pub(super) const ENOUGH_STRENGTH: f64 = 0.07;
/// Above this standard error of the logarithm of the ratio pilots are added at once, unless the side of the root is clear.
pub(super) const UNSURE: f64 = 0.07;
/// The rule counts as met when the logarithm of the ratio is below this, or below so many of its standard errors.
pub(super) const MET: f64 = 0.05;
pub(super) const MET_ERRORS: f64 = 3.0;
/// Or when the place where the ratio jumps over 1 is known to this in the logarithm of the strength.
pub(super) const WIDTH_TOLERANCE: f64 = 0.02;
/// A minimum is flat: known to this in the logarithm of the strength.
pub(super) const MINIMUM_TOLERANCE: f64 = 0.3;
pub(super) const MAX_TRIALS: usize = 14;
/// Ratios beyond this say only on which side the root is.
pub(super) const LARGEST_RATIO: f64 = 1e3;
/// The longest and the shortest step towards a root that is not between two trials yet.
pub(super) const STEPS: (f64, f64) = (0.5, 2.5);

/// How the search for a strength ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchStatus {
    /// The condition is met.
    Converged,
    /// Even the weakest metric (a thousandth of the natural strength 2‖v‖/K) is too strong, as for a
    /// Gaussian posterior.
    LowestStrength,
    /// Even the strongest metric (twice the natural strength) is too weak.
    HighestStrength,
    /// The condition is met at no strength, as can be with batches: the closest to it is taken.
    Closest,
    /// The trials were used up; the closest is taken.
    TrialLimit,
    /// A stop was requested; the closest so far is taken.
    Stopped,
}

impl std::fmt::Display for SearchStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Converged => "converged",
            Self::LowestStrength => "at the lowest strength",
            Self::HighestStrength => "at the highest strength",
            Self::Closest => "closest to the rule; no strength satisfies it",
            Self::TrialLimit => "trial limit",
            Self::Stopped => "stopped",
        })
    }
}

/// A point of the search: logarithm of the strength, and the function there.
pub(super) type Point = (f64, f64);

/// What was tried, sorted by the strength.
#[derive(Default)]
pub(super) struct Tried(pub Vec<Point>);

/// What a search for a minimum does next.
pub(super) enum Next {
    Try(f64),
    Done(SearchStatus),
}

impl Tried {
    pub fn insert(&mut self, (x, y): Point) {
        self.0.insert(self.0.partition_point(|p| p.0 < x), (x, y));
    }

    /// The index of the smallest `size`, of the strongest if there are several: where no strength keeps
    /// the draws in the domain of the loss, all are the same.
    fn smallest(&self, size: fn(f64) -> f64) -> Option<usize> {
        (0..self.0.len()).rev().min_by(|&a, &b| size(self.0[a].1).total_cmp(&size(self.0[b].1)))
    }

    /// The strength with the smallest `size`; the start if nothing was tried.
    pub fn strength(&self, size: fn(f64) -> f64) -> f64 {
        self.smallest(size).map_or(START, |at| self.0[at].0.exp())
    }

    /// What was found at `x`, which was tried.
    pub fn at(&self, x: f64) -> f64 {
        self.0.iter().find(|point| point.0 == x).map_or(f64::NAN, |point| point.1)
    }

    /// The nearest below `x`.
    fn below(&self, x: f64) -> Option<Point> {
        self.0[..self.0.partition_point(|p| p.0 < x)].last().copied()
    }

    /// The nearest above `x`.
    fn above(&self, x: f64) -> Option<Point> {
        self.0.get(self.0.partition_point(|p| p.0 <= x)).copied()
    }

    /// The way to where `size` is smallest.
    pub fn descend(&self, size: fn(f64) -> f64) -> Next {
        let (lowest, highest) = (LOWEST.ln(), HIGHEST.ln());
        let Some(at) = self.smallest(size) else { return Next::Try(START.ln()) };
        let best = self.0[at].0;
        Next::Try(match (self.below(best).map(|p| p.0), self.above(best).map(|p| p.0)) {
            (None, _) if best <= lowest => return Next::Done(SearchStatus::LowestStrength),
            (_, None) if best >= highest => return Next::Done(SearchStatus::HighestStrength),
            (None, _) => (best - std::f64::consts::LN_10 / 2.0).max(lowest),
            (_, None) => (best + std::f64::consts::LN_10 / 2.0).min(highest),
            (Some(l), Some(r)) if (r - best).max(best - l) <= MINIMUM_TOLERANCE => {
                return Next::Done(SearchStatus::Converged);
            }
            // Into the larger side, where more is unknown.
            (Some(l), Some(r)) if r - best > best - l => 0.5 * (best + r),
            (Some(l), Some(_)) => 0.5 * (best + l),
        })
    }
}

/// The strength at which `score` is smallest, going downhill from the start.
pub(super) fn minimum(mut score: impl FnMut(f64) -> Result<Option<f64>>) -> Result<(f64, SearchStatus)> {
    let mut tried = Tried::default();
    for _ in 0..MAX_TRIALS {
        let x = match tried.descend(|y| y) {
            Next::Try(x) => x,
            Next::Done(status) => return Ok((tried.strength(|y| y), status)),
        };
        let Some(value) = score(x.exp())? else {
            return Ok((tried.strength(|y| y), SearchStatus::Stopped));
        };
        tried.insert((x, if value.is_nan() { f64::INFINITY } else { value }));
    }
    Ok((tried.strength(|y| y), SearchStatus::TrialLimit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(f: impl Fn(f64) -> f64) -> (f64, SearchStatus, usize) {
        let mut trials = 0;
        let (strength, status) = minimum(|a| {
            trials += 1;
            assert!((LOWEST * 0.999..HIGHEST * 1.001).contains(&a), "{a}");
            Ok(Some(f(a)))
        })
        .unwrap();
        (strength, status, trials)
    }

    #[test]
    fn minima_are_found_in_few_trials() {
        for wanted in [2e-3, 0.04, 0.1, 0.9] {
            let (a, status, trials) = run(|a| (a / wanted).ln().powi(2));
            assert_eq!(status, SearchStatus::Converged);
            assert!((a / wanted).ln().abs() <= MINIMUM_TOLERANCE, "{wanted}: {a}");
            assert!(trials <= 12, "{wanted}: {trials} trials");
        }
    }

    #[test]
    fn a_minimum_at_an_end_is_taken_with_a_flag() {
        assert_eq!(run(|a| a).1, SearchStatus::LowestStrength);
        assert_eq!(run(|a| -a).1, SearchStatus::HighestStrength);
        let failed = crate::Error::Unsupported("the model failed".into());
        assert_eq!(minimum(|_| Err(failed.clone())), Err(failed.clone()));
    }
}
