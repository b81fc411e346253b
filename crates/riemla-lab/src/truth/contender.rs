//! The methods that are held against the truth, in a few words each.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::experiments::{MethodName, Setting};
use crate::setting::Number;

/// A method with all that makes its draws.
///
/// Its name: `la`, `riem-la virial`, `lin-riem-la a=1`, `riem-la fisher`, `nuts`, `swag`,
/// `swag rate=0.1`, `ensemble`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Contender {
    /// A method without geodesics.
    Straight(MethodName),
    /// Geodesics under a setting.
    Geodesics(MethodName, Setting),
    /// Markov chains.
    Nuts,
    /// Moments of stochastic gradient descent, with a learning rate if not the default.
    Swag(Option<Number>),
    /// Several trainings.
    Ensemble,
}

/// Before the learning rate of SWAG.
const RATE: &str = "rate=";

impl Contender {
    /// The name used everywhere.
    pub fn name(self) -> String {
        self.to_string()
    }

    /// Whether its weights are those of the linearised network.
    pub fn is_linearized(self) -> bool {
        match self {
            Self::Straight(method) | Self::Geodesics(method, _) => method.method().is_linearized(),
            Self::Nuts | Self::Swag(_) | Self::Ensemble => false,
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Straight(method) => f.write_str(method.name()),
            Self::Geodesics(method, setting) => write!(f, "{} {setting}", method.name()),
            Self::Nuts => f.write_str("nuts"),
            Self::Swag(None) => f.write_str("swag"),
            Self::Swag(Some(rate)) => write!(f, "swag {RATE}{}", rate.get()),
            Self::Ensemble => f.write_str("ensemble"),
        }
    }
}

impl FromStr for Contender {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let method = MethodName::ALL.into_iter().find(|method| method.name() == word && !method.batched());
        match (word, method) {
            (_, Some(method)) if method.is_riemannian() => Ok(Self::Geodesics(method, rest.parse()?)),
            (_, Some(method)) if rest.is_empty() && method != MethodName::Map => Ok(Self::Straight(method)),
            ("nuts", _) if rest.is_empty() => Ok(Self::Nuts),
            ("swag", _) if rest.is_empty() => Ok(Self::Swag(None)),
            ("swag", _) if rest.starts_with(RATE) => Ok(Self::Swag(Some(rest[RATE.len()..].parse()?))),
            ("ensemble", _) if rest.is_empty() => Ok(Self::Ensemble),
            _ => Err(format!(
                "there is no method {text}; there are la, lin-la, nuts, swag, ensemble, and riem-la and \
                 lin-riem-la with a setting, as in riem-la virial"
            )),
        }
    }
}

impl TryFrom<String> for Contender {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Contender> for String {
    fn from(contender: Contender) -> Self {
        contender.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_others_are_refused() {
        for name in [
            "la",
            "lin-la",
            "riem-la a=0.5",
            "lin-riem-la virial",
            "riem-la fisher",
            "nuts",
            "swag",
            "swag rate=0.1",
        ] {
            assert_eq!(name.parse::<Contender>().expect(name).name(), name);
        }
        for name in [
            "map",
            "riem-la",
            "la virial",
            "nuts 3",
            "swag 3",
            "swag rate=x",
            "riem-la-batches virial",
            "riem-la viral",
            "",
        ] {
            assert!(name.parse::<Contender>().is_err(), "{name}");
        }
    }
}
