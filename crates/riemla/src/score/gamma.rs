//! The logarithm of the gamma function, for counts.

/// log Γ(x) for x > 0: log y! = log Γ(y + 1).
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}
