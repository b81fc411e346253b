//! The Laplace evidence as a function of prior precision δ and noise σ, from eigenvalues alone.
//!
//! log p(D) ≈ log p(y|θ) − (δ/2)‖θ‖² + (K/2) log δ − ½ Σᵢ log(λᵢ + δ). In regression the curvature
//! of the likelihood is proportional to 1/σ² (the empirical Fisher to 1/σ⁴), so a change of σ rescales the λᵢ: no pass through
//! the network is needed to maximise over either.

use crate::{Error, Result};

/// What the evidence depends on at fixed weights.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Eigenvalues of the likelihood's curvature (no prior) that are not 0.
    eigenvalues: Vec<f64>,
    /// Number of those that are: they cost nothing, however many weights there are.
    zeros: usize,
    /// ‖θ‖² of the uncertain weights.
    square_norm: f64,
    /// log p(y|θ) at the reference noise, all constants included.
    log_likelihood: f64,
    /// Regression only.
    noise: Option<Noise>,
}

#[derive(Debug, Clone, Copy)]
struct Noise {
    /// σ at which eigenvalues and likelihood were computed.
    reference: f64,
    /// Number of observed numbers (samples × outputs).
    observations: f64,
    /// Σ(f − y)².
    square_error: f64,
    /// The eigenvalues are proportional to 1/σ to this power.
    exponent: i32,
}

/// The maximum of the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvidenceOptimum {
    /// Prior precision there.
    pub prior_precision: f64,
    /// Noise there; none in classification.
    pub sigma_noise: Option<f64>,
    /// Log marginal likelihood there.
    pub log_marginal_likelihood: f64,
}

/// Range of log δ searched, and the number of grid intervals that bracket the maximum.
pub(super) const LOG_PRECISION: (f64, f64) = (-23.0, 23.0);
const GRID: usize = 184;
/// Fewer for the noise, whose every point is a search over log δ: the slope refines it anyway.
const NOISE_GRID: usize = 28;
/// Range of log σ searched, around the root mean square error.
const LOG_NOISE: (f64, f64) = (-7.0, 7.0);

impl Evidence {
    /// Evidence of a classification model. Eigenvalues that are negative by rounding count as 0.
    pub fn new(eigenvalues: Vec<f64>, square_norm: f64, log_likelihood: f64) -> Self {
        let largest = eigenvalues.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let floor = -1e-12 * largest * (eigenvalues.len() as f64).max(1.0);
        let clip = |v: f64| if v < 0.0 && v >= floor { 0.0 } else { v };
        let count = eigenvalues.len();
        let eigenvalues: Vec<f64> = eigenvalues.into_iter().map(clip).filter(|v| *v != 0.0).collect();
        let zeros = count - eigenvalues.len();
        Self { eigenvalues, zeros, square_norm, log_likelihood, noise: None }
    }

    /// Makes it the evidence of a regression model whose curvature was computed at noise `sigma`
    /// for `observations` numbers with the given sum of squared errors.
    pub fn with_noise(mut self, sigma: f64, observations: usize, square_error: f64) -> Self {
        let observations = observations as f64;
        self.noise = Some(Noise { reference: sigma, observations, square_error, exponent: 2 });
        self
    }

    /// Sets the power of 1/σ that the curvature is proportional to: 2 unless set, 4 for the
    /// empirical Fisher.
    pub fn with_noise_exponent(mut self, exponent: i32) -> Self {
        if let Some(noise) = &mut self.noise {
            noise.exponent = exponent;
        }
        self
    }

    /// Factor on the eigenvalues at noise `sigma`.
    pub(super) fn rescale(&self, sigma: Option<f64>) -> f64 {
        match (self.noise, sigma) {
            (Some(noise), Some(sigma)) => (noise.reference / sigma).powi(noise.exponent),
            _ => 1.0,
        }
    }

    /// The log marginal likelihood at prior precision δ and, in regression, noise σ.
    pub fn log_marginal_likelihood(&self, prior_precision: f64, sigma_noise: Option<f64>) -> Result<f64> {
        crate::error::check_positive("prior_precision", prior_precision)?;
        sigma_noise.map_or(Ok(()), |sigma| crate::error::check_positive("sigma_noise", sigma))?;
        let factor = self.rescale(sigma_noise);
        let k = self.eigenvalues.len() + self.zeros;
        let mut log_det = self.zeros as f64 * prior_precision.ln();
        for (i, value) in self.eigenvalues.iter().enumerate() {
            let shifted = factor * value + prior_precision;
            if shifted <= 0.0 || shifted.is_nan() {
                return Err(Error::NotPositiveDefinite {
                    what: "curvature + prior".into(),
                    pivot: i,
                    dim: k,
                    value: shifted,
                    remedy: "use the GGN instead of the Hessian, or train to a minimum first".into(),
                });
            }
            log_det += shifted.ln();
        }
        let log_prior = 0.5 * (k as f64 * prior_precision.ln() - prior_precision * self.square_norm);
        Ok(self.log_likelihood_at(sigma_noise) + log_prior - 0.5 * log_det)
    }

    pub(super) fn log_likelihood_at(&self, sigma: Option<f64>) -> f64 {
        match (self.noise, sigma) {
            (Some(noise), Some(sigma)) => {
                let variance = sigma * sigma;
                let normalizer = noise.observations * (2.0 * std::f64::consts::PI * variance).ln();
                -0.5 * (noise.square_error / variance + normalizer)
            }
            _ => self.log_likelihood,
        }
    }

    /// Whether it is that of a regression.
    pub(super) fn has_noise(&self) -> bool {
        self.noise.is_some()
    }

    /// ∂/∂log σ of the log marginal likelihood, where `gamma` weights are determined by the data.
    pub(super) fn noise_slope(&self, sigma: f64, gamma: f64) -> Option<f64> {
        let noise = self.noise?;
        let fit = noise.square_error / (sigma * sigma) - noise.observations;
        Some(fit + 0.5 * f64::from(noise.exponent) * gamma)
    }

    /// ∂/∂log δ of the log marginal likelihood.
    fn precision_slope(&self, delta: f64, factor: f64) -> f64 {
        let gamma: f64 = self.eigenvalues.iter().map(|l| factor * l / (factor * l + delta)).sum();
        0.5 * (gamma - delta * self.square_norm)
    }

    /// The δ that maximises the evidence at fixed noise.
    pub fn best_precision(&self, sigma_noise: Option<f64>) -> Result<f64> {
        if self.eigenvalues.iter().any(|l| *l < 0.0) {
            return Err(Error::Unsupported(
                "the curvature has negative eigenvalues, so the evidence has no maximum in prior_precision: \
                 use the GGN, or train to a minimum first"
                    .into(),
            ));
        }
        let factor = self.rescale(sigma_noise);
        let value = |s: f64| self.log_marginal_likelihood(s.exp(), sigma_noise).unwrap_or(f64::NEG_INFINITY);
        let log_delta = maximize_precision(value, |s| self.precision_slope(s.exp(), factor));
        log_delta.map(f64::exp).ok_or_else(|| {
            let hint = "the evidence grows towards the edge of the searched range of prior_precision";
            Error::Unsupported(format!(
                "{hint} (‖θ‖² = {:.3e}): set prior_precision to a value",
                self.square_norm
            ))
        })
    }

    /// The maximum over δ and, in regression, σ.
    pub fn optimum(&self) -> Result<EvidenceOptimum> {
        let sigma_noise = self.noise.map(|noise| self.best_noise(noise)).transpose()?;
        let prior_precision = self.best_precision(sigma_noise)?;
        let log_marginal_likelihood = self.log_marginal_likelihood(prior_precision, sigma_noise)?;
        Ok(EvidenceOptimum { prior_precision, sigma_noise, log_marginal_likelihood })
    }

    /// The σ that maximises the evidence with δ at its best for each σ.
    fn best_noise(&self, noise: Noise) -> Result<f64> {
        let center = (noise.square_error / noise.observations).sqrt().ln();
        let profile = |s: f64| {
            let sigma = Some(s.exp());
            let delta = self.best_precision(sigma)?;
            self.log_marginal_likelihood(delta, sigma)
        };
        // By the envelope theorem the slope of the profile is the partial derivative in log σ.
        let slope = |s: f64| {
            let sigma = s.exp();
            let Ok(delta) = self.best_precision(Some(sigma)) else { return f64::NAN };
            let factor = self.rescale(Some(sigma));
            let gamma: f64 = self.eigenvalues.iter().map(|l| factor * l / (factor * l + delta)).sum();
            self.noise_slope(sigma, gamma).unwrap_or(f64::NAN)
        };
        let range = (center + LOG_NOISE.0, center + LOG_NOISE.1);
        let value = |s: f64| profile(s).unwrap_or(f64::NEG_INFINITY);
        maximize((range, NOISE_GRID), value, slope).map(f64::exp).ok_or_else(|| {
            let rmse = center.exp();
            Error::Unsupported(format!(
                "the evidence has no maximum in sigma_noise near the training error \
                 {rmse:.3e}: set sigma_noise to a value"
            ))
        })
    }
}

/// The best log δ in the searched range; none if it is at the range's edge.
pub(super) fn maximize_precision(value: impl Fn(f64) -> f64, slope: impl Fn(f64) -> f64) -> Option<f64> {
    maximize((LOG_PRECISION, GRID), value, slope)
}

/// The highest grid point of `value`, refined to a root of `slope` between its neighbours.
fn maximize(
    (range, grid): ((f64, f64), usize),
    value: impl Fn(f64) -> f64,
    slope: impl Fn(f64) -> f64,
) -> Option<f64> {
    let point = |i: usize| range.0 + (range.1 - range.0) * i as f64 / grid as f64;
    let (best, _) = (0..=grid)
        .map(|i| (i, value(point(i))))
        .filter(|(_, v)| v.is_finite())
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    if best == 0 || best == grid {
        return None;
    }
    let (mut low, mut high) = (point(best - 1), point(best + 1));
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if slope(middle) > 0.0 { low = middle } else { high = middle }
    }
    Some(0.5 * (low + high))
}
