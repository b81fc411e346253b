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

/// A finite data set: N samples with D inputs each, their targets, and possibly a weight each.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    inputs: Vec<f64>,
    features: usize,
    targets: Targets,
    weights: Option<Vec<f64>>,
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
        Ok(Self { inputs, features, targets, weights: None })
    }

    /// Inputs with class labels.
    pub fn classification(inputs: Vec<f64>, features: usize, labels: Vec<usize>) -> Result<Self> {
        Self::new(inputs, features, Targets::Classes(labels))
    }

    /// Inputs with real targets, row-major samples × outputs.
    pub fn regression(inputs: Vec<f64>, features: usize, values: Vec<f64>, outputs: usize) -> Result<Self> {
        Self::new(inputs, features, Targets::Values { values, outputs })
    }

    /// The same with a weight per sample, which multiplies its term in the loss: 2 counts as two equal samples, 0 as none.
    pub fn with_weights(self, weights: Vec<f64>) -> Result<Self> {
        crate::error::check_len("weights of samples", self.len(), weights.len())?;
        check_finite("weights of samples", &weights)?;
        if let Some(weight) = weights.iter().find(|weight| **weight < 0.0) {
            return Err(Error::range("weight of a sample", weight, "at least 0"));
        }
        if weights.iter().all(|weight| *weight == 0.0) {
            return Err(Error::range("weights of samples", 0.0, "above 0 for at least one sample"));
        }
        Ok(Self { weights: Some(weights), ..self })
    }

    /// The same with a weight per class; weights of samples are multiplied by those of their classes.
    pub fn with_class_weights(self, weights: &[f64]) -> Result<Self> {
        let weight = |(row, label): (usize, &usize)| match weights.get(*label) {
            Some(weight) => Ok(weight * self.weights.as_ref().map_or(1.0, |weights| weights[row])),
            None => Err(Error::range("class of a sample", label, format!("below {}", weights.len()))),
        };
        let of_samples = self.class_labels()?.iter().enumerate().map(weight).collect::<Result<_>>()?;
        self.with_weights(of_samples)
    }

    /// Weights of the classes that give each the same influence: N/(C·Nₖ) for class k, of C classes that occur; 1 for
    /// the others.
    pub fn balanced_weights(&self, classes: usize) -> Result<Vec<f64>> {
        let labels = self.class_labels()?;
        let count = |k: usize| labels.iter().filter(|label| **label == k).count();
        let counts: Vec<usize> = (0..classes).map(count).collect();
        let occurring = counts.iter().filter(|count| **count > 0).count();
        let weight = |count: &usize| match count {
            0 => 1.0,
            count => labels.len() as f64 / (occurring * count) as f64,
        };
        Ok(counts.iter().map(weight).collect())
    }

    fn class_labels(&self) -> Result<&[usize]> {
        let real = || Error::Unsupported("weights of classes are not for real targets".into());
        self.labels().ok_or_else(real)
    }

    /// The weights of the samples; none if all count once.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
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
        let selected = Self::new(inputs, d, targets)?;
        match &self.weights {
            Some(weights) => selected.with_weights(rows.iter().map(|&r| weights[r]).collect()),
            None => Ok(selected),
        }
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
    fn weights_are_checked_selected_and_balanced() {
        let data = || Dataset::classification(vec![1., 2., 3., 4.], 1, vec![0, 0, 2, 0]).unwrap();
        assert!(data().with_weights(vec![1.0; 3]).is_err() && data().with_weights(vec![0.0; 4]).is_err());
        assert!(data().with_weights(vec![1., -1., 1., 1.]).is_err());
        assert!(data().with_weights(vec![1., f64::NAN, 1., 1.]).is_err());
        // Two classes occur: 4/(2·3) and 4/(2·1).
        let balanced = data().balanced_weights(3).unwrap();
        assert_eq!(balanced, [2. / 3., 1., 2.]);
        let of_samples = data().with_class_weights(&balanced).unwrap();
        assert_eq!(of_samples.weights(), Some(&[2. / 3., 2. / 3., 2., 2. / 3.][..]));
        assert!(data().with_class_weights(&[1.0, 2.0]).is_err());
        let both =
            data().with_weights(vec![1., 2., 3., 4.]).unwrap().with_class_weights(&[10., 1., 0.5]).unwrap();
        assert_eq!(both.weights(), Some(&[10., 20., 1.5, 40.][..]));
        let weighted = data().with_weights(vec![1., 2., 3., 4.]).unwrap();
        assert_eq!(weighted.select(&[3, 0]).unwrap().weights(), Some(&[4.0, 1.0][..]));
        assert!(Dataset::regression(vec![1.0], 1, vec![1.0], 1).unwrap().balanced_weights(1).is_err());
    }

    #[test]
    fn select_keeps_order_and_checks_rows() {
        let data = Dataset::regression(vec![1., 2., 3., 4.], 2, vec![10., 20.], 1).unwrap();
        let picked = data.select(&[1, 0, 1]).unwrap();
        assert_eq!(picked.inputs(), &[3., 4., 1., 2., 3., 4.]);
        assert!(data.select(&[2]).is_err());
    }
}
