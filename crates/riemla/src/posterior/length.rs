//! How far draws on batches go: to the ends of their geodesics, or only so far that the loss of all rows is right.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Posterior;
use crate::{Error, Result};

/// The length of draws on batches: a draw is θ* + s(end − θ*), with the end of its geodesic and a factor s for all draws.
///
/// A geodesic of a batch avoids the rises of its own rows and ignores those of the others, so that its end lies too high
/// on the loss of all rows (docs/decisions/0027-batches.md). In files and on the command line: `full`, `auto`, or the factor.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "NumberOrWord", into = "NumberOrWord")]
pub enum BatchLength {
    /// s = 1: the ends of the geodesics, as in the paper.
    #[default]
    Full,
    /// The largest s up to 1 at which the virial ratio on all rows is 1 ([`Posterior::virial_ratio`]), found once per seed
    /// with the first draws.
    Auto,
    /// This s, above 0 and at most 1.
    Factor(f64),
}

impl BatchLength {
    /// Whether draws are the ends of their geodesics by definition.
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }

    /// The factor, unless it is to be found.
    pub fn factor(self) -> Option<f64> {
        match self {
            Self::Full => Some(1.0),
            Self::Auto => None,
            Self::Factor(factor) => Some(factor),
        }
    }

    /// Checks the factor.
    pub(super) fn validate(self) -> Result<()> {
        match self.factor() {
            Some(factor) if !(factor > 0.0 && factor <= 1.0) => {
                Err(Error::range("length of draws on batches", factor, RANGE))
            }
            _ => Ok(()),
        }
    }
}

const RANGE: &str = "auto, full, or a factor above 0 and at most 1";

/// What a length is in files.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NumberOrWord {
    Number(f64),
    Word(String),
}

impl TryFrom<NumberOrWord> for BatchLength {
    type Error = Error;

    fn try_from(value: NumberOrWord) -> Result<Self> {
        let length = match value {
            NumberOrWord::Word(word) => return word.parse(),
            NumberOrWord::Number(factor) => Self::Factor(factor),
        };
        length.validate().map(|()| length)
    }
}

impl From<BatchLength> for NumberOrWord {
    fn from(length: BatchLength) -> Self {
        match length {
            BatchLength::Factor(factor) => Self::Number(factor),
            word => Self::Word(word.to_string()),
        }
    }
}

impl fmt::Display for BatchLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.pad("full"),
            Self::Auto => f.pad("auto"),
            Self::Factor(factor) => write!(f, "{factor}"),
        }
    }
}

impl FromStr for BatchLength {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "full" => Ok(Self::Full),
            "auto" => Ok(Self::Auto),
            number => {
                let unknown = |_| Error::range("length of draws on batches", text, RANGE);
                let length = Self::Factor(number.parse().map_err(unknown)?);
                length.validate().map(|()| length)
            }
        }
    }
}

impl Posterior {
    /// Whether the length of the draws has yet to be found. A batch of all rows is none.
    pub(super) fn finds_length(&self) -> Result<bool> {
        let auto = self.config.batch.is_some_and(|plan| plan.length == BatchLength::Auto);
        Ok(auto && self.batch_rows()? != self.model.rows())
    }

    /// The end of a geodesic, moved towards θ* by `factor`.
    pub(super) fn shortened(&self, mut end: Vec<f64>, factor: f64) -> Vec<f64> {
        // Not by arithmetic: 1·(end − θ*) + θ* has other bits than the end.
        if factor < 1.0 {
            for (end, center) in end.iter_mut().zip(self.gaussian.theta()) {
                *end = center + factor * (*end - center);
            }
        }
        end
    }
}
