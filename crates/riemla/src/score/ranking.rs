//! Separation of two sets of values by a threshold: ROC curve and the area under it.

use super::check::check_values;
use crate::Result;
use serde::Serialize;

/// One operating point: values at or above `threshold` are called positive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RocPoint {
    /// The threshold; +∞ at the first point of a curve, where nothing is called positive.
    pub threshold: f64,
    /// Fraction of the negatives called positive.
    pub false_positive_rate: f64,
    /// Fraction of the positives called positive.
    pub true_positive_rate: f64,
}

/// Probability that a value from `positives` exceeds one from `negatives`, ties counting half:
/// the area under the ROC curve, in [0, 1]. Larger is better, ½ is chance. O(n log n).
///
/// For out-of-distribution detection by entropy, hand in the entropies of the
/// out-of-distribution points as positives.
pub fn auroc(positives: &[f64], negatives: &[f64]) -> Result<f64> {
    let groups = tied_groups(positives, negatives)?;
    let (mut below, mut twice) = (0.0, 0.0);
    for group in groups.iter().rev() {
        twice += group.positives * (2.0 * below + group.negatives);
        below += group.negatives;
    }
    Ok(twice / (2.0 * positives.len() as f64 * negatives.len() as f64))
}

/// The ROC curve from (0, 0) to (1, 1): one point per distinct value, thresholds falling.
pub fn roc_curve(positives: &[f64], negatives: &[f64]) -> Result<Vec<RocPoint>> {
    let groups = tied_groups(positives, negatives)?;
    let (n_pos, n_neg) = (positives.len() as f64, negatives.len() as f64);
    let (mut hits, mut alarms) = (0.0, 0.0);
    let mut curve = Vec::with_capacity(groups.len() + 1);
    curve.push(RocPoint { threshold: f64::INFINITY, false_positive_rate: 0.0, true_positive_rate: 0.0 });
    for group in groups {
        hits += group.positives;
        alarms += group.negatives;
        curve.push(RocPoint {
            threshold: group.value,
            false_positive_rate: alarms / n_neg,
            true_positive_rate: hits / n_pos,
        });
    }
    Ok(curve)
}

/// How many positives and negatives have the same value.
struct Group {
    value: f64,
    positives: f64,
    negatives: f64,
}

/// The distinct values, falling, with their counts.
fn tied_groups(positives: &[f64], negatives: &[f64]) -> Result<Vec<Group>> {
    check_values("positives", positives)?;
    check_values("negatives", negatives)?;
    let mut all: Vec<(f64, bool)> = positives.iter().map(|v| (*v, true)).collect();
    all.extend(negatives.iter().map(|v| (*v, false)));
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    // `==` and not the bits decides about a tie: −0 and 0 are equal.
    let groups = all.chunk_by(|a, b| a.0 == b.0).map(|chunk| {
        let count = chunk.iter().filter(|v| v.1).count();
        Group { value: chunk[0].0, positives: count as f64, negatives: (chunk.len() - count) as f64 }
    });
    Ok(groups.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hand_values() {
        assert_eq!(auroc(&[3.0, 4.0], &[1.0, 2.0]), Ok(1.0));
        assert_eq!(auroc(&[1.0, 2.0], &[3.0, 4.0]), Ok(0.0));
        assert_eq!(auroc(&[1.0], &[1.0]), Ok(0.5));
        // Pairs: 2>1, 2=2 (½), 0<1, 0<2.
        assert_eq!(auroc(&[2.0, 0.0], &[1.0, 2.0]), Ok(0.375));
        assert_eq!(auroc(&[0.0], &[-0.0]), Ok(0.5));
    }

    #[test]
    fn mistakes_are_refused() {
        assert!(auroc(&[], &[1.0]).is_err());
        assert!(auroc(&[1.0], &[]).is_err());
        assert!(auroc(&[1.0], &[f64::NAN]).is_err());
        assert!(roc_curve(&[f64::INFINITY], &[1.0]).is_err());
    }

    #[test]
    fn curve_hand_values() {
        let curve = roc_curve(&[2.0, 0.0], &[1.0, 2.0]).unwrap();
        let rates: Vec<_> = curve.iter().map(|p| (p.false_positive_rate, p.true_positive_rate)).collect();
        assert_eq!(rates, [(0.0, 0.0), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0)]);
        let thresholds: Vec<_> = curve.iter().map(|p| p.threshold).collect();
        assert_eq!(thresholds, [f64::INFINITY, 2.0, 1.0, 0.0]);
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-8i32..8).prop_map(|v| f64::from(v) / 4.0), 1..40)
    }

    proptest! {
        #[test]
        fn laws(a in values(), b in values()) {
            let area = auroc(&a, &b).unwrap();
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            let wins: f64 = pairs.map(|(x, y)| if x > y { 1.0 } else if x == y { 0.5 } else { 0.0 }).sum();
            prop_assert!((area - wins / (a.len() * b.len()) as f64).abs() < 1e-14, "counting pairs");
            prop_assert!((area + auroc(&b, &a).unwrap() - 1.0).abs() < 1e-14, "swapping");
            let map = |v: &[f64]| -> Vec<f64> { v.iter().map(|x| (3.0 * x).exp() - 7.0).collect() };
            prop_assert_eq!(area, auroc(&map(&a), &map(&b)).unwrap(), "monotone transformation");
            let curve = roc_curve(&a, &b).unwrap();
            let under: f64 = curve.windows(2).map(|w| {
                let width = w[1].false_positive_rate - w[0].false_positive_rate;
                width * 0.5 * (w[0].true_positive_rate + w[1].true_positive_rate)
            }).sum();
            prop_assert!((area - under).abs() < 1e-13, "area under the curve");
        }
    }
}
