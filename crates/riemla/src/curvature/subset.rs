//! Which weights are uncertain; the others stay at their trained values.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::nn::Network;
use crate::{Error, Result};

/// A choice of weights.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subset {
    /// All weights.
    #[default]
    All,
    /// Weights and bias of the last layer.
    LastLayer,
    /// The named parameter tensors, for example `"0.weight"`.
    Parameters(Vec<String>),
}

/// The chosen weights as ascending, disjoint ranges of the flat vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubsetRanges(Vec<Range<usize>>);

impl Subset {
    /// Resolves the choice for a network.
    pub fn ranges(&self, network: &Network) -> Result<SubsetRanges> {
        let names = match self {
            Subset::All => return Ok(SubsetRanges::all(network.dim())),
            Subset::LastLayer => return Ok(SubsetRanges(std::iter::once(network.last_layer()).collect())),
            Subset::Parameters(names) => names,
        };
        let known = || network.parameters().iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(name) = names.iter().find(|name| network.parameters().iter().all(|p| p.name != **name)) {
            return Err(Error::range("parameter name in the subset", name, format!("one of {}", known())));
        }
        let chosen = network.parameters().iter().filter(|p| names.contains(&p.name));
        let ranges: Vec<_> = chosen.map(|p| p.range.clone()).collect();
        if ranges.is_empty() {
            return Err(Error::range("subset of weights", "empty", format!("some of {}", known())));
        }
        Ok(SubsetRanges(ranges))
    }
}

impl SubsetRanges {
    /// All of `dim` weights.
    pub fn all(dim: usize) -> Self {
        Self(std::iter::once(0..dim).collect())
    }

    /// The same weights counted from `first` on; none if one of them comes before it.
    pub(super) fn after(&self, first: usize) -> Option<Self> {
        let shifted =
            |range: &Range<usize>| Some(range.start.checked_sub(first)?..range.end.checked_sub(first)?);
        self.0.iter().map(shifted).collect::<Option<_>>().map(Self)
    }

    /// The ranges.
    pub fn as_slice(&self) -> &[Range<usize>] {
        &self.0
    }

    /// Number of chosen weights.
    pub fn len(&self) -> usize {
        self.0.iter().map(Range::len).sum()
    }

    /// Whether no weight is chosen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Positions of the chosen weights in the flat vector, in order.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// The chosen entries of a full vector.
    pub fn gather(&self, full: &[f64]) -> Vec<f64> {
        self.indices().map(|k| full[k]).collect()
    }

    /// Writes chosen entries into a full vector of zeros.
    pub fn scatter(&self, chosen: &[f64], dim: usize) -> Vec<f64> {
        let mut full = vec![0.0; dim];
        for (k, v) in self.indices().zip(chosen) {
            full[k] = *v;
        }
        full
    }
}
