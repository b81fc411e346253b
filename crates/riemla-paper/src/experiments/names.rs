//! Where the prior of an experiment's posteriors comes from, by name.

use serde::{Deserialize, Serialize};

/// Where the prior precision of the Laplace approximation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorName {
    /// Maximum of the marginal likelihood.
    Optimized,
    /// The number in the experiment's file: twice the weight decay, as in the authors' code.
    Fixed,
    /// Prior and noise that the weights were trained with, so that they are at a mode of the posterior.
    Given,
}

impl PriorName {
    /// Those of the paper.
    pub const ALL: [Self; 2] = [Self::Optimized, Self::Fixed];

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimized => "optimized",
            Self::Fixed => "fixed",
            Self::Given => "given",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_names_in_words() {
        for prior in [PriorName::Optimized, PriorName::Fixed, PriorName::Given] {
            assert_eq!(serde_json::to_value(prior).expect("writes"), prior.name());
        }
    }
}
