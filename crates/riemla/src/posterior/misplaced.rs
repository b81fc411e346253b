//! Where draws with a wrong virial ratio are, and what to do about it.

use std::fmt;

use super::DrawsMade;

/// Where draws are whose virial ratio is not 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Misplaced {
    /// Too close to θ*: the ratio is between 0 and 1.
    TooClose,
    /// Too far up the sides of the basin of θ*, or outside the domain of the loss: above 1, or no number.
    Overshoot,
    /// Beyond the sides of the basin, where the loss falls with the distance from θ*: the ratio is negative.
    LeftBasin,
}

impl Misplaced {
    /// Of draws with this virial ratio.
    pub fn of(ratio: f64) -> Self {
        if ratio < 0.0 {
            Self::LeftBasin
        } else if ratio < 1.0 {
            Self::TooClose
        } else {
            Self::Overshoot
        }
    }

    /// What to do about draws that were made in a certain way. Draws that left the basin went too far, as those
    /// that overshoot.
    pub(super) fn remedy(self, made: DrawsMade) -> &'static str {
        match (made, self) {
            (DrawsMade::Gaussian, Self::TooClose) => {
                "the Gaussian is narrower than the posterior; try riem-la"
            }
            (DrawsMade::Gaussian, _) => {
                "the Gaussian reaches beyond the region where the posterior has its mass; try lin-la or riem-la"
            }
            (DrawsMade::Polished, Self::LeftBasin) => {
                "they belong to another mode of the posterior; start closer (a stronger metric), or compare with nuts"
            }
            (DrawsMade::Polished, _) => {
                "the chains that polish them are too short; polish with more gradients"
            }
            (_, Self::TooClose) => "lower the strength of the metric, or choose it by the virial rule",
            (DrawsMade::Batches, _) => {
                "each draw follows the loss of its own batch and ignores the other rows; shorten them (length auto), or use \
                 larger batches, all rows, or a larger prior precision"
            }
            (DrawsMade::Geodesics, _) => "raise the strength of the metric, or choose it by the virial rule",
        }
    }
}

/// Completes "the draws …".
impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooClose => "stay too close to the trained weights",
            Self::Overshoot => "overshoot (their loss is too high)",
            Self::LeftBasin => {
                "have left the basin of the trained weights (the loss falls with the distance from them)"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_beyond_the_basin_went_too_far_whatever_made_them() {
        assert_eq!(Misplaced::of(-0.3), Misplaced::LeftBasin);
        assert_eq!(Misplaced::of(0.3), Misplaced::TooClose);
        assert_eq!(Misplaced::of(1.3), Misplaced::Overshoot);
        assert_eq!(Misplaced::of(f64::NAN), Misplaced::Overshoot);
        for made in [DrawsMade::Gaussian, DrawsMade::Geodesics, DrawsMade::Batches] {
            let [left, far, close] = [Misplaced::LeftBasin, Misplaced::Overshoot, Misplaced::TooClose]
                .map(|misplaced| misplaced.remedy(made));
            assert_eq!(left, far);
            assert_ne!(left, close);
        }
        assert!(Misplaced::LeftBasin.remedy(DrawsMade::Polished).contains("another mode"));
    }
}
