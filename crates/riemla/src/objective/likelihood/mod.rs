//! Likelihoods: what the network's outputs say about the targets. One file each.

mod bernoulli;
mod categorical;
mod gaussian;

use serde::{Deserialize, Serialize};

use crate::data::Targets;
use crate::error::check_positive;
use crate::{Error, Result};

/// Targets of one block of samples.
#[derive(Debug, Clone)]
pub enum BlockTargets {
    /// A class per sample.
    Classes(Vec<usize>),
    /// outputs × n with samples contiguous.
    Values(Vec<f64>),
}

/// The loss −log p(y | f), without terms that do not depend on f, as a function of a block of
/// outputs f (outputs × n, samples contiguous), summed over samples.
///
/// Λ is its Hessian in the outputs, block diagonal over samples. `scratch` has room for
/// (outputs + 1) × n numbers. Law: `testing/likelihoods.rs`.
pub trait OutputLoss: Send + Sync {
    /// Returns the loss, each sample counted with its weight (once if there are none), and writes ∂loss/∂f without
    /// the weights.
    fn loss(
        &self,
        n: usize,
        f: &[f64],
        targets: &BlockTargets,
        weights: &[f64],
        residual: &mut [f64],
        scratch: &mut [f64],
    ) -> f64;

    /// Writes Λd.
    fn hessian_product(&self, n: usize, f: &[f64], d: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// Writes the third derivative of the loss along d twice: how Λd changes when f moves along d.
    fn third_product(&self, n: usize, f: &[f64], d: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// Number of columns of S in Λ = SSᵀ, per sample.
    fn factor_columns(&self, outputs: usize) -> usize {
        outputs
    }

    /// Writes column `j` of S for every sample.
    fn factor(&self, n: usize, f: &[f64], j: usize, out: &mut [f64], scratch: &mut [f64]);
}

/// Which likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Likelihood {
    /// Classes through a softmax: one output (logit) per class.
    #[serde(deserialize_with = "crate::strict::no_fields")]
    Categorical,
    /// Two classes through a sigmoid: a single output, the logit of class 1.
    #[serde(deserialize_with = "crate::strict::no_fields")]
    Bernoulli,
    /// Real targets with independent Gaussian noise of standard deviation `sigma_noise`.
    Gaussian {
        /// Standard deviation of the noise.
        sigma_noise: f64,
    },
}

impl Likelihood {
    /// Λd of `n` samples: the Hessian of −log p(y | f) in the outputs f times d, both outputs × n with
    /// samples contiguous. For these likelihoods it does not depend on the targets.
    pub fn hessian_product(&self, n: usize, f: &[f64], d: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; d.len()];
        self.rule().hessian_product(n, f, d, &mut product, &mut vec![0.0; f.len() + n]);
        product
    }

    /// The functions of this likelihood.
    pub(crate) fn rule(&self) -> Box<dyn OutputLoss> {
        match self {
            Likelihood::Categorical => Box::new(categorical::Categorical),
            Likelihood::Bernoulli => Box::new(bernoulli::Bernoulli),
            Likelihood::Gaussian { sigma_noise } => {
                Box::new(gaussian::Gaussian { precision: 1.0 / (sigma_noise * sigma_noise) })
            }
        }
    }

    /// Number of classes a network with `outputs` outputs predicts; none in regression.
    pub fn classes(&self, outputs: usize) -> Option<usize> {
        match self {
            Likelihood::Categorical => Some(outputs),
            Likelihood::Bernoulli => Some(2),
            Likelihood::Gaussian { .. } => None,
        }
    }

    /// Checks that targets fit this likelihood and a network with `outputs` outputs.
    pub fn check(&self, outputs: usize, targets: &Targets) -> Result<()> {
        self.check_outputs(outputs)?;
        match (self, targets) {
            (Likelihood::Gaussian { .. }, Targets::Values { outputs: given, .. }) => {
                if *given != outputs {
                    return Err(Error::shape(
                        "targets per sample",
                        format!("{outputs} network outputs"),
                        given,
                    ));
                }
                Ok(())
            }
            (Likelihood::Gaussian { .. }, Targets::Classes(_)) => Err(Error::Unsupported(
                "a Gaussian likelihood needs real targets; use the categorical one for class labels".into(),
            )),
            (_, Targets::Values { .. }) => Err(Error::Unsupported(
                "a classification likelihood needs class labels; use the Gaussian one for real targets"
                    .into(),
            )),
            (_, Targets::Classes(labels)) => self.check_labels(outputs, labels),
        }
    }

    /// Checks that a network with `outputs` outputs can have this likelihood.
    pub fn check_outputs(&self, outputs: usize) -> Result<()> {
        let (valid, hint) = match self {
            Likelihood::Categorical => (outputs >= 2, "at least 2 for categorical (or use bernoulli)"),
            Likelihood::Bernoulli => (outputs == 1, "1 for bernoulli (or use categorical)"),
            Likelihood::Gaussian { sigma_noise } => {
                check_positive("sigma_noise", *sigma_noise)?;
                (outputs >= 1, "at least 1")
            }
        };
        if valid { Ok(()) } else { Err(Error::range("number of network outputs", outputs, hint)) }
    }

    fn check_labels(&self, outputs: usize, labels: &[usize]) -> Result<()> {
        let classes = self.classes(outputs).unwrap_or(0);
        match labels.iter().position(|&label| label >= classes) {
            None => Ok(()),
            Some(row) => Err(Error::Label { row, label: labels[row], classes }),
        }
    }

    /// What must be added to the loss of so many targets (samples × outputs, or the sum of their weights) to get
    /// −log p(y | f).
    pub fn normalizer(&self, targets: f64) -> f64 {
        match self {
            Likelihood::Gaussian { sigma_noise } => {
                let variance = sigma_noise * sigma_noise;
                0.5 * targets * (2.0 * std::f64::consts::PI * variance).ln()
            }
            _ => 0.0,
        }
    }
}
