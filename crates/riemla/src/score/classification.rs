//! Scores of class probabilities against labels: accuracy, log loss, Brier score.

use super::check::check_classified;
use super::{mean, top};
use crate::Result;

/// Fraction in [0, 1] of rows whose most probable class (the first among equals) is the label.
/// Larger is better.
pub fn accuracy(probabilities: &[f64], classes: usize, labels: &[usize]) -> Result<f64> {
    check_classified(probabilities, classes, labels)?;
    let rows = probabilities.chunks_exact(classes).zip(labels);
    Ok(mean(rows.map(|(p, &label)| f64::from(u8::from(top(p).0 == label)))))
}

/// Mean of −log p(label), in nats. Smaller is better.
///
/// A probability of zero counts as the smallest positive normal number, so that one impossible
/// label costs 708 and not infinity.
pub fn nll(probabilities: &[f64], classes: usize, labels: &[usize]) -> Result<f64> {
    check_classified(probabilities, classes, labels)?;
    let rows = probabilities.chunks_exact(classes).zip(labels);
    Ok(mean(rows.map(|(p, &label)| -p[label].clamp(f64::MIN_POSITIVE, 1.0).ln())))
}

/// Mean over rows of Σ_c (p_c − [c = label])², from 0 to 2. Smaller is better.
pub fn brier(probabilities: &[f64], classes: usize, labels: &[usize]) -> Result<f64> {
    check_classified(probabilities, classes, labels)?;
    let rows = probabilities.chunks_exact(classes).zip(labels);
    Ok(mean(rows.map(|(p, &label)| {
        let truth = |c| f64::from(u8::from(c == label));
        p.iter().enumerate().map(|(c, p)| (p - truth(c)).powi(2)).sum::<f64>()
    })))
}

/// [`brier`] divided by the number of classes: the mean over rows and classes that some papers
/// report. Smaller is better.
pub fn brier_per_class(probabilities: &[f64], classes: usize, labels: &[usize]) -> Result<f64> {
    Ok(brier(probabilities, classes, labels)? / classes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: [f64; 6] = [0.7, 0.2, 0.1, 0.3, 0.3, 0.4];

    #[test]
    fn hand_values() {
        assert_eq!(accuracy(&P, 3, &[0, 1]), Ok(0.5));
        assert_eq!(accuracy(&[0.5, 0.5], 2, &[0]), Ok(1.0));
        assert!((nll(&P, 3, &[0, 1]).unwrap() + 0.5 * (0.7f64 * 0.3).ln()).abs() < 1e-15);
        // (0.09 + 0.04 + 0.01 + 0.09 + 0.49 + 0.16) / 2
        assert!((brier(&P, 3, &[0, 1]).unwrap() - 0.44).abs() < 1e-15);
        assert!((brier_per_class(&P, 3, &[0, 1]).unwrap() - 0.44 / 3.0).abs() < 1e-15);
        assert_eq!(brier(&[0.0, 1.0], 2, &[0]), Ok(2.0));
    }

    #[test]
    fn an_impossible_label_costs_a_finite_amount() {
        let cost = nll(&[1.0, 0.0], 2, &[1]).unwrap();
        assert!((cost - 708.396).abs() < 1e-3, "{cost}");
        assert_eq!(nll(&[1.0 + 2e-16, 0.0], 2, &[0]), Ok(0.0));
    }

    #[test]
    fn nll_and_brier_are_proper() {
        // Ten labels with frequencies exactly `truth`: the mean is the expectation under it.
        let truth = [0.5, 0.3, 0.2];
        let labels = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2];
        for score in [nll, brier, brier_per_class] {
            let of = |p: [f64; 3]| score(&p.repeat(10), 3, &labels).unwrap();
            let best = of(truth);
            for i in 0..=50 {
                for j in 0..=50 - i {
                    let p = [f64::from(i) / 50.0, f64::from(j) / 50.0, f64::from(50 - i - j) / 50.0];
                    let distance: f64 = p.iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum();
                    assert!(distance < 1e-20 || of(p) > best + 0.2 * distance, "{p:?}");
                }
            }
        }
    }

    #[test]
    fn mistakes_are_refused_by_all() {
        for score in [accuracy, nll, brier, brier_per_class] {
            assert!(score(&P, 3, &[0, 3]).is_err());
            assert!(score(&P, 3, &[0]).is_err());
            assert!(score(&[], 3, &[]).is_err());
            assert!(score(&[0.5, 0.6], 2, &[0]).is_err());
        }
    }
}
