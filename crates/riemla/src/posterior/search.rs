//! One-dimensional searches in the logarithm of the strength: a root, and a minimum.

use serde::{Deserialize, Serialize};

use crate::Result;

/// Strengths that are looked at, in units of the natural strength 2‖v‖/K: there the bound ‖v‖/a on
/// the rise of the loss is K/2, so that a geodesic of its own loss surely rises by less than draws of
/// the posterior do. The loss of a batch is bounded so, not that of all data: with a stronger metric a
/// draw follows its batch more closely, and from some strength on the loss of all data rises again.
const LOWEST: f64 = 1e-3;
const HIGHEST: f64 = 2.0;
/// Where a search begins: large strengths cost many steps, so rather too weak.
const START: f64 = 0.25;
/// A root is good enough when the logarithm of the ratio is below this, or below half of the
/// standard error that few pilots have anyway, up to the second number.
const RATIO_TOLERANCE: f64 = 0.05;
const LOOSEST_TOLERANCE: f64 = 0.15;
/// Enough pilots: the standard error of the logarithm of the ratio, or its distance from 0 in units
/// of that error.
const ENOUGH: f64 = 0.07;
const CLEAR: f64 = 4.0;
/// Or when it is known to this in the logarithm of the strength.
const WIDTH_TOLERANCE: f64 = 0.02;
/// A minimum is flat: known to this in the logarithm of the strength.
const MINIMUM_TOLERANCE: f64 = 0.3;
const MAX_TRIALS: usize = 14;
/// Ratios beyond this say only on which side the root is.
const LARGEST_RATIO: f64 = 1e3;

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
type Point = (f64, f64);

/// What was tried, sorted by the strength.
#[derive(Default)]
struct Tried(Vec<Point>);

/// What a search for a minimum does next.
enum Next {
    Try(f64),
    Done(SearchStatus),
}

impl Tried {
    fn insert(&mut self, (x, y): Point) {
        self.0.insert(self.0.partition_point(|p| p.0 < x), (x, y));
    }

    /// The index of the smallest `size`, of the strongest if there are several: where no strength keeps
    /// the draws in the domain of the loss, all are the same.
    fn smallest(&self, size: fn(f64) -> f64) -> Option<usize> {
        (0..self.0.len()).rev().min_by(|&a, &b| size(self.0[a].1).total_cmp(&size(self.0[b].1)))
    }

    /// The strength with the smallest `size`; the start if nothing was tried.
    fn strength(&self, size: fn(f64) -> f64) -> f64 {
        self.smallest(size).map_or(START, |at| self.0[at].0.exp())
    }

    fn highest(&self) -> f64 {
        self.0.last().map_or(f64::NEG_INFINITY, |p| p.0)
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
    fn descend(&self, size: fn(f64) -> f64) -> Next {
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

/// A ratio and its standard error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub value: f64,
    pub error: f64,
}

impl Estimate {
    /// Whether more pilots would tell the search nothing: the side of the root is clear, or the ratio
    /// known well enough.
    pub(super) fn is_enough(self) -> bool {
        let error = self.error / self.value;
        self.value.is_finite() && (error <= ENOUGH || self.value.ln().abs() >= CLEAR * error)
    }

    /// How close the logarithm of the ratio should come to 0.
    fn tolerance(self) -> f64 {
        let error = 0.5 * self.error / self.value;
        if error.is_nan() { RATIO_TOLERANCE } else { error.clamp(RATIO_TOLERANCE, LOOSEST_TOLERANCE) }
    }
}

/// A strength at which `ratio` is 1. The ratio falls with the strength, with batches only up to some
/// strength; if it stays above 1, the strength where it is smallest. `None` from `ratio` stops.
pub(super) fn root(mut ratio: impl FnMut(f64) -> Result<Option<Estimate>>) -> Result<(f64, SearchStatus)> {
    let (lowest, highest) = (LOWEST.ln(), HIGHEST.ln());
    let mut x = START.ln();
    let mut tried = Tried::default();
    // Too weak (ratio above 1) and too strong; the weights are those of the Illinois method.
    let (mut weak, mut strong): (Option<Point>, Option<Point>) = (None, None);
    let (mut last, mut step) = (0.0, 0.5);
    for _ in 0..MAX_TRIALS {
        let Some(estimate) = ratio(x.exp())? else {
            return Ok((tried.strength(f64::abs), SearchStatus::Stopped));
        };
        let y = estimate.value.clamp(1.0 / LARGEST_RATIO, LARGEST_RATIO).ln();
        tried.insert((x, y));
        if y.abs() <= estimate.tolerance() {
            return Ok((x.exp(), SearchStatus::Converged));
        }
        if y < 0.0 && strong.is_none() {
            // Between two ratios above 1 are two roots: the lower. Below all of them is one.
            weak = tried.below(x).or_else(|| tried.above(x));
        }
        let (same, other) = if y > 0.0 { (&mut weak, &mut strong) } else { (&mut strong, &mut weak) };
        if let (true, Some(other)) = (last * y > 0.0, other) {
            other.1 *= 0.5;
        }
        *same = Some((x, y));
        last = y;
        x = match (weak, strong) {
            (Some(a), Some(b)) if (b.0 - a.0).abs() <= WIDTH_TOLERANCE => {
                return Ok(((0.5 * (a.0 + b.0)).exp(), SearchStatus::Converged));
            }
            (Some(a), Some(b)) if a.1.max(-b.1) >= 0.9 * LARGEST_RATIO.ln() => 0.5 * (a.0 + b.0),
            (Some(a), Some(b)) => a.0 + (b.0 - a.0) * a.1 / (a.1 - b.1),
            (None, _) if x <= lowest => return Ok((LOWEST, SearchStatus::LowestStrength)),
            (_, None) if tried.highest() >= highest => match tried.descend(f64::abs) {
                Next::Try(next) => next,
                Next::Done(status @ SearchStatus::HighestStrength) => return Ok((HIGHEST, status)),
                Next::Done(_) => return Ok((tried.strength(f64::abs), SearchStatus::Closest)),
            },
            // The ratio falls roughly like 1/a; if it falls more slowly, go further each time.
            _ => {
                step = y.abs().clamp(step, 2.5);
                let next = (x + y.signum() * step).clamp(lowest, highest);
                step = (2.0 * step).min(2.5);
                next
            }
        };
    }
    Ok((tried.strength(f64::abs), SearchStatus::TrialLimit))
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

    type Function<'a> = dyn FnMut(f64) -> Result<Option<f64>> + 'a;

    /// Runs a search and counts its trials.
    fn run(
        search: fn(&mut Function<'_>) -> Result<(f64, SearchStatus)>,
        f: impl Fn(f64) -> f64,
    ) -> (f64, SearchStatus, usize) {
        let mut trials = 0;
        let (strength, status) = search(&mut |a| {
            trials += 1;
            assert!((LOWEST * 0.999..HIGHEST * 1.001).contains(&a), "{a}");
            Ok(Some(f(a)))
        })
        .unwrap();
        (strength, status, trials)
    }

    /// [`root`] of exactly known ratios.
    fn exact_root(f: &mut Function<'_>) -> Result<(f64, SearchStatus)> {
        root(|a| Ok(f(a)?.map(|value| Estimate { value, error: 0.0 })))
    }

    #[test]
    fn a_root_is_not_sought_more_closely_than_it_is_known() {
        for (value, error, status) in [
            (1.1, 0.3, SearchStatus::Converged),
            (1.1, 0.1, SearchStatus::HighestStrength),
            (1.3, 9.0, SearchStatus::HighestStrength),
            (1.04, f64::NAN, SearchStatus::Converged),
        ] {
            assert_eq!(root(|_| Ok(Some(Estimate { value, error }))).unwrap().1, status, "{value} ± {error}");
        }
    }

    #[test]
    fn roots_of_falling_functions_are_found_in_few_trials() {
        for wanted in [2e-3, 0.02, 0.1, 0.25, 0.7, 1.8] {
            for power in [0.3f64, 1.0, 3.0] {
                let (a, status, trials) = run(exact_root, |a| (wanted / a).powf(power));
                assert_eq!(status, SearchStatus::Converged);
                assert!(((a / wanted).ln() * power).abs() <= RATIO_TOLERANCE, "{wanted} {power}: {a}");
                assert!(trials <= 9, "{wanted} {power}: {trials} trials");
            }
            // A jump has no root: the place of the jump.
            let (a, status, _) = run(exact_root, |a| if a < wanted { f64::INFINITY } else { 0.0 });
            assert_eq!(status, SearchStatus::Converged);
            assert!((a / wanted).ln().abs() <= WIDTH_TOLERANCE, "{wanted}: {a}");
        }
    }

    #[test]
    fn without_a_bracket_the_closest_is_taken_with_a_flag() {
        assert_eq!(run(exact_root, |_| 0.8).1, SearchStatus::LowestStrength);
        assert_eq!(run(exact_root, |_| 0.8).0, LOWEST);
        assert_eq!(run(exact_root, |_| 1.4).0, HIGHEST);
        assert_eq!(run(exact_root, |_| f64::INFINITY).1, SearchStatus::HighestStrength);
        assert_eq!(run(|f| minimum(&mut *f), |a| a).1, SearchStatus::LowestStrength);
        assert_eq!(run(|f| minimum(&mut *f), |a| -a).1, SearchStatus::HighestStrength);
        assert_eq!(root(|_| Ok(None)), Ok((START, SearchStatus::Stopped)));
        let failed = crate::Error::Unsupported("the model failed".into());
        assert_eq!(root(|_| Err(failed.clone())), Err(failed.clone()));
        assert_eq!(minimum(|_| Err(failed.clone())), Err(failed.clone()));
    }

    /// As with batches: beyond some strength a draw follows its batch ever more closely.
    #[test]
    fn a_ratio_that_rises_again_gives_its_lower_root_or_its_smallest() {
        for lowest in [0.01f64, 0.06, 0.2, 0.6] {
            for depth in [0.7f64, 1.1, 1.5, 5.0] {
                let valley = |a: f64| depth * (2.0 * (a / lowest).ln().abs() / 3.0).exp();
                let (a, status, trials) = run(exact_root, valley);
                let distance = (a / lowest).ln();
                if depth < 1.0 {
                    assert_eq!(status, SearchStatus::Converged);
                    assert!(valley(a).ln().abs() <= RATIO_TOLERANCE, "{lowest} {depth}: {a}");
                    assert!(distance < 0.0 || lowest < START, "{lowest} {depth}: {a}");
                } else {
                    assert_eq!(status, SearchStatus::Closest);
                    assert!(distance.abs() <= MINIMUM_TOLERANCE, "{lowest} {depth}: {a}");
                }
                assert!(trials <= 12, "{lowest} {depth}: {trials} trials");
            }
        }
    }

    #[test]
    fn a_ratio_that_only_rises_has_a_root_too() {
        for wanted in [2e-3, 0.02, 0.1, 0.2] {
            for power in [0.3f64, 1.0] {
                let (a, status, trials) = run(exact_root, |a| (a / wanted).powf(power));
                assert_eq!(status, SearchStatus::Converged, "{wanted} {power}: {a}");
                assert!(((a / wanted).ln() * power).abs() <= RATIO_TOLERANCE, "{wanted} {power}: {a}");
                assert!(trials <= 12, "{wanted} {power}: {trials} trials");
            }
        }
    }

    #[test]
    fn pilots_are_added_until_they_tell_the_side_of_the_root() {
        for (value, error, enough) in [
            (1.0, 0.05, true),
            (1.0, 0.2, false),
            (3.0, 0.3, true),
            (3.0, 1.5, false),
            (0.2, 0.02, true),
            (0.0, 0.0, false),
            (f64::INFINITY, f64::NAN, false),
        ] {
            assert_eq!(Estimate { value, error }.is_enough(), enough, "{value} ± {error}");
        }
    }

    #[test]
    fn minima_are_found_in_few_trials() {
        for wanted in [2e-3, 0.04, 0.1, 0.9] {
            let (a, status, trials) = run(|f| minimum(&mut *f), |a| (a / wanted).ln().powi(2));
            assert_eq!(status, SearchStatus::Converged);
            assert!((a / wanted).ln().abs() <= MINIMUM_TOLERANCE, "{wanted}: {a}");
            assert!(trials <= 12, "{wanted}: {trials} trials");
        }
    }
}
