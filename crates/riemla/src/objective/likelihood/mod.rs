//! Likelihoods: what the network's outputs say about the targets. One file each.

mod bernoulli;
mod categorical;
mod gaussian;
mod gaussian_per_output;
mod heteroscedastic;
mod multi_label;
mod output_noise;
mod poisson;

use serde::{Deserialize, Serialize};

pub use output_noise::OutputNoise;

use crate::data::Targets;
use crate::error::check_positive;
use crate::{Error, Result};

/// Targets of one block of samples.
#[derive(Debug, Clone)]
pub enum BlockTargets {
    /// A class per sample.
    Classes(Vec<usize>),
    /// targets × n with samples contiguous.
    Values(Vec<f64>),
}

impl BlockTargets {
    /// Targets per sample.
    fn per_sample(&self, n: usize) -> usize {
        match self {
            Self::Classes(_) => 1,
            Self::Values(values) => values.len() / n.max(1),
        }
    }
}

/// Sum of the weights of n samples; their number if there are none.
fn weight_of(n: usize, weights: &[f64]) -> f64 {
    if weights.is_empty() { n as f64 } else { weights.iter().sum() }
}

/// The loss −log p(y | f), without terms that do not depend on f, as a function of a block of
/// outputs f (outputs × n, samples contiguous), summed over samples.
///
/// Λ is the Fisher information of the outputs, the expectation of the Hessian over targets with that likelihood; block
/// diagonal over samples, and positive semi-definite. Where it is the Hessian itself, as for logits, means and
/// log-rates, `hessian_product` need not be written. `scratch` has room for (outputs + 1) × n numbers.
/// Law: `testing/likelihoods.rs`.
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

    /// What must be added to the loss to get −log p(y | f).
    fn constant(&self, n: usize, targets: &BlockTargets, weights: &[f64]) -> f64 {
        let _ = (n, targets, weights);
        0.0
    }

    /// Writes Λd.
    fn fisher_product(&self, n: usize, f: &[f64], d: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// Writes the product of the loss's Hessian with d.
    fn hessian_product(
        &self,
        n: usize,
        f: &[f64],
        targets: &BlockTargets,
        d: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        let _ = targets;
        self.fisher_product(n, f, d, out, scratch);
    }

    /// Writes the force that bends geodesics of the metric Λ(f) moving along d: ∂Λ[d]d − ½∇(dᵀΛd). Where Λ is the
    /// Hessian, that is half the third derivative of the loss along d twice.
    fn christoffel(&self, n: usize, f: &[f64], d: &[f64], out: &mut [f64], scratch: &mut [f64]);

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
#[allow(clippy::large_enum_variant)] // half a kilobyte that is copied a few times per fit
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
    /// The same with a standard deviation for every output.
    GaussianPerOutput {
        /// Standard deviation of the noise of each output.
        sigma_noise: OutputNoise,
    },
    /// Real targets with Gaussian noise that depends on the input: the outputs are the means of all targets, then the
    /// logarithms of their variances.
    #[serde(deserialize_with = "crate::strict::no_fields")]
    Heteroscedastic,
    /// Counts: each output is the logarithm of a rate.
    #[serde(deserialize_with = "crate::strict::no_fields")]
    Poisson,
    /// Several labels that are 0 or 1, independent given the input: each output is the logit of a label.
    #[serde(deserialize_with = "crate::strict::no_fields")]
    MultiLabel,
}

/// What kind of targets a likelihood is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// One of several classes.
    Classes,
    /// Real numbers.
    Values,
    /// Whole numbers from 0.
    Counts,
    /// Labels that are 0 or 1.
    Labels,
}

impl Likelihood {
    /// Λd of `n` samples: the Fisher information of the outputs f times d, both outputs × n with
    /// samples contiguous. It is the Hessian of −log p(y | f) for all but the heteroscedastic likelihood.
    pub fn fisher_product(&self, n: usize, f: &[f64], d: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; d.len()];
        self.rule().fisher_product(n, f, d, &mut product, &mut vec![0.0; f.len() + n]);
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
            Likelihood::GaussianPerOutput { sigma_noise } => {
                let precisions = sigma_noise.sigmas().iter().map(|sigma| 1.0 / (sigma * sigma)).collect();
                Box::new(gaussian_per_output::GaussianPerOutput { precisions })
            }
            Likelihood::Heteroscedastic => Box::new(heteroscedastic::Heteroscedastic),
            Likelihood::Poisson => Box::new(poisson::Poisson),
            Likelihood::MultiLabel => Box::new(multi_label::MultiLabel),
        }
    }

    /// The kind of its targets.
    pub fn kind(&self) -> TargetKind {
        match self {
            Likelihood::Categorical | Likelihood::Bernoulli => TargetKind::Classes,
            Likelihood::Gaussian { .. }
            | Likelihood::GaussianPerOutput { .. }
            | Likelihood::Heteroscedastic => TargetKind::Values,
            Likelihood::Poisson => TargetKind::Counts,
            Likelihood::MultiLabel => TargetKind::Labels,
        }
    }

    /// Number of classes a network with `outputs` outputs predicts; none where targets are no classes.
    pub fn classes(&self, outputs: usize) -> Option<usize> {
        match self {
            Likelihood::Categorical => Some(outputs),
            Likelihood::Bernoulli => Some(2),
            _ => None,
        }
    }

    /// Targets per sample of a network with `outputs` outputs.
    pub fn targets_per_sample(&self, outputs: usize) -> usize {
        match self {
            Likelihood::Categorical | Likelihood::Bernoulli => 1,
            Likelihood::Heteroscedastic => outputs / 2,
            _ => outputs,
        }
    }

    /// Outputs that a network needs for so many real targets, counts or labels.
    pub fn outputs_for(&self, targets: usize) -> usize {
        if *self == Likelihood::Heteroscedastic { 2 * targets } else { targets }
    }

    /// Checks that targets fit this likelihood and a network with `outputs` outputs.
    pub fn check(&self, outputs: usize, targets: &Targets) -> Result<()> {
        self.check_outputs(outputs)?;
        match (self.kind(), targets) {
            (TargetKind::Classes, Targets::Classes(labels)) => self.check_labels(outputs, labels),
            (TargetKind::Classes, Targets::Values { .. }) => Err(Error::Unsupported(
                "a classification likelihood needs class labels; use the Gaussian one for real targets"
                    .into(),
            )),
            (TargetKind::Values, Targets::Classes(_)) => Err(Error::Unsupported(
                "a Gaussian likelihood needs real targets; use the categorical one for class labels".into(),
            )),
            (_, Targets::Classes(_)) => Err(Error::Unsupported(
                "this likelihood needs numbers (counts, or labels that are 0 or 1) and not class labels"
                    .into(),
            )),
            (kind, Targets::Values { values, outputs: given }) => {
                let expected = self.targets_per_sample(outputs);
                if *given != expected {
                    let expected = format!("{expected} for {outputs} network outputs");
                    return Err(Error::shape("targets per sample", expected, given));
                }
                check_values(kind, values, *given)
            }
        }
    }

    /// Checks that a network with `outputs` outputs can have this likelihood.
    pub fn check_outputs(&self, outputs: usize) -> Result<()> {
        let (valid, hint) = match self {
            Likelihood::Categorical => {
                (outputs >= 2, "at least 2 for categorical (or use bernoulli)".to_string())
            }
            Likelihood::Bernoulli => (outputs == 1, "1 for bernoulli (or use categorical)".into()),
            Likelihood::Gaussian { sigma_noise } => {
                check_positive("sigma_noise", *sigma_noise)?;
                (outputs >= 1, "at least 1".into())
            }
            Likelihood::GaussianPerOutput { sigma_noise } => {
                let expected = sigma_noise.sigmas().len();
                (outputs == expected, format!("{expected}, one per sigma_noise"))
            }
            Likelihood::Heteroscedastic => (
                outputs >= 2 && outputs.is_multiple_of(2),
                "even for heteroscedastic: means, then logarithms of variances".into(),
            ),
            Likelihood::Poisson | Likelihood::MultiLabel => (outputs >= 1, "at least 1".into()),
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
}

/// Checks that counts are whole and not negative, and that labels are 0 or 1.
fn check_values(kind: TargetKind, values: &[f64], width: usize) -> Result<()> {
    let (valid, what): (fn(&f64) -> bool, _) = match kind {
        TargetKind::Counts => (|y| *y >= 0.0 && y.fract() == 0.0, "a whole number from 0 (a count)"),
        TargetKind::Labels => (|y| *y == 0.0 || *y == 1.0, "0 or 1 (a label)"),
        TargetKind::Classes | TargetKind::Values => return Ok(()),
    };
    match values.iter().position(|y| !valid(y)) {
        None => Ok(()),
        Some(place) => {
            let (row, column) = (place / width, place % width);
            Err(Error::range(format!("target {column} of row {row}"), values[place], what))
        }
    }
}
