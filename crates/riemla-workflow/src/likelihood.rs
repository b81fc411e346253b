//! Likelihoods by name, as commands and Python take them.

use riemla::objective::{Likelihood, OutputNoise, PriorPrecision, TargetKind};
use riemla_files::Task;

use crate::named::named;

named! {
    /// What the outputs of a network mean.
    pub enum LikelihoodName ("likelihood") {
        /// Classes, one logit each.
        Categorical = "categorical",
        /// Two classes, one logit.
        Bernoulli = "bernoulli",
        /// Numbers with one noise.
        Gaussian = "gaussian",
        /// Numbers, each with a noise of its own.
        GaussianPerOutput = "gaussian-per-output",
        /// Numbers whose noise depends on the input.
        Heteroscedastic = "heteroscedastic",
        /// Counts.
        Poisson = "poisson",
        /// Several yes/no labels.
        MultiLabel = "multi-label",
    }
}

impl LikelihoodName {
    /// What the outputs mean, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Categorical => "Classes, one output each",
            Self::Bernoulli => "Two classes, one output",
            Self::Gaussian => "Numbers with one noise",
            Self::GaussianPerOutput => "Numbers, each with a noise of its own",
            Self::Heteroscedastic => {
                "Numbers whose noise depends on the inputs: means, then logarithms of variances"
            }
            Self::Poisson => "Counts: logarithms of rates",
            Self::MultiLabel => "Several yes/no labels, one output each",
        }
    }

    /// What its targets are in a table.
    pub fn task(self) -> Task {
        match self {
            Self::Categorical | Self::Bernoulli => Task::Classification,
            Self::Gaussian | Self::GaussianPerOutput | Self::Heteroscedastic => Task::Regression,
            Self::Poisson => Task::Counts,
            Self::MultiLabel => Task::Labels,
        }
    }

    /// The likelihood of a network with so many outputs; `sigma` is the noise of those that have one.
    pub fn with_noise(self, sigma: f64, outputs: usize) -> riemla::Result<Likelihood> {
        Ok(match self {
            Self::Categorical => Likelihood::Categorical,
            Self::Bernoulli => Likelihood::Bernoulli,
            Self::Gaussian => Likelihood::Gaussian { sigma_noise: sigma },
            Self::GaussianPerOutput => {
                Likelihood::GaussianPerOutput { sigma_noise: OutputNoise::new(&vec![sigma; outputs])? }
            }
            Self::Heteroscedastic => Likelihood::Heteroscedastic,
            Self::Poisson => Likelihood::Poisson,
            Self::MultiLabel => Likelihood::MultiLabel,
        })
    }
}

/// What the targets of a likelihood are in a table.
pub fn task_of(likelihood: Likelihood) -> Task {
    match likelihood.kind() {
        TargetKind::Classes => Task::Classification,
        TargetKind::Values => Task::Regression,
        TargetKind::Counts => Task::Counts,
        TargetKind::Labels => Task::Labels,
    }
}

/// Prior precisions in words.
pub fn prior_in_words(prior: &PriorPrecision) -> String {
    match prior {
        PriorPrecision::Scalar(value) => format!("{value:.4}"),
        PriorPrecision::PerLayer(values) => format!("{} (per layer)", listed(values)),
    }
}

/// Standard deviations of the noise in words; none where the likelihood has none of its own.
pub fn noise_in_words(likelihood: Likelihood) -> Option<String> {
    match likelihood {
        Likelihood::Gaussian { sigma_noise } => Some(format!("{sigma_noise:.4}")),
        Likelihood::GaussianPerOutput { sigma_noise } => Some(listed(sigma_noise.sigmas())),
        _ => None,
    }
}

fn listed(numbers: &[f64]) -> String {
    numbers.iter().map(|number| format!("{number:.4}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for likelihood in LikelihoodName::ALL {
            let json = serde_json::to_string(&likelihood).expect("JSON");
            assert_eq!(json, format!("{:?}", likelihood.name()));
        }
    }
}
