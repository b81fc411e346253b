//! Scores of real-valued predictions: root mean square error, and Gaussian forecasts.

use super::check::{check_paired, check_variances};
use super::mean;
use crate::Result;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Root of the mean squared difference, in units of the targets. Smaller is better.
pub fn rmse(means: &[f64], targets: &[f64]) -> Result<f64> {
    check_paired("means", means, targets)?;
    Ok(mean(means.iter().zip(targets).map(|(m, y)| (m - y).powi(2))).sqrt())
}

/// Negative log predictive density: mean over entries of −log N(target; mean, variance), in nats.
/// Smaller is better. `variances` are those of the targets, noise included.
pub fn nlpd(means: &[f64], variances: &[f64], targets: &[f64]) -> Result<f64> {
    check_paired("means", means, targets)?;
    check_variances(variances, targets.len())?;
    let entries = means.iter().zip(variances).zip(targets);
    Ok(mean(entries.map(|((m, v), y)| 0.5 * ((2.0 * PI).ln() + v.ln()) + (y - m).powi(2) / (2.0 * v))))
}

/// Continuous ranked probability score of N(mean, variance), averaged over entries, in units of
/// the targets. Smaller is better.
///
/// With z = (target − mean)/σ it is σ[z(2Φ(z) − 1) + 2φ(z) − 1/√π].
pub fn crps(means: &[f64], variances: &[f64], targets: &[f64]) -> Result<f64> {
    check_paired("means", means, targets)?;
    check_variances(variances, targets.len())?;
    let entries = means.iter().zip(variances).zip(targets);
    Ok(mean(entries.map(|((m, v), y)| {
        let sigma = v.sqrt();
        let z = (y - m) / sigma;
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        sigma * (z * libm::erf(z * FRAC_1_SQRT_2) + 2.0 * density - 1.0 / PI.sqrt())
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cdf(z: f64) -> f64 {
        0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
    }

    #[test]
    fn hand_values() {
        assert_eq!(rmse(&[1.0, 2.0], &[4.0, 6.0]), Ok(12.5f64.sqrt()));
        assert!((nlpd(&[0.0], &[1.0], &[0.0]).unwrap() - 0.918_938_533_204_672_7).abs() < 1e-15);
        // ½ log 2π + ½ log 4 + (2)²/8
        assert!((nlpd(&[1.0], &[4.0], &[3.0]).unwrap() - 2.112_085_713_764_618).abs() < 1e-14);
        // (√2 − 1)/√π at the mean, proportional to σ.
        let at_mean = (2f64.sqrt() - 1.0) / PI.sqrt();
        assert!((crps(&[5.0], &[1.0], &[5.0]).unwrap() - at_mean).abs() < 1e-15);
        assert!((crps(&[5.0], &[9.0], &[5.0]).unwrap() - 3.0 * at_mean).abs() < 1e-14);
        // Far out it is the distance less σ/√π.
        let far = crps(&[0.0], &[1.0], &[-30.0]).unwrap();
        assert!((far - (30.0 - 1.0 / PI.sqrt())).abs() < 1e-12);
    }

    #[test]
    fn crps_is_the_integral_of_its_definition() {
        for (m, v, y) in [(0.0, 1.0, 0.7), (1.5, 0.25, 1.0), (-1.0, 2.0, 2.0)] {
            let (low, high, n) = (-15.0, 15.0, 300_000);
            let h = (high - low) / f64::from(n);
            let integral: f64 = (0..n)
                .map(|i| {
                    let x = low + (f64::from(i) + 0.5) * h;
                    let step = if x >= y { 1.0 } else { 0.0 };
                    h * (cdf((x - m) / f64::sqrt(v)) - step).powi(2)
                })
                .sum();
            let closed = crps(&[m], &[v], &[y]).unwrap();
            assert!((closed - integral).abs() < 1e-4, "{closed} and {integral}");
        }
    }

    #[test]
    fn nlpd_and_crps_are_proper() {
        // Targets at the mid quantiles of N(1, 4): the mean over them is nearly the expectation.
        let n = 2000;
        let targets: Vec<f64> = (0..n)
            .map(|i| {
                let (mut low, mut high) = (-10.0, 10.0);
                for _ in 0..60 {
                    let z = 0.5 * (low + high);
                    if cdf(z) < (f64::from(i) + 0.5) / f64::from(n) { low = z } else { high = z }
                }
                1.0 + 2.0 * low
            })
            .collect();
        for score in [nlpd, crps] {
            let of = |m: f64, s: f64| {
                let count = targets.len();
                score(&vec![m; count], &vec![s * s; count], &targets).unwrap()
            };
            let best = of(1.0, 2.0);
            for (m, s) in [(0.8, 2.0), (1.2, 2.0), (1.0, 1.8), (1.0, 2.2), (0.0, 1.0), (3.0, 5.0)] {
                assert!(of(m, s) > best + 1e-3, "N({m}, {s}²): {} against {best}", of(m, s));
            }
        }
    }

    #[test]
    fn mistakes_are_refused() {
        assert!(rmse(&[], &[]).is_err());
        assert!(rmse(&[1.0], &[1.0, 2.0]).is_err());
        for score in [nlpd, crps] {
            assert!(score(&[0.0], &[0.0], &[0.0]).is_err());
            assert!(score(&[0.0], &[-1.0], &[0.0]).is_err());
            assert!(score(&[0.0], &[1.0, 1.0], &[0.0]).is_err());
            assert!(score(&[f64::NAN], &[1.0], &[0.0]).is_err());
        }
    }
}
