//! How precisely a network multiplies.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// In which precision the matrix products of a network are made. In files and on the command line it is its name:
/// `double` or `single`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// 64 bits throughout.
    #[default]
    Double,
    /// Products of linear layers with at least 32 inputs and 32 outputs multiply numbers of 32 bits and add the results
    /// to numbers of 64 bits, block by block. All else is double: weights, other layers, losses, sums over blocks.
    Single,
}

impl Arithmetic {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Double, Self::Single];

    /// The name used everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::Single => "single",
        }
    }

    /// Whether it is [`Arithmetic::Double`], which files leave out.
    pub fn is_double(&self) -> bool {
        *self == Self::Double
    }
}

impl std::fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Arithmetic {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|arithmetic| arithmetic.name() == name);
        found.ok_or_else(|| Error::range("arithmetic", name, "double or single"))
    }
}
