//! The words used in files and on the command line: methods, settings, priors.

use riemla::posterior::Method;
use serde::{Deserialize, Serialize};

pub use crate::preset::Preset;
pub use crate::setting::{Rule, Setting};

/// A method of the paper: a posterior, with or without batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodName {
    /// The trained weights.
    Map,
    /// Laplace approximation.
    La,
    /// Laplace approximation, linearised predictions.
    LinLa,
    /// Riemannian Laplace approximation.
    RiemLa,
    /// The same with a fresh batch of the data per draw.
    RiemLaBatches,
    /// Riemannian Laplace approximation of the linearised network.
    LinRiemLa,
    /// The same with a fresh batch of the data per draw.
    LinRiemLaBatches,
}

impl MethodName {
    /// All, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Map,
        Self::La,
        Self::LinLa,
        Self::RiemLa,
        Self::RiemLaBatches,
        Self::LinRiemLa,
        Self::LinRiemLaBatches,
    ];

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::RiemLaBatches => "riem-la-batches",
            Self::LinRiemLaBatches => "lin-riem-la-batches",
            other => other.method().name(),
        }
    }

    /// The posterior.
    pub fn method(self) -> Method {
        match self {
            Self::Map => Method::Map,
            Self::La => Method::La,
            Self::LinLa => Method::LinLa,
            Self::RiemLa | Self::RiemLaBatches => Method::RiemLa,
            Self::LinRiemLa | Self::LinRiemLaBatches => Method::LinRiemLa,
        }
    }

    /// Whether each draw sees a batch of its own.
    pub fn batched(self) -> bool {
        matches!(self, Self::RiemLaBatches | Self::LinRiemLaBatches)
    }

    /// Whether draws follow geodesics, so that the setting matters.
    pub fn is_riemannian(self) -> bool {
        self.method().is_riemannian()
    }
}

/// Where the prior precision of the Laplace approximation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorName {
    /// Maximum of the marginal likelihood.
    Optimized,
    /// The number in the experiment's file: twice the weight decay, as in the authors' code.
    Fixed,
}

impl PriorName {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Optimized, Self::Fixed];

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        if self == Self::Optimized { "optimized" } else { "fixed" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_names_in_words() {
        let written = |value: &dyn erased::Name| value.json();
        for method in MethodName::ALL {
            assert_eq!(written(&method), method.name());
        }
        for preset in Preset::CHOICES {
            assert_eq!(written(&preset), preset.name());
        }
        for prior in PriorName::ALL {
            assert_eq!(written(&prior), prior.name());
        }
    }

    mod erased {
        pub trait Name {
            fn json(&self) -> String;
        }

        impl<T: serde::Serialize> Name for T {
            fn json(&self) -> String {
                serde_json::to_value(self).expect("writes").as_str().expect("a word").to_string()
            }
        }
    }
}
