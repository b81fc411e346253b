//! What the rules make of how high pilots end: a ratio that should be 1, and its standard error.

use serde::{Deserialize, Deserializer, Serialize};

use super::strength::growth_factor;
use super::{Statistic, Strength};

/// How high a draw lies: two ratios that are 1 on average for draws of a Gaussian posterior, the second for
/// those of any.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Height {
    /// (L(θ) − L(θ*) − ∇L(θ*)·v)/(K/2).
    #[serde(deserialize_with = "or_nan")]
    pub rise: f64,
    /// ((θ − θ*)·∇L(θ) − ∇L(θ*)·v)/K.
    #[serde(deserialize_with = "or_nan")]
    pub virial: f64,
    /// vᵀPv/K of the tangent vector: 1 on average, and what the other two are of a Gaussian posterior. Pilots
    /// that start with long tangents end high; this tells how much of that is chance.
    #[serde(deserialize_with = "or_nan")]
    pub tangent: f64,
    /// (D(θ) − D(θ*) − ∇D(θ*)·v)/(γ/2) for the loss D of the data alone and γ = K − tr(ΛP⁻¹) the weights that the
    /// data determine, Λ the precision of the prior; 0 if the model does not report its prior, or the rule does not ask.
    #[serde(deserialize_with = "or_nan")]
    pub data: f64,
    /// vᵀ(P − Λ)v/γ: 1 on average, and what `data` is of a Gaussian posterior.
    #[serde(deserialize_with = "or_nan")]
    pub data_tangent: f64,
}

/// JSON has no numbers that are not finite: it leaves their place open.
pub(super) fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// A ratio and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub value: f64,
    pub error: f64,
}

impl Estimate {
    /// Of what the rule does not look at: never the larger.
    pub(super) const NONE: Self = Self { value: 0.0, error: 0.0 };

    /// The logarithm of the ratio and its standard error. Ratios beyond `largest` say only on which side of 1 they are,
    /// but that for sure.
    pub(super) fn logarithm(self, largest: f64) -> (f64, f64) {
        let error = self.error / self.value;
        (self.value.clamp(1.0 / largest, largest).ln(), if error.is_finite() { error } else { 0.0 })
    }
}

/// What a rule looks at: the ratio of the whole loss, and that of the data's. Both fall with the strength, at different
/// rates, and the larger of them is to be 1.
pub(super) type Ratios = [Estimate; 2];

/// The larger one.
pub(super) fn larger([whole, data]: Ratios) -> Estimate {
    if data.value > whole.value { data } else { whole }
}

/// The ratios of `rule`, of draws in `k` dimensions. None finished means that the metric is too
/// strong to integrate; a loss that is not finite means that it is too weak to keep the draws in its domain, and a
/// negative average that it is too weak to keep them in the basin of θ*.
pub(super) fn ratios(rule: Strength, k: f64, heights: &[Height]) -> Ratios {
    let length = |height: &Height| height.tangent;
    let rise = || average(Statistic::Mean, k, heights, |height| (height.rise, length(height)));
    match rule {
        Strength::Virial { statistic, .. } => {
            [average(statistic, k, heights, |height| (height.virial, length(height))), Estimate::NONE]
        }
        Strength::LossRise { .. } => [rise(), Estimate::NONE],
        Strength::Typical { .. } => {
            let factor = growth_factor(growth(heights));
            let Estimate { value, error } = rise();
            // Where the prior determines most weights, the rise of the whole says nothing about the data.
            [Estimate { value: factor * value, error: factor * error }, of_data(k, heights)]
        }
        Strength::Fixed(_) | Strength::HeldOut { .. } => {
            [Estimate { value: 1.0, error: 0.0 }, Estimate::NONE]
        }
    }
}

/// How fast the loss grows, virial ratio over rise: what is surely so. The median, since otherwise the virial of a single
/// far pilot would decide for all, and less its standard error, since otherwise chance in three pilots would: the factor
/// of a loss that is a quadratic for most draws jumped from 1 to 1.6 and back between neighbouring strengths.
fn growth(heights: &[Height]) -> f64 {
    let each: Vec<f64> = heights.iter().map(|height| height.virial / height.rise).collect();
    let (median, n) = (Statistic::Median.of(&each), each.len() as f64);
    // Of normal numbers the standard deviation is √(π/2) mean deviations, and the error of the median √(π/2) times
    // that of the mean.
    let deviation = each.iter().map(|growth| (growth - median).abs()).sum::<f64>() / n;
    median - std::f64::consts::FRAC_PI_2 * deviation / n.sqrt()
}

/// The ratio of the loss of the data; none if it is not known, or lower than at θ*.
fn of_data(k: f64, heights: &[Height]) -> Estimate {
    let estimate = average(Statistic::Mean, k, heights, |height| (height.data, height.data_tangent));
    let known = heights.iter().map(|height| height.data).sum::<f64>();
    if known > 0.0 { estimate } else { Estimate::NONE }
}

/// The average of a ratio, with the lengths of the tangents as a control variate: h − β(t − 1) has the mean of h for
/// every β, since t has mean 1. β = mean(h)/mean(t) makes the average of a Gaussian posterior exact.
///
/// The standard error is that of the mean. A few pilots can agree by chance: they count as if there were one more,
/// with the variance 2/K of exact draws.
fn average(
    statistic: Statistic,
    k: f64,
    heights: &[Height],
    ratio_and_tangent: impl Fn(&Height) -> (f64, f64),
) -> Estimate {
    if heights.is_empty() {
        return Estimate { value: 0.0, error: 0.0 };
    }
    let n = heights.len() as f64;
    let pairs: Vec<(f64, f64)> = heights.iter().map(ratio_and_tangent).collect();
    let sums = pairs.iter().fold((0.0, 0.0), |(h, t), pair| (h + pair.0, t + pair.1));
    let slope = sums.0 / sums.1;
    let values: Vec<f64> = pairs.iter().map(|(ratio, tangent)| ratio - slope * (tangent - 1.0)).collect();
    let value = statistic.of(&values);
    let center = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - center).powi(2)).sum();
    let variance = (squares + value * value * 2.0 / k) / n;
    let left = value.is_nan() || value < 0.0;
    Estimate { value: if left { f64::INFINITY } else { value }, error: (variance / n).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn height(rise: f64, data: f64) -> Height {
        Height { rise, virial: rise, tangent: 1.0, data, data_tangent: 1.0 }
    }

    fn typical(heights: &[Height]) -> f64 {
        larger(ratios(Strength::typical(), 100.0, heights)).value
    }

    #[test]
    fn the_larger_of_the_two_rises_counts() {
        assert_eq!(typical(&[height(1.0, 4.0), height(1.2, 3.0)]), 3.5, "the data");
        assert_eq!(typical(&[height(1.0, 0.4), height(1.2, 0.3)]), 1.1, "the whole");
        assert_eq!(typical(&[height(1.0, -4.0), height(1.2, 1.0)]), 1.1, "data that fall say nothing");
        assert_eq!(typical(&[height(1.0, 0.0), height(1.2, 0.0)]), 1.1, "no prior is known");
        let other = Strength::LossRise { pilots: 2 };
        assert_eq!(
            larger(ratios(other, 100.0, &[height(1.0, 4.0)])).value,
            1.0,
            "other rules look at the whole"
        );
    }

    /// Of a Gaussian posterior the rise is what the tangent says: the ratio is 1 whatever the tangents.
    #[test]
    fn tangents_of_the_data_are_their_control_variate() {
        let drawn = |t: f64| Height { rise: 0.5, virial: 0.5, tangent: 1.0, data: t, data_tangent: t };
        assert!((typical(&[drawn(0.4), drawn(2.5), drawn(1.7)]) - 1.0).abs() < 1e-15);
    }

    /// A power law has its growth in every pilot; chance in few pilots is no growth.
    #[test]
    fn growth_is_what_is_surely_so() {
        let grown = |growth: f64| Height { virial: 0.8 * growth, ..height(0.8, 0.0) };
        assert!((growth(&[grown(1.6), grown(1.6), grown(1.6)]) - 1.6).abs() < 1e-15);
        let noisy = [grown(0.8), grown(1.6), grown(1.9)];
        assert!(
            (growth(&noisy) - (1.6 - std::f64::consts::FRAC_PI_2 * (1.1 / 3.0) / 3f64.sqrt())).abs() < 1e-12
        );
        assert!((typical(&noisy) - 0.8 * growth_factor(growth(&noisy))).abs() < 1e-12);
        assert_eq!(growth_factor(growth(&[])), 1.0);
    }
}
