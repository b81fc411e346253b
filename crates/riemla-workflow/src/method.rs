//! Methods by name: the one list of words for files, tables, plots and the command line.

use std::fmt;
use std::str::FromStr;

use riemla::posterior::Method;
use riemla_files::RunConfig;
use serde::{Deserialize, Serialize};

/// A way to weights: a posterior of the library, with or without batches, or what it is compared with.
/// In the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodName {
    /// No inputs at all: the frequencies of the classes, or mean and variance of the training targets.
    Constant,
    /// The trained weights.
    Map,
    /// The trained weights, their outputs divided by a temperature.
    MapTemperature,
    /// Laplace approximation.
    La,
    /// Laplace approximation, linearised predictions.
    LinLa,
    /// The same in closed form, without draws: Gaussian outputs, and for classes the probit approximation.
    LinLaProbit,
    /// Riemannian Laplace approximation.
    RiemLa,
    /// The same with a fresh batch of the data per draw.
    RiemLaBatches,
    /// Riemannian Laplace approximation of the linearised network.
    LinRiemLa,
    /// The same with a fresh batch of the data per draw.
    LinRiemLaBatches,
    /// Markov chains.
    Nuts,
    /// Microcanonical Langevin chains, which are not corrected.
    Mclmc,
    /// Moments of stochastic gradient descent.
    Swag,
    /// Several trainings.
    Ensemble,
}

impl MethodName {
    /// All, in the order of tables.
    pub const ALL: [Self; 14] = [
        Self::Constant,
        Self::Map,
        Self::MapTemperature,
        Self::La,
        Self::LinLa,
        Self::LinLaProbit,
        Self::RiemLa,
        Self::RiemLaBatches,
        Self::LinRiemLa,
        Self::LinRiemLaBatches,
        Self::Nuts,
        Self::Mclmc,
        Self::Swag,
        Self::Ensemble,
    ];

    /// Those of the paper: posteriors, with and without batches.
    pub fn of_paper() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|method| method.posterior().is_some())
    }

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Map => "map",
            Self::MapTemperature => "map-temperature",
            Self::La => "la",
            Self::LinLa => "lin-la",
            Self::LinLaProbit => "lin-la-probit",
            Self::RiemLa => "riem-la",
            Self::RiemLaBatches => "riem-la-batches",
            Self::LinRiemLa => "lin-riem-la",
            Self::LinRiemLaBatches => "lin-riem-la-batches",
            Self::Nuts => "nuts",
            Self::Mclmc => "mclmc",
            Self::Swag => "swag",
            Self::Ensemble => "ensemble",
        }
    }

    /// The posterior of the library; none for what it is compared with.
    pub fn posterior(self) -> Option<Method> {
        match self {
            Self::Map => Some(Method::Map),
            Self::La => Some(Method::La),
            Self::LinLa => Some(Method::LinLa),
            Self::RiemLa | Self::RiemLaBatches => Some(Method::RiemLa),
            Self::LinRiemLa | Self::LinRiemLaBatches => Some(Method::LinRiemLa),
            Self::Constant
            | Self::MapTemperature
            | Self::LinLaProbit
            | Self::Nuts
            | Self::Mclmc
            | Self::Swag
            | Self::Ensemble => None,
        }
    }

    /// Whether each draw sees a batch of its own.
    pub fn batched(self) -> bool {
        matches!(self, Self::RiemLaBatches | Self::LinRiemLaBatches)
    }

    /// Whether draws follow geodesics, so that the setting matters.
    pub fn is_riemannian(self) -> bool {
        self.posterior().is_some_and(Method::is_riemannian)
    }

    /// Whether predictions use the linearised network.
    pub fn is_linearized(self) -> bool {
        self.posterior().is_some_and(Method::is_linearized)
    }

    /// The method that a name begins with: `riem-la, calibrated` and `riem-la virial` are both riem-la.
    pub fn leading(name: &str) -> Option<Self> {
        name.split([' ', ',']).next().unwrap_or_default().parse().ok()
    }
}

impl From<Method> for MethodName {
    fn from(method: Method) -> Self {
        match method {
            Method::Map => Self::Map,
            Method::La => Self::La,
            Method::LinLa => Self::LinLa,
            Method::RiemLa => Self::RiemLa,
            Method::LinRiemLa => Self::LinRiemLa,
        }
    }
}

impl From<&RunConfig> for MethodName {
    fn from(config: &RunConfig) -> Self {
        let posterior = match config {
            RunConfig::Posterior(config) => config,
            RunConfig::Reference(riemla::reference::Reference::Nuts(_)) => return Self::Nuts,
            RunConfig::Reference(riemla::reference::Reference::Mclmc(_)) => return Self::Mclmc,
            RunConfig::Reference(riemla::reference::Reference::Swag(_)) => return Self::Swag,
            RunConfig::Reference(riemla::reference::Reference::Ensemble(_)) => return Self::Ensemble,
        };
        match (posterior.method, posterior.batch) {
            (Method::RiemLa, Some(_)) => Self::RiemLaBatches,
            (Method::LinRiemLa, Some(_)) => Self::LinRiemLaBatches,
            (method, _) => method.into(),
        }
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MethodName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|method| method.name() == text);
        let known = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| format!("unknown method {text}; the methods are {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use riemla::posterior::{BatchDesign, BatchPlan, PosteriorConfig};
    use riemla::reference::Reference;

    #[test]
    fn names_are_those_of_files_and_of_the_library() {
        assert!(MethodName::ALL.is_sorted());
        for method in MethodName::ALL {
            assert_eq!(serde_json::to_value(method).expect("writes"), method.name());
            assert_eq!(method.name().parse(), Ok(method));
            assert_eq!(MethodName::leading(&format!("{method}, calibrated")), Some(method));
        }
        for method in Method::ALL {
            assert_eq!(MethodName::from(method).name(), method.name());
            assert_eq!(MethodName::from(method).posterior(), Some(method));
        }
        for name in Reference::NAMES {
            let config = RunConfig::from(Reference::named(name).expect("a method"));
            assert_eq!(MethodName::from(&config).name(), name);
        }
        let batch = Some(BatchPlan::new(5, BatchDesign::Uniform));
        let config = PosteriorConfig { batch, ..PosteriorConfig::new(Method::LinRiemLa) };
        assert_eq!(MethodName::from(&config.into()), MethodName::LinRiemLaBatches);
        assert!(MethodName::leading("mine").is_none());
        assert!("hmc".parse::<MethodName>().expect_err("unknown").contains("riem-la-batches"));
    }
}
