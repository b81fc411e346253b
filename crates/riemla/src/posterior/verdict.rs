//! The last word on a strength: what finished draws say of the rule that found it.

use rayon::prelude::*;

use super::pilots::Heights;
use super::ratio::{Estimate, Height, Ratios, larger, ratios};
use super::{Calibration, Draw, Posterior, SearchStatus};
use crate::geometry::Status;
use crate::objective::check_failure;
use crate::{Error, Result};

/// Draws that have the last word on the strength they were made at: enough to know the rise of the loss better than
/// the pilots of the search do, and few enough to be made again.
pub const JUDGES: u64 = 20;
/// Finished draws contradict the rule if the logarithm of the strength that they tell is further from that of theirs than
/// this...
pub const CONTRADICTION: f64 = 0.05;
/// ... and than this number of its standard errors.
pub const CONTRADICTION_ERRORS: f64 = 2.0;
/// A ratio that changes less than this with the strength, in logarithms, does not tell another strength.
const FLATTEST: f64 = 0.02;
/// Largest change of the logarithm of the strength, and in units of the slope of the ratio: further out the line through
/// few trials is not to be trusted, and a flat one less.
const LARGEST_CHANGE: f64 = 1.0;
const LARGEST_CHANGE_IN_SLOPES: f64 = 5.0;

/// What finished draws say of the rule that found their strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// What should be 1 by the rule, measured on the draws.
    pub ratio: f64,
    /// Its standard error.
    pub error: f64,
    /// A strength that should meet the rule better; none if the draws do not contradict it, or do not tell one.
    pub better: Option<f64>,
}

impl Posterior {
    /// What draws at the strength of `found` say of its rule, with the tangents of `seed`. Costs a gradient of the loss
    /// per draw. `None` where there is nothing to say: the rule looks at held-out data, was not met by the pilots
    /// either, or the draws were shortened ([`super::BatchLength`]).
    pub fn verdict(&self, seed: u64, found: &Calibration, draws: &[Draw]) -> Result<Option<Verdict>> {
        let as_long = found.length == 1.0;
        let known = found.slopes.filter(|_| found.status == SearchStatus::Converged && as_long);
        let Some(slopes) = known else { return Ok(None) };
        if draws.is_empty() {
            return Err(Error::range("number of draws", 0, "at least 1"));
        }
        let heights = Heights::new(self, found.rule)?;
        let height = |draw: &Draw| {
            let geodesic = draw.geodesic.filter(|geodesic| geodesic.status == Status::Reached)?;
            let v = self.tangent(seed, draw.index, geodesic.attempts as u64 - 1);
            Some(heights.of(&v, &draw.theta, 1.0))
        };
        let ends: Vec<Height> = draws.par_iter().filter_map(height).collect();
        check_failure(self.moving_objective()?)?;
        let ratios = ratios(found.rule, self.gaussian().subset().len() as f64, &ends);
        let Estimate { value, error } = larger(ratios);
        let better = better(ratios, slopes).map(|change| found.strength * change.exp());
        Ok(Some(Verdict { ratio: value, error, better }))
    }
}

/// The change of the logarithm of the strength at which the larger ratio should be 1; none if the draws do not contradict
/// their own, or do not tell one.
fn better(ratios: Ratios, slopes: [f64; 2]) -> Option<f64> {
    let change = |ratio: usize| {
        let (Estimate { value, error }, slope) = (ratios[ratio], slopes[ratio]);
        let told = value > 0.0 && value.is_finite() && slope < -FLATTEST;
        let largest = LARGEST_CHANGE.min(-LARGEST_CHANGE_IN_SLOPES * slope);
        told.then(|| ((-value.ln() / slope).clamp(-largest, largest), -error / value / slope))
    };
    // Of the larger it must be known: whatever the other says, that one is off.
    change(usize::from(ratios[1].value > ratios[0].value))?;
    // Both fall with the strength: the larger is 1 where the last of them is.
    let (change, error) = (0..2).filter_map(change).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let contradicts = change.abs() > CONTRADICTION.max(CONTRADICTION_ERRORS * error);
    contradicts.then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(values: [f64; 2], error: f64, slopes: [f64; 2]) -> Option<f64> {
        better(values.map(|value| Estimate { value, error }), slopes)
    }

    #[test]
    fn the_last_root_of_both_ratios_is_told() {
        let slopes = [-0.5, -4.0];
        let close = |told: Option<f64>, wanted: f64| (told.unwrap() - wanted).abs() < 1e-12;
        assert!(close(told([1.2, 0.5], 0.0, slopes), 1.2f64.ln() / 0.5), "the whole");
        assert!(close(told([0.9, 2.0], 0.0, slopes), 2f64.ln() / 4.0), "the data");
        // Both are too low: the first of them that is 1 on the way back.
        assert!(close(told([0.95, 0.4], 0.0, slopes), 0.95f64.ln() / 0.5));
        assert!(close(told([0.8, 0.6], 0.0, slopes), 0.6f64.ln() / 4.0));
        assert!(close(told([9.0, 0.6], 0.0, slopes), LARGEST_CHANGE));
        assert!(close(told([9.0, 0.6], 0.0, [-0.04, -4.0]), 0.2), "a flat line");
        assert!(close(told([0.8, 0.0], 0.0, slopes), 0.8f64.ln() / 0.5), "no data");
    }

    #[test]
    fn nothing_is_told_without_a_slope_or_beyond_chance() {
        let slopes = [-0.5, -4.0];
        assert_eq!(told([1.02, 0.5], 0.0, slopes), None, "close enough");
        assert_eq!(told([1.2, 0.5], 0.2, slopes), None, "chance");
        assert_eq!(told([1.2, 0.5], 0.0, [-0.01, -4.0]), None, "flat");
        assert_eq!(told([0.8, 1.3], 0.0, [-0.5, 0.0]), None, "whatever the whole says, the data are off");
        assert_eq!(told([f64::INFINITY, 1.3], 0.0, slopes), None);
    }
}
