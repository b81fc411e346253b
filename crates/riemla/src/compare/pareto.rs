//! Pareto-smoothed importance weights, and k̂, which says whether they can be trusted.
//!
//! The largest weights are replaced by quantiles of a generalised Pareto distribution fitted to them
//! (Vehtari, Simpson, Gelman, Yao and Gabry, 2024). Its shape k̂ says how heavy the tail is: moments of the
//! weights above 1/k do not exist. Below 0.5 all is well, above 0.7 the weighted mean is not reliable:
//! the proposal misses a part of the target. Sizes of the tail, prior on k̂ and smoothing are those of
//! the packages loo and ArviZ.

use crate::{Error, Result};

/// Below this k̂ the weights have a variance.
pub const GOOD_SHAPE: f64 = 0.5;
/// Above this k̂ weighted means are not reliable.
pub const LARGEST_SHAPE: f64 = 0.7;
/// Fewest weights: a fifth of them is the tail, which needs 5.
pub const LEAST_WEIGHTS: usize = 25;

/// Fewest numbers that a tail is fitted to.
const LEAST_TAIL: usize = 5;
/// Log weights that differ by less are equal: losses are sums with about this rounding.
const EQUAL: f64 = 1e-9;
/// The prior on the shape counts like this many numbers with shape 0.5.
const PRIOR_COUNT: f64 = 10.0;

/// Smoothed weights and their diagnosis.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportanceWeights {
    /// Logarithms of the smoothed weights, which add up to 1; in the order they came in.
    pub log_weights: Vec<f64>,
    /// k̂. −∞ if all large weights are equal, ∞ if nearly all weights vanish compared with fewer than 5.
    pub shape: f64,
    /// 1/Σw²: about how many equally weighted draws they are worth. Do not believe it above k̂ = 0.7.
    pub effective_draws: f64,
}

/// Smooths log weights (target less proposal, up to a constant). −∞ is a weight of 0.
///
/// ```
/// use riemla::compare::pareto_smoothed;
/// // Weights (1 − u)^(−1/4): a Pareto tail with k = 1/4.
/// let u = |i: usize| (i as f64 + 0.5) / 4000.0;
/// let log_weights: Vec<f64> = (0..4000).map(|i| -0.25 * (1.0 - u(i)).ln()).collect();
/// let weights = pareto_smoothed(&log_weights)?;
/// assert!((weights.shape - 0.25).abs() < 0.05);
/// # Ok::<(), riemla::Error>(())
/// ```
pub fn pareto_smoothed(log_weights: &[f64]) -> Result<ImportanceWeights> {
    let largest = check(log_weights)?;
    let mut logs: Vec<f64> = log_weights.iter().map(|w| w - largest).collect();
    let mut order: Vec<usize> = (0..logs.len()).collect();
    order.sort_by(|i, j| logs[*i].total_cmp(&logs[*j]));
    let count = logs.len() as f64;
    let asked = (0.2 * count).min(3.0 * count.sqrt()).ceil() as usize;
    // Weights that vanish in floating point have no place in the fit.
    let cutoff = logs[order[logs.len() - asked - 1]].max(f64::MIN_POSITIVE.ln());
    let tail: Vec<usize> = order.into_iter().filter(|i| logs[*i].exp() > cutoff.exp()).collect();
    let shape = if -cutoff < EQUAL {
        f64::NEG_INFINITY
    } else if tail.len() < LEAST_TAIL {
        f64::INFINITY
    } else {
        smooth(&mut logs, &tail, cutoff)
    };
    let total = logs.iter().map(|w| w.exp()).sum::<f64>().ln();
    logs.iter_mut().for_each(|w| *w -= total);
    let effective_draws = 1.0 / logs.iter().map(|w| (2.0 * w).exp()).sum::<f64>();
    Ok(ImportanceWeights { log_weights: logs, shape, effective_draws })
}

/// The largest log weight of a usable list.
fn check(log_weights: &[f64]) -> Result<f64> {
    if log_weights.len() < LEAST_WEIGHTS {
        let least = format!("at least {LEAST_WEIGHTS}: take more draws");
        return Err(Error::range("number of importance weights", log_weights.len(), least));
    }
    if let Some(index) = log_weights.iter().position(|w| w.is_nan() || *w == f64::INFINITY) {
        let what = "log importance weights".into();
        return Err(Error::NotFinite { what, index, value: log_weights[index] });
    }
    let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_finite() {
        Ok(largest)
    } else {
        Err(Error::Unsupported(
            "all importance weights are 0: no draw is where the target density is above 0".into(),
        ))
    }
}

/// Replaces the tail (ascending) by quantiles of its fit, at most the largest weight; returns the shape.
fn smooth(logs: &mut [f64], tail: &[usize], cutoff: f64) -> f64 {
    let excesses: Vec<f64> = tail.iter().map(|i| logs[*i].exp() - cutoff.exp()).collect();
    let (shape, scale) = fit_sorted(&excesses);
    for (place, i) in tail.iter().enumerate() {
        let p = (place as f64 + 0.5) / tail.len() as f64;
        logs[*i] = (cutoff.exp() + quantile(p, shape, scale)).ln().min(0.0);
    }
    shape
}

/// The value that a share p of a generalised Pareto distribution lies below.
fn quantile(p: f64, shape: f64, scale: f64) -> f64 {
    let log = -(-p).ln_1p();
    if shape.abs() < f64::EPSILON { scale * log } else { scale * (shape * log).exp_m1() / shape }
}

/// Shape k and scale σ of a generalised Pareto distribution, density (1 + kx/σ)^(−1/k − 1)/σ, from numbers
/// above 0: the estimator of Zhang and Stephens (2009), then a prior on k that counts like 10 numbers of
/// shape 0.5.
pub fn fit_generalized_pareto(values: &[f64]) -> Result<(f64, f64)> {
    if values.len() < LEAST_TAIL {
        return Err(Error::range("number of values", values.len(), format!("at least {LEAST_TAIL}")));
    }
    crate::error::check_finite("values", values)?;
    if let Some(value) = values.iter().find(|value| **value <= 0.0) {
        return Err(Error::range("value", value, "above 0"));
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(fit_sorted(&sorted))
}

/// The mean of b = −k/σ under its profile likelihood and a prior on a grid; k follows from b.
fn fit_sorted(sorted: &[f64]) -> (f64, f64) {
    let n = sorted.len() as f64;
    let points = 30 + n.sqrt() as usize;
    let (largest, quartile) = (sorted[sorted.len() - 1], sorted[(n / 4.0 + 0.5) as usize - 1]);
    let place =
        |j: usize| (1.0 - (points as f64 / (j as f64 + 0.5)).sqrt()) / (3.0 * quartile) + 1.0 / largest;
    let shape_at = |b: f64| sorted.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n;
    let mean = sorted.iter().sum::<f64>() / n;
    let likelihood = |b: f64| {
        let k = shape_at(b);
        // Both vanish together: then it is an exponential distribution.
        let rate = if k == 0.0 { 1.0 / mean } else { -b / k };
        n * (rate.ln() - k - 1.0)
    };
    let grid: Vec<(f64, f64)> = (0..points).map(place).map(|b| (b, likelihood(b))).collect();
    let best = grid.iter().map(|(_, l)| *l).fold(f64::NEG_INFINITY, f64::max);
    let (total, sum) = grid.iter().fold((0.0, 0.0), |(total, sum), (b, l)| {
        let weight = (l - best).exp();
        (total + weight, sum + weight * b)
    });
    let b = sum / total;
    let k = shape_at(b);
    let scale = if b == 0.0 { mean } else { -k / b };
    ((n * k + 0.5 * PRIOR_COUNT) / (n + PRIOR_COUNT), scale)
}
