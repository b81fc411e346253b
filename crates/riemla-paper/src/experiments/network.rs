//! The networks of experiments and plans, some of them by name.

use std::collections::BTreeMap;

use riemla::nn::{Activation, NetworkSpec};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NetworkChoice {
    /// Sizes from input to output, tanh between.
    Sizes(Vec<usize>),
    /// Any layers.
    Layers(NetworkSpec),
    /// One that several files share; only in their text.
    Named(String),
}

/// The networks that files name.
const NETWORKS: &str = include_str!("../../experiments/networks.toml");

impl NetworkChoice {
    /// The description of the network.
    pub fn spec(&self) -> NetworkSpec {
        match self {
            Self::Sizes(sizes) => NetworkSpec::mlp(sizes, Activation::Tanh),
            Self::Layers(spec) => spec.clone(),
            Self::Named(name) => unreachable!("{name} was looked up when it was read"),
        }
    }

    /// Reads a choice; in place of a name the layers, so that what is written down does not depend on another file.
    pub fn read<'de, D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        match Self::deserialize(reader)? {
            Self::Named(name) => {
                let mut known: BTreeMap<String, NetworkSpec> =
                    toml::from_str(NETWORKS).map_err(D::Error::custom)?;
                let unknown =
                    || D::Error::custom(format!("no network in experiments/networks.toml is called {name}"));
                known.remove(&name).map(Self::Layers).ok_or_else(unknown)
            }
            choice => Ok(choice),
        }
    }
}
