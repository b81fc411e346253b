//! Predictions that may be withheld: the risk of those that are kept against their share.

use serde::Serialize;

use super::check::check_values;
use crate::error::check_len;
use crate::{Error, Result};

/// One operating point: predictions with an uncertainty of at most `threshold` are kept, the others withheld.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RiskPoint {
    /// Largest uncertainty of a prediction that is kept.
    pub threshold: f64,
    /// Share of predictions that are kept.
    pub coverage: f64,
    /// Mean loss of those that are kept: their error rate, if a loss is 1 for wrong and 0 for right.
    pub risk: f64,
}

/// The risk-coverage curve: one point per distinct uncertainty, from the surest predictions to all of them.
///
/// `losses` are those of the predictions (1 for wrong, 0 for right; or squared errors).
pub fn risk_coverage(losses: &[f64], uncertainties: &[f64]) -> Result<Vec<RiskPoint>> {
    check_values("losses", losses)?;
    check_values("uncertainties", uncertainties)?;
    check_len("uncertainties", losses.len(), uncertainties.len())?;
    let mut all: Vec<(f64, f64)> = uncertainties.iter().copied().zip(losses.iter().copied()).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut kept, mut total) = (0, 0.0);
    let points = all.chunk_by(|a, b| a.0 == b.0).map(|group| {
        kept += group.len();
        total += group.iter().map(|(_, loss)| loss).sum::<f64>();
        RiskPoint {
            threshold: group[0].0,
            coverage: kept as f64 / losses.len() as f64,
            risk: total / kept as f64,
        }
    });
    Ok(points.collect())
}

/// Area under the risk-coverage curve: the mean risk over all shares of kept predictions. Smaller is better; with
/// uncertainties that say nothing it is the risk of all predictions.
pub fn aurc(losses: &[f64], uncertainties: &[f64]) -> Result<f64> {
    let points = risk_coverage(losses, uncertainties)?;
    let before = std::iter::once(0.0).chain(points.iter().map(|point| point.coverage));
    Ok(points.iter().zip(before).map(|(point, before)| point.risk * (point.coverage - before)).sum())
}

/// The point that keeps most predictions at an error rate of at most `rate`, judged on rows that neither training
/// nor the report uses. A rate is estimated as (errors + 1)/(kept + 1), so that a few rows that happen to be right
/// do not count as proof.
pub fn threshold_for_rate(losses: &[f64], uncertainties: &[f64], rate: f64) -> Result<RiskPoint> {
    if !(rate > 0.0 && rate < 1.0) {
        return Err(Error::range("error rate", rate, "between 0 and 1"));
    }
    let points = risk_coverage(losses, uncertainties)?;
    let careful = |point: &RiskPoint| {
        let kept = point.coverage * losses.len() as f64;
        (point.risk * kept + 1.0) / (kept + 1.0)
    };
    let lowest = points.iter().map(careful).fold(f64::INFINITY, f64::min);
    points.into_iter().rev().find(|point| careful(point) <= rate).ok_or_else(|| {
        Error::Unsupported(format!(
            "no threshold keeps the error rate at {rate} or below on the {} held-out rows (the lowest that can be \
             shown with them is {lowest:.3}): hold out more rows, or accept a higher rate",
            losses.len()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hand_values() {
        // By uncertainty: right, wrong and right (tied), wrong.
        let (losses, doubts) = ([1.0, 0.0, 0.0, 1.0], [0.2, 0.1, 0.2, 0.4]);
        let curve = risk_coverage(&losses, &doubts).unwrap();
        let found: Vec<_> = curve.iter().map(|p| (p.threshold, p.coverage, p.risk)).collect();
        assert_eq!(found, [(0.1, 0.25, 0.0), (0.2, 0.75, 1.0 / 3.0), (0.4, 1.0, 0.5)]);
        assert!((aurc(&losses, &doubts).unwrap() - (0.5 / 3.0 + 0.25 * 0.5)).abs() < 1e-15);
    }

    #[test]
    fn a_threshold_keeps_the_rate_and_few_rows_prove_little() {
        let doubts: Vec<f64> = (0..100).map(f64::from).collect();
        let losses: Vec<f64> = (0..100).map(|i| f64::from(i >= 60 && i % 2 == 0)).collect();
        let point = threshold_for_rate(&losses, &doubts, 0.05).unwrap();
        // (errors + 1)/(kept + 1) is 3/64 with 63 rows kept, 4/66 with 65.
        assert_eq!((point.threshold, point.coverage), (63.0, 0.64));
        let message = threshold_for_rate(&losses[..10], &doubts[..10], 0.05).unwrap_err().to_string();
        assert!(message.contains("10 held-out rows") && message.contains("0.091"), "{message}");
        assert!(threshold_for_rate(&losses, &doubts, 0.0).is_err());
        assert!(risk_coverage(&[], &[]).is_err() && risk_coverage(&[1.0], &[1.0, 2.0]).is_err());
    }

    proptest! {
        #[test]
        fn laws(rows in prop::collection::vec((0u8..2, 0u8..6), 1..50)) {
            let losses: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let doubts: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let curve = risk_coverage(&losses, &doubts).unwrap();
            let all = losses.iter().sum::<f64>() / losses.len() as f64;
            let last = curve.last().unwrap();
            prop_assert!(last.coverage == 1.0 && (last.risk - all).abs() < 1e-12, "all rows in the end");
            for point in &curve {
                let kept: Vec<f64> = (0..losses.len()).filter(|i| doubts[*i] <= point.threshold).map(|i| losses[i]).collect();
                prop_assert!((point.risk - kept.iter().sum::<f64>() / kept.len() as f64).abs() < 1e-12);
                prop_assert!((point.coverage - kept.len() as f64 / losses.len() as f64).abs() < 1e-12);
            }
            // Nothing is better than to be unsure of what is wrong.
            let oracle: Vec<f64> = losses.iter().enumerate().map(|(i, loss)| loss + 1e-6 * i as f64).collect();
            prop_assert!(aurc(&losses, &oracle).unwrap() <= aurc(&losses, &doubts).unwrap() + 1e-12);
            let flat = vec![1.0; losses.len()];
            prop_assert!((aurc(&losses, &flat).unwrap() - all).abs() < 1e-12, "uncertainties that say nothing");
        }
    }
}
