//! Inputs with class labels or real targets, checked once at construction.

use crate::error::check_finite;
use crate::{Error, Result};

/// What a network is to predict.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// A class index per sample.
    Classes(Vec<usize>),
    /// Real targets, row-major samples × outputs.
    Values {
        /// The numbers.
        values: Vec<f64>,
        /// How many per sample.
        outputs: usize,
    },
}

impl Targets {
    /// Number of samples.
    pub fn len(&self) -> usize {
        match self {
            Targets::Classes(labels) => labels.len(),
            Targets::Values { values, outputs } => values.len() / (*outputs).max(1),
        }
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A finite data set: N samples with D inputs each, and their targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    inputs: Vec<f64>,
    features: usize,
    targets: Targets,
}

impl Dataset {
    /// Checks and takes row-major inputs (samples × features) and their targets.
    pub fn new(inputs: Vec<f64>, features: usize, targets: Targets) -> Result<Self> {
        if features == 0 {
            return Err(Error::range("number of features", 0, "at least 1"));
        }
        let n = inputs.len() / features;
        if n == 0 {
            return Err(Error::range("number of samples", 0, "at least 1"));
        }
        if inputs.len() != n * features {
            let expected = format!("a multiple of {features} numbers (rows × features)");
            return Err(Error::shape("inputs", expected, inputs.len()));
        }
        check_finite("inputs", &inputs)?;
        if let Targets::Values { values, outputs } = &targets {
            if *outputs == 0 || values.len() != n * outputs {
                return Err(Error::shape(
                    "targets",
                    format!("{n} samples × {outputs} outputs"),
                    values.len(),
                ));
            }
            check_finite("targets", values)?;
        }
        if targets.len() != n {
            return Err(Error::shape("targets", format!("{n} (one per input row)"), targets.len()));
        }
        Ok(Self { inputs, features, targets })
    }

    /// Inputs with class labels.
    pub fn classification(inputs: Vec<f64>, features: usize, labels: Vec<usize>) -> Result<Self> {
        Self::new(inputs, features, Targets::Classes(labels))
    }

    /// Inputs with real targets, row-major samples × outputs.
    pub fn regression(inputs: Vec<f64>, features: usize, values: Vec<f64>, outputs: usize) -> Result<Self> {
        Self::new(inputs, features, Targets::Values { values, outputs })
    }

    /// Number of samples N.
    pub fn len(&self) -> usize {
        self.inputs.len() / self.features
    }

    /// Never true: a data set has at least one sample.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Inputs per sample D.
    pub fn features(&self) -> usize {
        self.features
    }

    /// All inputs, row-major.
    pub fn inputs(&self) -> &[f64] {
        &self.inputs
    }

    /// All targets.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The class labels, if this is a classification set.
    pub fn labels(&self) -> Option<&[usize]> {
        match &self.targets {
            Targets::Classes(labels) => Some(labels),
            Targets::Values { .. } => None,
        }
    }

    /// The given rows, in that order.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        if let Some(&row) = rows.iter().find(|&&row| row >= self.len()) {
            return Err(Error::range("row", row, format!("below {}", self.len())));
        }
        let d = self.features;
        let inputs = rows.iter().flat_map(|&r| &self.inputs[r * d..(r + 1) * d]).copied().collect();
        let targets = match &self.targets {
            Targets::Classes(labels) => Targets::Classes(rows.iter().map(|&r| labels[r]).collect()),
            Targets::Values { values, outputs: c } => Targets::Values {
                values: rows.iter().flat_map(|&r| &values[r * c..(r + 1) * c]).copied().collect(),
                outputs: *c,
            },
        };
        Self::new(inputs, d, targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_is_a_typed_error() {
        let nan = Dataset::classification(vec![0.0, f64::NAN], 1, vec![0, 1]);
        assert!(matches!(nan, Err(Error::NotFinite { index: 1, .. })));
        let infinite = Dataset::regression(vec![0.0], 1, vec![f64::INFINITY], 1);
        assert!(matches!(infinite, Err(Error::NotFinite { .. })));
        assert!(Dataset::classification(vec![], 1, vec![]).is_err());
        assert!(Dataset::classification(vec![1.0], 0, vec![0]).is_err());
        assert!(matches!(Dataset::classification(vec![1.0; 3], 2, vec![0]), Err(Error::Shape { .. })));
        assert!(matches!(Dataset::classification(vec![1.0; 4], 2, vec![0]), Err(Error::Shape { .. })));
        assert!(matches!(Dataset::regression(vec![1.0; 4], 2, vec![0.0; 3], 2), Err(Error::Shape { .. })));
    }

    #[test]
    fn select_keeps_order_and_checks_rows() {
        let data = Dataset::regression(vec![1., 2., 3., 4.], 2, vec![10., 20.], 1).unwrap();
        let picked = data.select(&[1, 0, 1]).unwrap();
        assert_eq!(picked.inputs(), &[3., 4., 1., 2., 3., 4.]);
        assert!(data.select(&[2]).is_err());
    }
}
