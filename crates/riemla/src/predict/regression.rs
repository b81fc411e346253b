//! Means and variances of real outputs.

/// Predicted values of some inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionPrediction {
    /// Outputs per row.
    pub outputs: usize,
    /// Means, row-major rows × outputs.
    pub mean: Vec<f64>,
    /// Variance of the network's output over the weights (unbiased over draws; 0 for one draw).
    pub epistemic_variance: Vec<f64>,
    /// Variance of the noise.
    pub aleatoric_variance: Vec<f64>,
}

impl RegressionPrediction {
    pub(super) fn from_draws(draws: &[Vec<f64>], outputs: usize, sigma_noise: f64) -> Self {
        let count = draws.len() as f64;
        let len = draws[0].len();
        let mut mean = vec![0.0; len];
        for draw in draws {
            mean.iter_mut().zip(draw).for_each(|(m, f)| *m += f / count);
        }
        let mut epistemic_variance = vec![0.0; len];
        if draws.len() > 1 {
            for draw in draws {
                for ((v, m), f) in epistemic_variance.iter_mut().zip(&mean).zip(draw) {
                    *v += (f - m) * (f - m) / (count - 1.0);
                }
            }
        }
        Self { outputs, mean, epistemic_variance, aleatoric_variance: vec![sigma_noise * sigma_noise; len] }
    }

    /// Variance of a new observation.
    pub fn variance(&self) -> Vec<f64> {
        self.epistemic_variance.iter().zip(&self.aleatoric_variance).map(|(e, a)| e + a).collect()
    }
}
