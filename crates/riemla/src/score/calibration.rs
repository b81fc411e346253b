//! Calibration of the predicted class: reliability bins, expected and maximal calibration error.

use super::check::check_classified;
use super::top;
use crate::Result;
use crate::error::Error;
use serde::{Deserialize, Serialize};

/// Rows whose confidence (probability of the predicted class) is in (lower, upper].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Lower end of the bin, exclusive.
    pub lower: f64,
    /// Upper end of the bin, inclusive.
    pub upper: f64,
    /// Number of rows in the bin.
    pub count: usize,
    /// Mean confidence of these rows; 0 where there are none.
    pub confidence: f64,
    /// Fraction of these rows that are classified correctly; 0 where there are none.
    pub accuracy: f64,
}

impl ReliabilityBin {
    /// |accuracy − confidence|: 0 for an empty bin.
    pub fn gap(&self) -> f64 {
        (self.accuracy - self.confidence).abs()
    }
}

/// Sorts the rows into `bins` bins of equal width covering (0, 1].
pub fn reliability_bins(
    probabilities: &[f64],
    classes: usize,
    labels: &[usize],
    bins: usize,
) -> Result<Vec<ReliabilityBin>> {
    check_classified(probabilities, classes, labels)?;
    if bins == 0 {
        return Err(Error::range("number of bins", bins, "at least 1"));
    }
    let edge = |i: usize| i as f64 / bins as f64;
    let empty =
        |i| ReliabilityBin { lower: edge(i), upper: edge(i + 1), count: 0, confidence: 0.0, accuracy: 0.0 };
    let mut out: Vec<_> = (0..bins).map(empty).collect();
    for (p, &label) in probabilities.chunks_exact(classes).zip(labels) {
        let (class, confidence) = top(p);
        let bin = &mut out[bin_of(confidence, bins, edge)];
        bin.count += 1;
        bin.confidence += confidence.min(1.0);
        bin.accuracy += f64::from(u8::from(class == label));
    }
    for bin in out.iter_mut().filter(|b| b.count > 0) {
        bin.confidence /= bin.count as f64;
        bin.accuracy /= bin.count as f64;
    }
    Ok(out)
}

/// The i with edge(i) < confidence ≤ edge(i + 1), robust against rounding of confidence · bins.
fn bin_of(confidence: f64, bins: usize, edge: impl Fn(usize) -> f64) -> usize {
    let guess = ((confidence * bins as f64).ceil() as usize).clamp(1, bins) - 1;
    if guess > 0 && confidence <= edge(guess) {
        guess - 1
    } else if guess + 1 < bins && confidence > edge(guess + 1) {
        guess + 1
    } else {
        guess
    }
}

/// Expected calibration error in [0, 1]: mean over rows of the |accuracy − confidence| of their
/// bin. Smaller is better.
pub fn ece(probabilities: &[f64], classes: usize, labels: &[usize], bins: usize) -> Result<f64> {
    let all = reliability_bins(probabilities, classes, labels, bins)?;
    Ok(all.iter().map(|b| b.count as f64 * b.gap()).sum::<f64>() / labels.len() as f64)
}

/// Maximal calibration error in [0, 1]: the largest |accuracy − confidence| of any bin with rows.
/// Smaller is better.
pub fn mce(probabilities: &[f64], classes: usize, labels: &[usize], bins: usize) -> Result<f64> {
    let all = reliability_bins(probabilities, classes, labels, bins)?;
    Ok(all.iter().map(ReliabilityBin::gap).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Confidences 0.9, 0.8 (bin 5 of 5 and 4 of 5), 0.6, 0.6; right, wrong, right, wrong.
    const P: [f64; 8] = [0.9, 0.1, 0.2, 0.8, 0.6, 0.4, 0.4, 0.6];
    const LABELS: [usize; 4] = [0, 0, 0, 0];

    #[test]
    fn hand_values() {
        let bins = reliability_bins(&P, 2, &LABELS, 5).unwrap();
        let counts: Vec<usize> = bins.iter().map(|b| b.count).collect();
        assert_eq!(counts, [0, 0, 2, 1, 1]);
        assert_eq!((bins[2].lower, bins[2].upper), (0.4, 0.6));
        assert_eq!((bins[2].confidence, bins[2].accuracy), (0.6, 0.5));
        assert_eq!((bins[0].confidence, bins[0].accuracy), (0.0, 0.0));
        // (2 · 0.1 + 1 · 0.8 + 1 · 0.1) / 4
        assert!((ece(&P, 2, &LABELS, 5).unwrap() - 0.275).abs() < 1e-15);
        assert!((mce(&P, 2, &LABELS, 5).unwrap() - 0.8).abs() < 1e-15);
        // One bin: |0.5 − 0.725|.
        assert!((ece(&P, 2, &LABELS, 1).unwrap() - 0.225).abs() < 1e-15);
    }

    #[test]
    fn a_confidence_on_an_edge_belongs_to_the_bin_below() {
        for bins in 1..200usize {
            let edge = |i: usize| i as f64 / bins as f64;
            for i in 1..=bins {
                assert_eq!(bin_of(edge(i), bins, edge), i - 1);
                assert_eq!(bin_of(edge(i).next_up(), bins, edge), i.min(bins - 1));
            }
        }
    }

    #[test]
    fn calibrated_predictions_have_no_error_and_mistakes_are_refused() {
        let p = [0.75, 0.25].repeat(4);
        assert_eq!(ece(&p, 2, &[0, 0, 0, 1], 10), Ok(0.0));
        assert_eq!(mce(&p, 2, &[0, 0, 0, 1], 10), Ok(0.0));
        assert!(ece(&P, 2, &LABELS, 0).is_err());
        assert!(mce(&P, 2, &[0, 0, 0, 2], 5).is_err());
        assert!(reliability_bins(&P, 3, &LABELS, 5).is_err());
    }
}
