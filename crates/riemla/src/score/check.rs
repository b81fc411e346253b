//! Checks of the input that all scores share.

use crate::error::{Error, Result, check_finite, check_len};

/// Largest accepted deviation of a row of probabilities from sum 1.
const SUM_TOLERANCE: f64 = 1e-6;
/// By how much rounding may carry a probability (an average of softmax outputs, say) beyond 1.
const ROUNDING: f64 = 1e-12;

/// Checks an N × C slice of probabilities and returns N.
pub(super) fn check_probabilities(probabilities: &[f64], classes: usize) -> Result<usize> {
    if classes == 0 {
        return Err(Error::range("number of classes", 0, "at least 1"));
    }
    check_not_empty("probabilities", probabilities)?;
    if !probabilities.len().is_multiple_of(classes) {
        let expected = format!("a multiple of {classes} classes");
        return Err(Error::shape("probabilities", expected, probabilities.len()));
    }
    check_finite("probabilities", probabilities)?;
    for (row, p) in probabilities.chunks_exact(classes).enumerate() {
        if let Some(c) = p.iter().position(|v| !(0.0..=1.0 + ROUNDING).contains(v)) {
            return Err(Error::range(format!("probability of class {c} in row {row}"), p[c], "from 0 to 1"));
        }
        let sum: f64 = p.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::range(format!("sum of the probabilities in row {row}"), sum, "1 within 1e-6"));
        }
    }
    Ok(probabilities.len() / classes)
}

/// Checks probabilities (N × C) and their labels (N).
pub(super) fn check_classified(probabilities: &[f64], classes: usize, labels: &[usize]) -> Result<()> {
    let rows = check_probabilities(probabilities, classes)?;
    check_len("labels", rows, labels.len())?;
    match labels.iter().position(|l| *l >= classes) {
        None => Ok(()),
        Some(row) => Err(Error::Label { row, label: labels[row], classes }),
    }
}

/// Checks that there is at least one entry.
pub(super) fn check_not_empty(what: &str, values: &[f64]) -> Result<()> {
    if values.is_empty() { Err(Error::shape(what, "at least one entry", 0)) } else { Ok(()) }
}

/// Checks that there is at least one entry and that all are finite.
pub(super) fn check_values(what: &str, values: &[f64]) -> Result<()> {
    check_not_empty(what, values)?;
    check_finite(what, values)
}

/// Checks two paired slices: not empty, equally long, finite.
pub(super) fn check_paired(what: &str, values: &[f64], targets: &[f64]) -> Result<()> {
    check_values("targets", targets)?;
    check_len(what, targets.len(), values.len())?;
    check_finite(what, values)
}

/// Checks that every variance is finite and above zero.
pub(super) fn check_variances(variances: &[f64], count: usize) -> Result<()> {
    check_len("variances", count, variances.len())?;
    check_finite("variances", variances)?;
    match variances.iter().position(|v| *v <= 0.0) {
        None => Ok(()),
        Some(i) => Err(Error::range(format!("variance {i}"), variances[i], "above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_has_its_error() {
        let ok = [0.5, 0.5, 1.0, 0.0];
        assert!(check_classified(&ok, 2, &[0, 1]).is_ok());
        assert!(matches!(check_probabilities(&ok, 0), Err(Error::Range { .. })));
        assert!(matches!(check_probabilities(&[], 2), Err(Error::Shape { .. })));
        assert!(matches!(check_probabilities(&ok, 3), Err(Error::Shape { .. })));
        assert!(matches!(check_classified(&ok, 2, &[0]), Err(Error::Shape { .. })));
        assert_eq!(check_classified(&ok, 2, &[0, 2]), Err(Error::Label { row: 1, label: 2, classes: 2 }));
        let not_finite = check_probabilities(&[0.5, f64::NAN], 2);
        assert!(matches!(not_finite, Err(Error::NotFinite { index: 1, .. })));
    }

    #[test]
    fn probabilities_are_in_range_and_sum_to_one() {
        let negative = check_probabilities(&[0.5, 0.5, 1.1, -0.1], 2).unwrap_err().to_string();
        assert!(negative.contains("class 0 in row 1"), "{negative}");
        let sum = check_probabilities(&[0.5, 0.49], 2).unwrap_err().to_string();
        assert!(sum.contains("sum of the probabilities in row 0 is 0.99"), "{sum}");
        assert_eq!(check_probabilities(&[1.0 + 4e-16, 0.0, 0.25, 0.7500005], 2), Ok(2));
        assert!(check_probabilities(&[-1e-300, 1.0], 2).is_err());
    }

    #[test]
    fn pairs_and_variances_are_checked() {
        assert!(check_paired("means", &[1.0], &[2.0]).is_ok());
        assert!(matches!(check_paired("means", &[1.0], &[]), Err(Error::Shape { .. })));
        assert!(matches!(check_paired("means", &[1.0, 2.0], &[1.0]), Err(Error::Shape { .. })));
        assert!(matches!(check_paired("means", &[f64::INFINITY], &[1.0]), Err(Error::NotFinite { .. })));
        assert!(matches!(check_variances(&[1.0], 2), Err(Error::Shape { .. })));
        assert!(matches!(check_variances(&[1.0, 0.0], 2), Err(Error::Range { .. })));
        assert!(matches!(check_variances(&[1.0, f64::NAN], 2), Err(Error::NotFinite { index: 1, .. })));
    }
}
