//! Finding the length of draws on batches: the factor towards θ* at which their virial ratio on all rows is 1.

use super::Strength;
use super::pilots::Pilots;
use super::ratio::larger;
use super::search::LARGEST_RATIO;
use crate::geometry::{Counters, Geodesic};
use crate::{Control, Result};

/// Pilots that are looked at first, and the standard error of the logarithm of their ratio above which there are more.
/// The factor is then known to half of that.
const FIRST: usize = 6;
const ENOUGH: f64 = 0.06;
/// The factor is found when the logarithm of the ratio is as close to 0 as this.
const CLOSE: f64 = 0.005;
/// Factors that are looked at, at most; a loss that grows like a power of the distance needs three or four.
const MOST: usize = 14;
/// Limits of the power with which the ratio falls there.
const POWERS: (f64, f64) = (0.5, 8.0);
/// Limits of a step of the logarithm of the factor, while the root is not between two factors yet.
const STEPS: (f64, f64) = (0.02, 0.4);

/// What was found.
pub(super) struct Shortening {
    pub factor: f64,
    pub counters: Counters,
    /// Of its gradients those on all rows.
    pub on_all_rows: usize,
}

/// The largest factor up to 1 at which the virial ratio of the pilots at `strength` is 1; none if a stop was requested. Every factor
/// costs a gradient on all rows per pilot.
pub(super) fn shorten(
    pilots: &Pilots<'_>,
    strength: f64,
    control: Control<'_>,
) -> Result<Option<Shortening>> {
    let (mut counters, mut on_all_rows) = (Counters::default(), 0);
    let mut geodesics: Vec<Geodesic> = Vec::new();
    let mut count = FIRST.min(pilots.len());
    loop {
        let more = pilots.run(geodesics.len()..count, strength, control)?;
        if control.is_stopped() {
            return Ok(None);
        }
        more.iter().for_each(|geodesic| counters += geodesic.counters);
        geodesics.extend(more);
        let mut error = 0.0;
        let factor = largest(|factor| {
            let heights = pilots.heights(0, &geodesics, factor)?;
            let ends: Vec<_> = heights.into_iter().flatten().collect();
            on_all_rows += ends.len();
            let virial = larger(pilots.ratios(Strength::virial(), &ends));
            let (logarithm, its_error) = virial.logarithm(LARGEST_RATIO);
            error = its_error;
            Ok(logarithm)
        })?;
        if error <= ENOUGH || count == pilots.len() {
            counters.gradients += on_all_rows;
            return Ok(Some(Shortening { factor, counters, on_all_rows }));
        }
        count = (2 * count).min(pilots.len());
    }
}

/// The first factor, going down from 1, at which the logarithm of a ratio is not above 0.
fn largest(mut logarithm: impl FnMut(f64) -> Result<f64>) -> Result<f64> {
    let mut high = (0.0f64, logarithm(1.0)?);
    if high.1 <= CLOSE {
        return Ok(1.0);
    }
    let mut low: Option<(f64, f64)> = None;
    // Along a quadratic loss the ratio falls with the square of the factor.
    let mut power = 2.0;
    for _ in 1..MOST {
        let x = match low {
            None => high.0 - (high.1 / power).clamp(STEPS.0, STEPS.1),
            Some(low) => {
                let share = low.1 / (low.1 - high.1);
                low.0 + share.clamp(0.1, 0.9) * (high.0 - low.0)
            }
        };
        let y = logarithm(x.exp())?;
        if y.abs() <= CLOSE {
            return Ok(x.exp());
        }
        if y > 0.0 {
            power = ((high.1 - y) / (high.0 - x)).clamp(POWERS.0, POWERS.1);
            high = (x, y);
        } else {
            low = Some((x, y));
        }
    }
    Ok(low.unwrap_or(high).0.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ratio: impl Fn(f64) -> f64) -> (f64, usize) {
        let mut looked = 0;
        let factor = largest(|factor| {
            looked += 1;
            assert!(factor > 0.0 && factor <= 1.0, "{factor}");
            Ok(ratio(factor).clamp(1.0 / LARGEST_RATIO, LARGEST_RATIO).ln())
        });
        (factor.unwrap(), looked)
    }

    #[test]
    fn powers_are_found_in_few_steps() {
        for height in [1.02, 1.5, 4.0, 50.0] {
            for power in [1.0, 2.0, 3.0, 5.0] {
                let (factor, looked) = run(|s| height * s.powf(power));
                let wanted = f64::powf(height, -1.0 / power);
                assert!((factor / wanted).ln().abs() <= CLOSE / power + 1e-12, "{height} {power}: {factor}");
                assert!(looked <= 11, "{height} {power}: {looked}");
            }
        }
    }

    #[test]
    fn draws_that_are_not_too_high_stay_as_long_as_they_are() {
        assert_eq!(run(|s| 0.7 * s), (1.0, 1));
        assert_eq!(run(|_| 1.0), (1.0, 1));
    }

    #[test]
    fn beyond_the_domain_of_the_loss_there_is_no_ratio() {
        let (factor, _) = run(|s| if s > 0.5 { f64::INFINITY } else { 2.0 * s });
        assert!((factor - 0.5).abs() < 0.01, "{factor}");
        // The first root on the way down, not the smallest.
        let (factor, _) = run(|s| if s > 0.9 { 1.3 } else { 0.9 });
        assert!((factor - 0.9).abs() < 0.01, "{factor}");
    }
}
