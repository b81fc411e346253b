//! Class probabilities and where their uncertainty comes from.

use crate::objective::Likelihood;

/// Predicted classes of some inputs. All entropies are in nats.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassPrediction {
    /// Number of classes.
    pub classes: usize,
    /// Probabilities, row-major rows × classes.
    pub probabilities: Vec<f64>,
    /// Entropy of the mean probabilities, per row: all uncertainty.
    pub entropy: Vec<f64>,
    /// Mean entropy over draws, per row: what more data about the weights would not remove.
    /// None in closed form.
    pub aleatoric: Option<Vec<f64>>,
    /// Mutual information of label and weights, per row: the rest. None in closed form.
    pub epistemic: Option<Vec<f64>>,
}

pub(super) fn entropy(probabilities: &[f64]) -> f64 {
    probabilities.iter().map(|&p| if p > 0.0 { -p * p.ln() } else { 0.0 }).sum()
}

/// Class probabilities of one row of outputs.
pub(super) fn probabilities_of(outputs: &[f64], likelihood: Likelihood, probabilities: &mut [f64]) {
    if likelihood == Likelihood::Bernoulli {
        let e = (-outputs[0].abs()).exp();
        let (large, small) = (1.0 / (1.0 + e), e / (1.0 + e));
        let one = if outputs[0] >= 0.0 { large } else { small };
        let zero = if outputs[0] >= 0.0 { small } else { large };
        probabilities.copy_from_slice(&[zero, one]);
        return;
    }
    let largest = outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for (p, f) in probabilities.iter_mut().zip(outputs) {
        *p = (f - largest).exp();
        total += *p;
    }
    probabilities.iter_mut().for_each(|p| *p /= total);
}

/// Logits of the probit approximation: f / √(1 + π/8·var f).
pub(super) fn shrunk(mean: &[f64], variance: &[f64]) -> impl Iterator<Item = f64> {
    mean.iter().zip(variance).map(|(f, v)| f / (1.0 + std::f64::consts::FRAC_PI_8 * v).sqrt())
}

impl ClassPrediction {
    /// Averages over draws; each is a row-major rows × outputs array.
    pub(super) fn from_draws(draws: &[Vec<f64>], likelihood: Likelihood, outputs: usize) -> Self {
        let classes = likelihood.classes(outputs).unwrap_or(outputs);
        let rows = draws[0].len() / outputs;
        let mut probabilities = vec![0.0; rows * classes];
        let mut aleatoric = vec![0.0; rows];
        let mut one = vec![0.0; classes];
        let weight = 1.0 / draws.len() as f64;
        for draw in draws {
            for (i, f) in draw.chunks_exact(outputs).enumerate() {
                probabilities_of(f, likelihood, &mut one);
                aleatoric[i] += weight * entropy(&one);
                for (p, q) in probabilities[i * classes..(i + 1) * classes].iter_mut().zip(&one) {
                    *p += weight * q;
                }
            }
        }
        let total: Vec<f64> = probabilities.chunks_exact(classes).map(entropy).collect();
        // Mutual information is not negative; rounding can make the difference so.
        let epistemic = total.iter().zip(&aleatoric).map(|(t, a)| (t - a).max(0.0)).collect();
        Self {
            classes,
            probabilities,
            entropy: total,
            aleatoric: Some(aleatoric),
            epistemic: Some(epistemic),
        }
    }

    /// The probit approximation from means and variances of the outputs (rows × outputs).
    pub(super) fn probit(mean: &[f64], variance: &[f64], likelihood: Likelihood, outputs: usize) -> Self {
        let classes = likelihood.classes(outputs).unwrap_or(outputs);
        let shrunk: Vec<f64> = shrunk(mean, variance).collect();
        let mut probabilities = vec![0.0; shrunk.len() / outputs * classes];
        for (f, p) in shrunk.chunks_exact(outputs).zip(probabilities.chunks_exact_mut(classes)) {
            probabilities_of(f, likelihood, p);
        }
        let entropy = probabilities.chunks_exact(classes).map(entropy).collect();
        Self { classes, probabilities, entropy, aleatoric: None, epistemic: None }
    }
}
