//! The normal distribution function and its inverse, for intervals.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// P(Z ≤ z) for a standard normal Z.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The z with P(Z ≤ z) = p; −∞ at 0, ∞ at 1, NaN outside of [0, 1].
pub fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return match p {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // Newton's method on log Φ, which is concave: from the left it cannot overshoot.
    let mut z = -(-2.0 * p.ln()).sqrt() - 1.0;
    for _ in 0..100 {
        let cdf = normal_cdf(z);
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        let step = (p / cdf).ln() * cdf / density;
        z += step;
        if step.abs() <= 1e-15 * z.abs().max(1e-3) {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_the_distribution() {
        for p in [1e-300, 1e-20, 1e-6, 0.025, 0.3, 0.5, 0.7, 0.975, 1.0 - 1e-9] {
            let back = normal_cdf(normal_quantile(p));
            assert!((back - p).abs() <= 1e-12 * p, "{p}: {back}");
        }
        // From tables.
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(normal_quantile(1.5).is_nan() && normal_quantile(f64::NAN).is_nan());
    }
}
