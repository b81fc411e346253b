//! Methods by name: the one list of words for files, tables, plots and the command line.

use riemla::posterior::Method;
use riemla_files::RunConfig;

use crate::named::named;

named! {
    /// A way to weights: a posterior of the library, with or without batches, or what it is compared with.
    /// In the order of tables.
    pub enum MethodName ("method") {
        /// No inputs at all: the frequencies of the classes, or mean and variance of the training targets.
        Constant = "constant",
        /// The trained weights.
        Map = "map",
        /// The trained weights, their outputs divided by a temperature.
        MapTemperature = "map-temperature",
        /// Laplace approximation.
        La = "la",
        /// Laplace approximation, linearised predictions.
        LinLa = "lin-la",
        /// The same in closed form, without draws: Gaussian outputs, and for classes the probit approximation.
        LinLaProbit = "lin-la-probit",
        /// Riemannian Laplace approximation.
        RiemLa = "riem-la",
        /// The same with a fresh batch of the data per draw.
        RiemLaBatches = "riem-la-batches",
        /// Riemannian Laplace approximation of the linearised network.
        LinRiemLa = "lin-riem-la",
        /// The same with a fresh batch of the data per draw.
        LinRiemLaBatches = "lin-riem-la-batches",
        /// Markov chains.
        Nuts = "nuts",
        /// Microcanonical Langevin chains, which are not corrected.
        Mclmc = "mclmc",
        /// Moments of stochastic gradient descent.
        Swag = "swag",
        /// Several trainings.
        Ensemble = "ensemble",
    }
}

impl MethodName {
    /// Those of the paper: posteriors, with and without batches.
    pub fn of_paper() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|method| method.posterior().is_some())
    }

    /// The posterior of the library; none for what it is compared with.
    pub fn posterior(self) -> Option<Method> {
        let name = self.name().trim_end_matches(BATCHES);
        Method::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether each draw sees a batch of its own.
    pub fn batched(self) -> bool {
        self.name().ends_with(BATCHES)
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

/// The ending of the name of a method whose draws see batches.
const BATCHES: &str = "-batches";

impl From<Method> for MethodName {
    fn from(method: Method) -> Self {
        method.name().parse().expect("the methods of the library are among them")
    }
}

impl From<&RunConfig> for MethodName {
    fn from(config: &RunConfig) -> Self {
        let name = config.method();
        let batched = matches!(config, RunConfig::Posterior(posterior) if posterior.batch.is_some());
        let in_batches = batched.then(|| format!("{name}{BATCHES}").parse().ok()).flatten();
        in_batches.unwrap_or_else(|| name.parse().expect("samplers are among the methods"))
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
