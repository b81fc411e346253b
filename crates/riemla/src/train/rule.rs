//! Update rules: how a gradient moves the parameters.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_positive};

/// An update rule, with PyTorch's formulas and names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// b ← momentum·b + g; θ ← θ − rate·b.
    Sgd {
        /// Share of the last step's direction that is kept, in [0, 1).
        momentum: f64,
    },
    /// m ← β₁m + (1−β₁)g; s ← β₂s + (1−β₂)g²; θ ← θ − rate·m̂/(√ŝ + ε) with
    /// m̂ = m/(1−β₁ᵗ), ŝ = s/(1−β₂ᵗ).
    Adam {
        /// Decay of the mean gradient, in [0, 1).
        beta1: f64,
        /// Decay of the mean squared gradient, in [0, 1).
        beta2: f64,
        /// Keeps the denominator above zero.
        epsilon: f64,
    },
}

impl Rule {
    /// Adam with the usual settings: β₁ = 0.9, β₂ = 0.999, ε = 1e-8.
    pub const ADAM: Self = Self::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

    /// Checks the ranges of the settings.
    pub(super) fn check(&self) -> Result<()> {
        match *self {
            Self::Sgd { momentum } => check_decay("momentum", momentum),
            Self::Adam { beta1, beta2, epsilon } => {
                check_decay("beta1", beta1)?;
                check_decay("beta2", beta2)?;
                check_positive("epsilon", epsilon)
            }
        }
    }
}

fn check_decay(what: &str, value: f64) -> Result<()> {
    if (0.0..1.0).contains(&value) {
        Ok(())
    } else {
        Err(Error::range(what, value, "at least 0 and below 1"))
    }
}

/// A [`Rule`] with its running averages.
pub(super) struct Stepper {
    rule: Rule,
    /// Momentum buffer, or Adam's mean gradient.
    first: Vec<f64>,
    /// Adam's mean squared gradient.
    second: Vec<f64>,
    steps: i32,
}

impl Stepper {
    pub(super) fn new(rule: Rule, dim: usize) -> Self {
        let squares = if matches!(rule, Rule::Adam { .. }) { dim } else { 0 };
        Self { rule, first: vec![0.0; dim], second: vec![0.0; squares], steps: 0 }
    }

    /// Moves `theta` by one step along `scale`·`gradient`.
    pub(super) fn step(&mut self, rate: f64, scale: f64, gradient: &[f64], theta: &mut [f64]) {
        self.steps = self.steps.saturating_add(1);
        match self.rule {
            Rule::Sgd { momentum } => {
                for ((t, b), g) in theta.iter_mut().zip(&mut self.first).zip(gradient) {
                    *b = momentum * *b + scale * g;
                    *t -= rate * *b;
                }
            }
            Rule::Adam { beta1, beta2, epsilon } => {
                let step = rate / (1.0 - beta1.powi(self.steps));
                let correction = (1.0 - beta2.powi(self.steps)).sqrt();
                let averages = self.first.iter_mut().zip(&mut self.second);
                for ((t, (m, s)), g) in theta.iter_mut().zip(averages).zip(gradient) {
                    let g = scale * g;
                    *m = beta1 * *m + (1.0 - beta1) * g;
                    *s = beta2 * *s + (1.0 - beta2) * g * g;
                    *t -= step * *m / (s.sqrt() / correction + epsilon);
                }
            }
        }
    }
}
