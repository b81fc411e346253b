//! Strength a of the metric I + a²∇L∇Lᵀ: a number, or a rule that finds one.

use serde::{Deserialize, Serialize};

use crate::geometry::check_strength;
use crate::{Error, Result};

/// Where the strength comes from.
///
/// A rule is applied once per seed: it runs the first `pilots` draws of that seed at a few strengths
/// and takes the one that satisfies its condition. Rules and what they assume:
/// docs/decisions/0008-strength.md.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Strength {
    /// This number; 1 is the paper's.
    Fixed(f64),
    /// The average of (θ − θ*)·∇L(θ) over the draws is K, as for exact draws from exp(−L).
    Virial {
        /// Draws that the rule looks at, at most.
        #[serde(default = "default_pilots")]
        pilots: usize,
        /// Which average.
        #[serde(default)]
        statistic: Statistic,
    },
    /// The mean rise of the loss is K/2, as for exact draws from a Gaussian posterior.
    LossRise {
        /// Draws that the rule looks at, at most.
        #[serde(default = "default_pilots")]
        pilots: usize,
    },
    /// The mean rise of the loss is K/2; where the loss grows much faster than a quadratic, so that
    /// draws lie lower than that, the virial ratio is 1 instead ([`growth_factor`]). If the model reports its prior
    /// ([`super::Model::prior`]), the loss of the data does not rise by more than half the weights they determine.
    Typical {
        /// Draws that the rule looks at, at most.
        #[serde(default = "default_pilots")]
        pilots: usize,
    },
    /// The score on held-out data ([`super::Posterior::with_validation`]) is smallest.
    HeldOut {
        /// Draws that the rule looks at.
        #[serde(default = "held_out_pilots")]
        pilots: usize,
    },
}

/// Factor by which the rule [`Strength::Typical`] raises the mean rise of the loss, in units of K/2,
/// before it asks for 1; from the growth of the loss, the quotient of virial ratio and that rise.
///
/// A loss that grows like the power q of the distance has growth q/2. Up to q = 2.5 it is taken for a
/// quadratic and the factor is 1; from q = 3 on it is the growth, so that the virial ratio counts; in
/// between a power of it. The limits are measured, not derived: docs/decisions/0016-default-metric.md.
pub fn growth_factor(growth: f64) -> f64 {
    const POWERS: (f64, f64) = (2.5, 3.0);
    let share = (2.0 * growth / POWERS.0).ln() / (POWERS.1 / POWERS.0).ln();
    // A few pilots can have any signs: then, too, the rise counts.
    if share > 0.0 && growth.is_finite() { growth.powf(share.min(1.0)) } else { 1.0 }
}

/// Which average over the pilot draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The mean, for which the virial identity holds.
    #[default]
    Mean,
    /// The median: not moved by a single far draw, but the identity is only approximate.
    Median,
}

impl Statistic {
    /// The average of the values; NaN of none.
    pub fn of(self, values: &[f64]) -> f64 {
        match self {
            Statistic::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Statistic::Median => median(values),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// All of them at every strength: a score does not tell its error.
fn held_out_pilots() -> usize {
    10
}

/// As many as a search may come to; most need fewer.
fn default_pilots() -> usize {
    24
}

impl Strength {
    /// The virial rule with its defaults: up to 24 pilots, mean.
    pub fn virial() -> Self {
        Strength::Virial { pilots: default_pilots(), statistic: Statistic::Mean }
    }

    /// The rule that the mean loss rises by K/2, with up to 24 pilots.
    pub fn loss_rise() -> Self {
        Strength::LossRise { pilots: default_pilots() }
    }

    /// The rise of typical draws, with up to 24 pilots.
    pub fn typical() -> Self {
        Strength::Typical { pilots: default_pilots() }
    }

    /// Tuned on held-out data, with 10 pilots.
    pub fn held_out() -> Self {
        Strength::HeldOut { pilots: held_out_pilots() }
    }

    /// The number, if it is one.
    pub fn fixed(self) -> Option<f64> {
        if let Strength::Fixed(strength) = self { Some(strength) } else { None }
    }

    /// Draws that the rule looks at; 0 for a number.
    pub fn pilots(self) -> usize {
        match self {
            Strength::Fixed(_) => 0,
            Strength::Virial { pilots, .. }
            | Strength::LossRise { pilots }
            | Strength::Typical { pilots }
            | Strength::HeldOut { pilots } => pilots,
        }
    }

    /// Checks the number, or that there are pilots.
    pub fn validate(self) -> Result<()> {
        match self {
            Strength::Fixed(strength) => check_strength(strength),
            rule if rule.pilots() == 0 => Err(Error::range("pilots of the strength's rule", 0, "at least 1")),
            _ => Ok(()),
        }
    }
}

/// The rule that the library uses by default.
impl Default for Strength {
    fn default() -> Self {
        Strength::typical()
    }
}

impl From<f64> for Strength {
    fn from(strength: f64) -> Self {
        Strength::Fixed(strength)
    }
}
