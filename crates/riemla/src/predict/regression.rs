//! Means and variances of real targets and counts.

use crate::objective::{Likelihood, OutputNoise};

/// Predicted values of some inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionPrediction {
    /// Targets per row.
    pub outputs: usize,
    /// Means, row-major rows × targets.
    pub mean: Vec<f64>,
    /// Variance of the target's mean over the weights (unbiased over draws; 0 for one draw).
    pub epistemic_variance: Vec<f64>,
    /// Variance of the noise; of its mean over the weights, where it depends on them.
    pub aleatoric_variance: Vec<f64>,
}

impl RegressionPrediction {
    /// From the outputs of draws, each row-major rows × `width`.
    pub(super) fn from_draws(draws: &[Vec<f64>], width: usize, likelihood: Likelihood) -> Self {
        let outputs = likelihood.targets_per_sample(width);
        let (means, noises): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
            draws.iter().map(|draw| split(draw, width, likelihood)).unzip();
        let mean = average(&means);
        let aleatoric_variance = match likelihood {
            Likelihood::Gaussian { .. } | Likelihood::GaussianPerOutput { .. } => noises[0].clone(),
            Likelihood::Poisson => mean.clone(),
            _ => average(&noises),
        };
        let mut epistemic_variance = vec![0.0; mean.len()];
        if draws.len() > 1 {
            for draw in &means {
                for ((v, m), f) in epistemic_variance.iter_mut().zip(&mean).zip(draw) {
                    *v += (f - m) * (f - m) / (draws.len() as f64 - 1.0);
                }
            }
        }
        Self { outputs, mean, epistemic_variance, aleatoric_variance }
    }

    /// From means and variances of Gaussian outputs, row-major rows × `width`. An exponential of one is log-normal.
    pub(super) fn from_moments(
        mean: Vec<f64>,
        variance: Vec<f64>,
        width: usize,
        likelihood: Likelihood,
    ) -> Self {
        let outputs = likelihood.targets_per_sample(width);
        let exponential = |(m, v): (&f64, &f64)| (m + 0.5 * v).exp();
        match likelihood {
            Likelihood::Poisson => {
                let rates: Vec<f64> = mean.iter().zip(&variance).map(exponential).collect();
                let spread = rates.iter().zip(&variance).map(|(rate, v)| rate * rate * v.exp_m1()).collect();
                Self { outputs, epistemic_variance: spread, aleatoric_variance: rates.clone(), mean: rates }
            }
            Likelihood::Heteroscedastic => {
                let first = |values: &[f64]| columns(values, width, 0..outputs);
                let logs = columns(&mean, width, outputs..width);
                let spreads = columns(&variance, width, outputs..width);
                Self {
                    outputs,
                    mean: first(&mean),
                    epistemic_variance: first(&variance),
                    aleatoric_variance: logs.iter().zip(&spreads).map(exponential).collect(),
                }
            }
            _ => {
                let aleatoric_variance = split(&mean, width, likelihood).1;
                Self { outputs, mean, epistemic_variance: variance, aleatoric_variance }
            }
        }
    }

    /// Variance of a new observation.
    pub fn variance(&self) -> Vec<f64> {
        self.epistemic_variance.iter().zip(&self.aleatoric_variance).map(|(e, a)| e + a).collect()
    }
}

/// Mean and variance of every target given the outputs of one draw.
fn split(outputs: &[f64], width: usize, likelihood: Likelihood) -> (Vec<f64>, Vec<f64>) {
    let repeated = |noise: OutputNoise| {
        let variances: Vec<f64> = noise.sigmas().iter().map(|sigma| sigma * sigma).collect();
        variances.repeat(outputs.len() / width)
    };
    match likelihood {
        Likelihood::Gaussian { sigma_noise } => {
            (outputs.to_vec(), vec![sigma_noise * sigma_noise; outputs.len()])
        }
        Likelihood::GaussianPerOutput { sigma_noise } => (outputs.to_vec(), repeated(sigma_noise)),
        Likelihood::Heteroscedastic => {
            let logs = columns(outputs, width, width / 2..width);
            (columns(outputs, width, 0..width / 2), logs.iter().map(|log| log.exp()).collect())
        }
        _ => {
            let rates: Vec<f64> = outputs.iter().map(|f| f.exp()).collect();
            (rates.clone(), rates)
        }
    }
}

/// Some columns of row-major rows × width numbers.
fn columns(values: &[f64], width: usize, some: std::ops::Range<usize>) -> Vec<f64> {
    values.chunks_exact(width).flat_map(|row| &row[some.clone()]).copied().collect()
}

/// Mean over draws of every entry.
fn average(draws: &[Vec<f64>]) -> Vec<f64> {
    let mut mean = vec![0.0; draws[0].len()];
    for draw in draws {
        mean.iter_mut().zip(draw).for_each(|(m, f)| *m += f / draws.len() as f64);
    }
    mean
}
