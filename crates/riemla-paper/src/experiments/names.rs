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
    /// The largest marginal likelihood over all priors, with the weights at a minimum under each: not the
    /// weights of the paper.
    Searched,
    /// The marginal likelihood, in turn with the weights: at a minimum under it, but perhaps not of the largest
    /// marginal likelihood. For networks on which the search over all priors would take too long.
    Alternated,
}

impl PriorName {
    /// Those of the paper.
    pub const ALL: [Self; 2] = [Self::Optimized, Self::Fixed];

    /// Those that only studies have: they are run whatever priors are asked for.
    pub const OF_STUDIES: [Self; 3] = [Self::Given, Self::Searched, Self::Alternated];

    /// Whether the weights were trained with a prior that was found with them: not the weights of the paper.
    pub fn comes_with_weights(self) -> bool {
        matches!(self, Self::Searched | Self::Alternated)
    }

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimized => "optimized",
            Self::Fixed => "fixed",
            Self::Given => "given",
            Self::Searched => "searched",
            Self::Alternated => "alternated",
        }
    }

    /// The prior of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain(Self::OF_STUDIES).find(|prior| prior.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_names_in_words() {
        for prior in PriorName::ALL.into_iter().chain(PriorName::OF_STUDIES) {
            assert_eq!(serde_json::to_value(prior).expect("writes"), prior.name());
        }
    }
}
