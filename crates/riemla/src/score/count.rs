//! Scores of predicted counts.
//!
//! A count is Poisson given its rate, and the rate is uncertain with a mean and a variance. Taken as gamma distributed,
//! the count is negative binomial: the predictive distribution of all functions here. Without uncertainty it is Poisson.

use super::check::check_paired;
use super::{ln_gamma, mean, normal_quantile};
use crate::{Error, Result};

/// Up to so many terms of a sum are added one by one.
const DIRECT: f64 = 1000.0;
/// Standard deviation of a count beyond which its quantiles are those of a continuous variable.
const CONTINUOUS: f64 = 1e4;

/// log P(count) of a count whose rate has this mean and variance.
pub fn log_probability(count: f64, rate: f64, variance: f64) -> f64 {
    if rate <= 0.0 {
        return if count == 0.0 { 0.0 } else { f64::NEG_INFINITY };
    }
    // 1/a is the shape of the gamma distribution; a = 0 is the Poisson distribution.
    let a = variance / (rate * rate);
    let spread = if a * rate < 1e-300 { rate } else { (a * rate).ln_1p() / a };
    rising(count, a) - spread - count * (a * rate).ln_1p() + count * rate.ln() - ln_gamma(count + 1.0)
}

/// Σ log(1 + ka) over k below y: log Γ(y + 1/a) − log Γ(1/a) − y log(1/a) without its cancellation.
fn rising(y: f64, a: f64) -> f64 {
    if a == 0.0 {
        return 0.0;
    }
    if y <= DIRECT {
        return (0..y as u64).map(|k| (k as f64 * a).ln_1p()).sum();
    }
    if a > 0.01 {
        return ln_gamma(y + 1.0 / a) - ln_gamma(1.0 / a) + y * a.ln();
    }
    // Euler and Maclaurin: the rest is below a³/360.
    let end = y * a;
    let integral = ((1.0 + end) * end.ln_1p() - end) / a;
    integral - 0.5 * end.ln_1p() + a / 12.0 * (1.0 / (1.0 + end) - 1.0)
}

/// The smallest count whose distribution function reaches `share`.
pub fn count_quantile(share: f64, rate: f64, variance: f64) -> f64 {
    let deviation = (rate + variance).sqrt();
    if deviation > CONTINUOUS {
        // The cube root of a gamma variable is nearly normal (Wilson and Hilferty).
        let ninth = (rate + variance) / (9.0 * rate * rate);
        return (rate * (1.0 - ninth + normal_quantile(share) * ninth.sqrt()).max(0.0).powi(3)).round();
    }
    let a = if rate > 0.0 { variance / (rate * rate) } else { 0.0 };
    // Below is nothing that matters, and probabilities there are not yet 0 in floating point.
    let mut count = (rate - 20.0 * deviation).floor().max(0.0);
    let mut probability = log_probability(count, rate, variance).exp();
    let mut total = probability;
    // Rounding may keep the sum below the share for ever.
    let last = rate + 1e3 * (deviation + 1.0);
    while total < share && count < last {
        probability *= rate * (1.0 + count * a) / ((count + 1.0) * (1.0 + rate * a));
        total += probability;
        count += 1.0;
    }
    count
}

/// The central interval of a level: between counts that are exceeded, on either side, with half of the rest.
pub fn count_interval(level: f64, rate: f64, variance: f64) -> (f64, f64) {
    let tail = 0.5 * (1.0 - level);
    (count_quantile(tail, rate, variance), count_quantile(1.0 - tail, rate, variance))
}

fn check(rates: &[f64], variances: &[f64], counts: &[f64]) -> Result<()> {
    check_paired("rates", rates, counts)?;
    check_paired("variances", variances, counts)?;
    for (what, values) in [("rate", rates), ("variance", variances), ("count", counts)] {
        if let Some(row) = values.iter().position(|value| *value < 0.0) {
            return Err(Error::range(format!("{what} in entry {row}"), values[row], "at least 0"));
        }
    }
    Ok(())
}

/// Mean over entries of −log P(count), in nats. Smaller is better. `variances` are those of the rates, without that of
/// the counts given their rates.
pub fn count_nll(rates: &[f64], variances: &[f64], counts: &[f64]) -> Result<f64> {
    check(rates, variances, counts)?;
    let entries = rates.iter().zip(variances).zip(counts);
    Ok(mean(entries.map(|((rate, variance), count)| -log_probability(*count, *rate, *variance))))
}

/// Mean over entries of 2[y log(y/rate) − y + rate]: twice what the log-likelihood of a Poisson distribution loses
/// against one of rate y. Smaller is better, 0 is perfect.
pub fn poisson_deviance(rates: &[f64], counts: &[f64]) -> Result<f64> {
    check(rates, &vec![1.0; counts.len()], counts)?;
    let deviance = |(rate, y): (&f64, &f64)| {
        let log = if *y > 0.0 { y * (y / rate).ln() } else { 0.0 };
        2.0 * (log - y + rate)
    };
    Ok(mean(rates.iter().zip(counts).map(deviance)))
}

/// Share of the counts inside their central intervals. For the right distribution it is at least the level, and above
/// it where counts are small: an interval cannot end between two of them.
pub fn count_coverage(rates: &[f64], variances: &[f64], counts: &[f64], level: f64) -> Result<f64> {
    check(rates, variances, counts)?;
    let inside = rates.iter().zip(variances).zip(counts).map(|((rate, variance), count)| {
        let (low, high) = count_interval(level, *rate, *variance);
        f64::from(u8::from((low..=high).contains(count)))
    });
    Ok(mean(inside))
}
