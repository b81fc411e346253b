//! How draws are polished.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Every draw becomes the start of a Hamiltonian chain of its own, which ends after a number of gradients; its end
/// is the polished draw. Why these defaults: docs/decisions/0030-polish.md.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polish {
    /// Gradients of every chain.
    pub length: PolishLength,
    /// Mass matrix.
    #[serde(default)]
    pub mass: Mass,
    /// Leapfrog steps of a proposal, on average.
    #[serde(default = "default_leaps")]
    pub leaps: usize,
    /// Step size, if it is known; otherwise it is found once per seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Mean acceptance probability that the step size is chosen for.
    #[serde(default = "default_acceptance")]
    pub acceptance: f64,
}

/// Gradients of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolishLength {
    /// This number.
    Gradients(usize),
    /// As many as it takes until the loss of pilot chains no longer changes; found once per seed.
    Auto,
}

/// Mass matrix of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mass {
    /// The variances where the model is a network (or another with rows), the identity for other densities: they
    /// can bend far away from their Gaussian.
    #[default]
    Auto,
    /// The identity.
    Identity,
    /// One over the variances of the weights under the Gaussian, without their correlations.
    Diagonal,
    /// The precision of the Gaussian.
    Laplace,
}

fn default_leaps() -> usize {
    10
}

fn default_acceptance() -> f64 {
    0.7
}

/// Longest chain that can be asked for.
const LONGEST: usize = 1_000_000;

/// Chains of 100 gradients: why, docs/decisions/0030-polish.md.
impl Default for Polish {
    fn default() -> Self {
        Self::of(100)
    }
}

impl Polish {
    /// Chains of so many gradients.
    pub fn of(gradients: usize) -> Self {
        Self::new(PolishLength::Gradients(gradients))
    }

    /// Chains as long as it takes.
    pub fn auto() -> Self {
        Self::new(PolishLength::Auto)
    }

    fn new(length: PolishLength) -> Self {
        Self {
            length,
            mass: Mass::default(),
            leaps: default_leaps(),
            step: None,
            acceptance: default_acceptance(),
        }
    }

    /// Checks the ranges of the settings.
    pub fn validate(&self) -> Result<()> {
        if let PolishLength::Gradients(gradients) = self.length
            && !(1..=LONGEST).contains(&gradients)
        {
            return Err(Error::range("gradients of a polish", gradients, format!("from 1 to {LONGEST}")));
        }
        if self.leaps == 0 {
            return Err(Error::range("leaps of a polish", 0, "at least 1"));
        }
        if let Some(step) = self.step.filter(|step| !(step.is_finite() && *step > 0.0)) {
            return Err(Error::range("step of a polish", step, "finite and above 0"));
        }
        if !(self.acceptance > 0.0 && self.acceptance < 1.0) {
            return Err(Error::range("acceptance of a polish", self.acceptance, "above 0 and below 1"));
        }
        Ok(())
    }
}
