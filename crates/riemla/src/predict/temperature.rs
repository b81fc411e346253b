//! Temperature scaling: one number that makes a network's confidence right on held-out data.
//!
//! Classes (Guo et al. 2017): outputs are divided by T; the T of the smallest held-out negative
//! log-likelihood is found. With β = 1/T that likelihood is convex in β, so there is one minimum, and a
//! Newton iteration in log T kept inside a shrinking bracket finds it. Accuracy does not change.
//!
//! Several labels: the same, each label a classification of two classes, with one T for all.
//!
//! Values: the analogue is a factor on the noise, σ → Tσ, means unchanged. Its best value has a closed
//! form, T² = mean of (y − mean)²/variance.
//!
//! Data that are all classified right want T → 0, data on which the network is worse than guessing
//! T → ∞: both end at a bound, with a status that says so.

use serde::{Deserialize, Serialize};

use super::classification::ClassPrediction;
use super::{LabelPrediction, Prediction, RegressionPrediction};
use crate::data::Targets;
use crate::error::{check_finite, check_len};
use crate::objective::{Likelihood, TargetKind};
use crate::{Error, Result};

/// Smallest and largest temperature.
pub const TEMPERATURE_BOUNDS: (f64, f64) = (0.01, 100.0);
/// The Newton iteration ends when log T moves by less.
const STEP: f64 = 1e-12;
const MAX_ITERATIONS: usize = 200;

/// How the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemperatureStatus {
    /// At the minimum of the held-out negative log-likelihood.
    Converged,
    /// At the lower bound: the held-out data are fitted so well that no finite confidence is enough.
    LowerBound,
    /// At the upper bound: on the held-out data the network is no better than guessing.
    UpperBound,
}

impl std::fmt::Display for TemperatureStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = TEMPERATURE_BOUNDS;
        match self {
            Self::Converged => f.pad("converged"),
            Self::LowerBound => write!(
                f,
                "stopped at the lower bound {low}: the held-out data are predicted almost perfectly and do \
                 not determine the confidence; hold out more data"
            ),
            Self::UpperBound => write!(
                f,
                "stopped at the upper bound {high}: on the held-out data the network is no better than \
                 guessing; check labels and encoding"
            ),
        }
    }
}

/// A temperature and what it does to the held-out data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Temperature {
    /// T: divides outputs (classes) or multiplies σ (values).
    pub temperature: f64,
    /// How the search ended.
    pub status: TemperatureStatus,
    /// Mean held-out negative log-likelihood at T = 1, in nats.
    pub nll_before: f64,
    /// The same at T.
    pub nll_after: f64,
    /// Newton and bisection steps; 0 in closed form.
    pub iterations: usize,
}

/// Fits T to the outputs of a network (rows × outputs, row-major) at its trained weights on
/// held-out data: not those it was trained on, which it fits too well.
pub fn fit_temperature(outputs: &[f64], likelihood: Likelihood, targets: &Targets) -> Result<Temperature> {
    let rows = targets.len().max(1);
    let width = outputs.len() / rows;
    likelihood.check(width, targets)?;
    check_finite("outputs", outputs)?;
    check_len("outputs", targets.len() * width, outputs.len())?;
    match (likelihood.kind(), targets) {
        (TargetKind::Values, Targets::Values { values, .. }) => {
            let p = RegressionPrediction::from_draws(&[outputs.to_vec()], width, likelihood);
            fit_noise_scale(&p.mean, &p.aleatoric_variance, values)
        }
        (TargetKind::Classes, Targets::Classes(labels)) => {
            if labels.is_empty() {
                return Err(Error::shape("held-out rows", "at least one", 0));
            }
            Ok(Classes { logits: logits(outputs, likelihood, width), labels }.fit())
        }
        (TargetKind::Labels, Targets::Values { values, .. }) => {
            let labels: Vec<usize> = values.iter().map(|y| usize::from(*y > 0.5)).collect();
            Ok(Classes { logits: logits(outputs, Likelihood::Bernoulli, 1), labels: &labels }.fit())
        }
        (TargetKind::Counts, _) => Err(Error::Unsupported(
            "counts have no temperature: a Poisson distribution is as wide as its rate says".into(),
        )),
        _ => Err(Error::Unsupported(
            "the targets do not match the likelihood (class labels or numbers)".into(),
        )),
    }
}

/// The factor T on σ for Gaussian predictions of any method: variances × T².
pub fn fit_noise_scale(means: &[f64], variances: &[f64], targets: &[f64]) -> Result<Temperature> {
    let nll_before = crate::score::nlpd(means, variances, targets)?;
    let errors = means.iter().zip(variances).zip(targets).map(|((m, v), y)| (y - m).powi(2) / v);
    let square = errors.sum::<f64>() / targets.len() as f64;
    let (low, high) = TEMPERATURE_BOUNDS;
    let temperature = square.sqrt().clamp(low, high);
    let status = match square.sqrt() {
        t if t < low => TemperatureStatus::LowerBound,
        t if t > high => TemperatureStatus::UpperBound,
        _ => TemperatureStatus::Converged,
    };
    let scaled: Vec<f64> = variances.iter().map(|v| v * temperature * temperature).collect();
    let nll_after = crate::score::nlpd(means, &scaled, targets)?;
    Ok(Temperature { temperature, status, nll_before, nll_after, iterations: 0 })
}

impl Temperature {
    /// The prediction from a network's outputs (rows × outputs) at this temperature.
    pub fn predict(&self, outputs: &[f64], likelihood: Likelihood, width: usize) -> Result<Prediction> {
        likelihood.check_outputs(width)?;
        check_finite("outputs", outputs)?;
        if width == 0 || !outputs.len().is_multiple_of(width) {
            return Err(Error::shape("outputs", format!("a multiple of {width}"), outputs.len()));
        }
        let scaled = || outputs.iter().map(|f| f / self.temperature).collect();
        Ok(match likelihood.kind() {
            TargetKind::Values => {
                let mut p = RegressionPrediction::from_draws(&[outputs.to_vec()], width, likelihood);
                let factor = self.temperature * self.temperature;
                p.aleatoric_variance.iter_mut().for_each(|variance| *variance *= factor);
                Prediction::Values(p)
            }
            TargetKind::Classes => {
                Prediction::Classes(ClassPrediction::from_draws(&[scaled()], likelihood, width))
            }
            TargetKind::Labels => Prediction::Labels(LabelPrediction::from_draws(&[scaled()], width)),
            TargetKind::Counts => return Err(Error::Unsupported("counts have no temperature".into())),
        })
    }
}

/// One logit per class; those of a Bernoulli are 0 and f.
fn logits(outputs: &[f64], likelihood: Likelihood, width: usize) -> Vec<Vec<f64>> {
    let row = |f: &[f64]| if likelihood == Likelihood::Bernoulli { vec![0.0, f[0]] } else { f.to_vec() };
    outputs.chunks_exact(width).map(row).collect()
}

struct Classes<'a> {
    logits: Vec<Vec<f64>>,
    labels: &'a [usize],
}

impl Classes<'_> {
    /// Mean −log p(label) at β = 1/T and its first two derivatives in log β.
    fn at(&self, beta: f64) -> [f64; 3] {
        let mut sums = [0.0; 3];
        for (f, &label) in self.logits.iter().zip(self.labels) {
            let top = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
            for d in f.iter().map(|f| f - top) {
                let weight = (beta * d).exp();
                total += weight;
                first += weight * d;
                second += weight * d * d;
            }
            let (mean, spread) = (first / total, second / total - (first / total).powi(2));
            let label = f[label] - top;
            sums[0] += total.ln() - beta * label;
            sums[1] += beta * (mean - label);
            sums[2] += beta * (mean - label) + beta * beta * spread;
        }
        sums.map(|s| s / self.labels.len() as f64)
    }

    fn fit(&self) -> Temperature {
        let (low, high) = TEMPERATURE_BOUNDS;
        // In s = log β = −log T, ascending from the highest temperature to the lowest.
        let (mut left, mut right) = (-high.ln(), -low.ln());
        let nll_before = self.at(1.0)[0];
        let done = |beta: f64, status, iterations| Temperature {
            temperature: 1.0 / beta,
            status,
            nll_before,
            nll_after: self.at(beta)[0],
            iterations,
        };
        let flat = |f: &Vec<f64>| f.iter().all(|v| *v == f[0]);
        if self.logits.iter().all(flat) {
            return done(1.0, TemperatureStatus::Converged, 0);
        }
        if self.at(right.exp())[1] <= 0.0 {
            return Temperature { temperature: low, ..done(1.0 / low, TemperatureStatus::LowerBound, 0) };
        }
        if self.at(left.exp())[1] >= 0.0 {
            return Temperature { temperature: high, ..done(1.0 / high, TemperatureStatus::UpperBound, 0) };
        }
        let mut s = 0.0;
        for iteration in 1..=MAX_ITERATIONS {
            let [_, slope, curvature] = self.at(f64::exp(s));
            if slope > 0.0 {
                right = s
            } else {
                left = s
            }
            let newton = s - slope / curvature;
            // Not finite, uphill or outside: halve the bracket instead.
            let next = if newton > left && newton < right { newton } else { 0.5 * (left + right) };
            let step = (next - s).abs();
            s = next;
            if step < STEP {
                return done(s.exp(), TemperatureStatus::Converged, iteration);
            }
        }
        done(s.exp(), TemperatureStatus::Converged, MAX_ITERATIONS)
    }
}
