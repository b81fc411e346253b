//! Temperature scaling: one number that makes predictions as confident as held-out data warrant.
//!
//! Classes (Guo et al. 2017): log-probabilities are divided by T, p ∝ p^(1/T); the T of the smallest held-out negative
//! log-likelihood is found. With β = 1/T that likelihood is convex in β, so there is one minimum, and a
//! Newton iteration in log T kept inside a shrinking bracket finds it. Accuracy does not change. Of a single network this
//! divides its outputs; of draws it is the average that is sharpened or flattened, not every draw: draws that disagree
//! make an average underconfident, which no temperature of the draws can undo.
//!
//! Several labels: the same, each label a classification of two classes, with one T for all.
//!
//! Values: the analogue is a factor on the standard deviation, σ → Tσ, means unchanged. Its best value has a closed
//! form, T² = mean of (y − mean)²/variance.
//!
//! Data that are all classified right want T → 0, data on which the network is worse than guessing
//! T → ∞: both end at a bound, with a status that says so.

use serde::{Deserialize, Serialize};

use super::Prediction;
use super::classification::entropy;
use crate::data::Targets;
use crate::error::{check_finite, check_len};
use crate::{Error, Result};

/// Smallest and largest temperature.
pub const TEMPERATURE_BOUNDS: (f64, f64) = (0.01, 100.0);
/// The Newton iteration ends when log T moves by less.
const STEP: f64 = 1e-12;
const MAX_ITERATIONS: usize = 200;
/// Halvings of log T, which is at most log 100.
const BISECTIONS: usize = 50;
/// Twice the gain of one parameter that data which need none exceed in 1 % of cases: χ² with one degree of freedom.
const CHANCE: f64 = 6.635;

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
    /// T: divides log-probabilities (classes) or multiplies σ (values).
    pub temperature: f64,
    /// The temperature closest to 1 that the data do not reject (likelihood ratio test at 1 %): 1 if they do not reject that.
    pub careful: f64,
    /// How the search ended.
    pub status: TemperatureStatus,
    /// Held-out labels or numbers it was fitted to; 0 if it was given.
    pub targets: usize,
    /// Mean held-out negative log-likelihood at T = 1, in nats.
    pub nll_before: f64,
    /// The same at T.
    pub nll_after: f64,
    /// Newton and bisection steps; 0 in closed form.
    pub iterations: usize,
}

/// Fits T to predictions of held-out data: not those that weights were trained on, which they fit too well.
pub fn fit_temperature(prediction: &Prediction, targets: &Targets) -> Result<Temperature> {
    if targets.is_empty() {
        return Err(Error::shape("held-out rows", "at least one", 0));
    }
    match (prediction, targets) {
        (Prediction::Values(p), Targets::Values { values, .. }) => {
            fit_noise_scale(&p.mean, &p.variance(), values)
        }
        (Prediction::Classes(p), Targets::Classes(labels)) => {
            check_len("probabilities", labels.len() * p.classes, p.probabilities.len())?;
            check_finite("probabilities", &p.probabilities)?;
            if let Some(label) = labels.iter().find(|label| **label >= p.classes) {
                return Err(Error::range("class label", label, format!("below {}", p.classes)));
            }
            let rows = p.probabilities.chunks_exact(p.classes.max(1));
            Ok(Classes { logits: rows.map(logarithms).collect(), labels }.fit())
        }
        (Prediction::Labels(p), Targets::Values { values, .. }) => {
            check_len("probabilities", values.len(), p.probabilities.len())?;
            check_finite("probabilities", &p.probabilities)?;
            let labels: Vec<usize> = values.iter().map(|y| usize::from(*y > 0.5)).collect();
            let both = |p: &f64| logarithms(&[1.0 - p, *p]);
            Ok(Classes { logits: p.probabilities.iter().map(both).collect(), labels: &labels }.fit())
        }
        (Prediction::Counts(_), _) => Err(Error::Unsupported(
            "counts have no temperature: a Poisson distribution is as wide as its rate says".into(),
        )),
        _ => Err(Error::Unsupported(
            "the targets do not match the likelihood (class labels or numbers)".into(),
        )),
    }
}

/// The factor T on σ for Gaussian predictions: variances × T².
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
    // Up to what does not depend on T.
    let nll = |t: f64| t.ln() + 0.5 * square / (t * t);
    let careful = closest_to_one(temperature, targets.len(), nll);
    let nll_after = nll_before + nll(temperature) - nll(1.0);
    Ok(Temperature {
        temperature,
        careful,
        status,
        targets: targets.len(),
        nll_before,
        nll_after,
        iterations: 0,
    })
}

/// The temperature closest to 1 whose mean negative log-likelihood of `targets` is not too far above that at `best`.
fn closest_to_one(best: f64, targets: usize, nll: impl Fn(f64) -> f64) -> f64 {
    let most = nll(best) + CHANCE / (2.0 * targets.max(1) as f64);
    if nll(1.0) <= most {
        return 1.0;
    }
    // Between the two the likelihood is monotone in log T.
    let (mut inside, mut outside) = (best.ln(), 0.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (inside + outside);
        if nll(middle.exp()) <= most { inside = middle } else { outside = middle }
    }
    inside.exp()
}

impl Temperature {
    /// A temperature that somebody knows.
    pub fn given(temperature: f64) -> Result<Self> {
        if !(temperature.is_finite() && temperature > 0.0) {
            return Err(Error::range("temperature", temperature, "finite and above 0"));
        }
        let status = TemperatureStatus::Converged;
        let (careful, nll_before, nll_after) = (temperature, 0.0, 0.0);
        Ok(Self { temperature, careful, status, targets: 0, nll_before, nll_after, iterations: 0 })
    }

    /// Whether it was fitted to data, not given.
    pub fn is_fitted(&self) -> bool {
        self.targets > 0
    }

    /// The temperature closest to 1 that the data do not reject. Overconfidence costs more than underconfidence, and few
    /// rows determine the best temperature badly: this one is on the safe side, and close to the best where rows are many.
    pub fn careful(self) -> Self {
        let lost = CHANCE / (2.0 * self.targets.max(1) as f64);
        let nll_after = if self.careful == 1.0 { self.nll_before } else { self.nll_after + lost };
        Self { temperature: self.careful, nll_after, ..self }
    }

    /// The prediction at this temperature. Uncertainty keeps the shares of its two parts.
    pub fn apply(&self, mut prediction: Prediction) -> Result<Prediction> {
        match &mut prediction {
            Prediction::Values(p) => {
                let factor = self.temperature * self.temperature;
                let variances = p.aleatoric_variance.iter_mut().chain(&mut p.epistemic_variance);
                variances.for_each(|variance| *variance *= factor);
            }
            Prediction::Classes(p) => {
                p.probabilities.chunks_exact_mut(p.classes).for_each(|row| self.temper(row));
                let entropies = p.probabilities.chunks_exact(p.classes).map(entropy).collect();
                rescale(&mut p.entropy, entropies, [&mut p.aleatoric, &mut p.epistemic]);
            }
            Prediction::Labels(p) => {
                let tempered = |yes: &mut f64| {
                    let mut both = [1.0 - *yes, *yes];
                    self.temper(&mut both);
                    *yes = both[1];
                    entropy(&both)
                };
                let entropies = p.probabilities.iter_mut().map(tempered).collect();
                rescale(&mut p.entropy, entropies, [&mut p.aleatoric, &mut p.epistemic]);
            }
            Prediction::Counts(_) => return Err(Error::Unsupported("counts have no temperature".into())),
        }
        Ok(prediction)
    }

    /// p ← p^(1/T), normalised.
    fn temper(&self, probabilities: &mut [f64]) {
        let largest = probabilities.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let power = |p: &mut f64| {
            *p = (*p / largest).powf(1.0 / self.temperature);
            *p
        };
        let total: f64 = probabilities.iter_mut().map(power).sum();
        probabilities.iter_mut().for_each(|p| *p /= total);
    }
}

/// Puts new entropies in the place of old ones, their parts in proportion.
fn rescale(old: &mut Vec<f64>, new: Vec<f64>, parts: [&mut Option<Vec<f64>>; 2]) {
    for part in parts.into_iter().flatten() {
        for ((part, old), new) in part.iter_mut().zip(&*old).zip(&new) {
            *part = if *old > 0.0 { *part * new / old } else { 0.0 };
        }
    }
    *old = new;
}

/// Logits of probabilities; none is so small that it has no logarithm.
fn logarithms(probabilities: &[f64]) -> Vec<f64> {
    probabilities.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect()
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
        let nll = |temperature: f64| self.at(1.0 / temperature)[0];
        let done = |beta: f64, status, iterations| Temperature {
            temperature: 1.0 / beta,
            careful: closest_to_one(1.0 / beta, self.labels.len(), nll),
            status,
            targets: self.labels.len(),
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
