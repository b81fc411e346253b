//! How the draws of a set were made.

use riemla::posterior::{Method, PosteriorConfig};
use riemla::reference::Reference;
use serde::{Deserialize, Deserializer, Serialize};

/// A method with its settings. In JSON one object with the name in `method`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RunConfig {
    /// Around the trained weights: map, la, lin-la, riem-la, lin-riem-la.
    Posterior(PosteriorConfig),
    /// To compare with: nuts, swag, ensemble.
    Reference(Reference),
}

impl RunConfig {
    /// The name of the method.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Posterior(config) => config.method.name(),
            Self::Reference(config) => config.name(),
        }
    }

    /// The method of draws around the trained weights; none of those to compare with.
    pub fn posterior_method(&self) -> Option<Method> {
        match self {
            Self::Posterior(config) => Some(config.method),
            Self::Reference(_) => None,
        }
    }

    /// Whether predictions use the linearised network.
    pub fn is_linearized(&self) -> bool {
        self.posterior_method().is_some_and(Method::is_linearized)
    }
}

impl From<PosteriorConfig> for RunConfig {
    fn from(config: PosteriorConfig) -> Self {
        Self::Posterior(config)
    }
}

impl From<Reference> for RunConfig {
    fn from(config: Reference) -> Self {
        Self::Reference(config)
    }
}

/// By the name of the method, so that errors name the field that is wrong.
impl<'de> Deserialize<'de> for RunConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let method = value.get("method").and_then(|method| method.as_str());
        let read = match method.and_then(Reference::named) {
            Some(_) => serde_json::from_value(value).map(Self::Reference),
            None => serde_json::from_value(value).map(Self::Posterior),
        };
        read.map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_comes_back_and_errors_name_the_field() {
        let posteriors = Method::ALL.map(|method| RunConfig::from(PosteriorConfig::new(method)));
        let references = Reference::NAMES.iter().filter_map(|name| Reference::named(name));
        for config in posteriors.into_iter().chain(references.map(RunConfig::from)) {
            let json = serde_json::to_string(&config).unwrap();
            assert!(json.contains(&format!("\"method\":\"{}\"", config.method())), "{json}");
            assert_eq!(serde_json::from_str::<RunConfig>(&json).unwrap(), config);
        }
        for (json, part) in [
            (r#"{"method":"nuts","chains":4}"#, "warmup"),
            (r#"{"method":"hmc"}"#, "hmc"),
            (r#"{"chains":4}"#, "method"),
            (r#"{"method":"swag","colour":1}"#, "colour"),
        ] {
            let error = serde_json::from_str::<RunConfig>(json).unwrap_err().to_string();
            assert!(error.contains(part), "{json}: {error}");
        }
    }
}
