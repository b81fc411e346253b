//! Scores of several yes/no labels per row: probabilities of 1 and labels that are 0 or 1, both row-major N × labels.

use super::check::check_paired;
use super::{auroc, ece, mean};
use crate::{Error, Result};

fn check(probabilities: &[f64], labels: &[f64]) -> Result<()> {
    check_paired("probabilities", probabilities, labels)?;
    if let Some(place) = probabilities.iter().position(|p| !(0.0..=1.0 + 1e-12).contains(p)) {
        return Err(Error::range(format!("probability {place}"), probabilities[place], "from 0 to 1"));
    }
    match labels.iter().position(|y| *y != 0.0 && *y != 1.0) {
        None => Ok(()),
        Some(place) => Err(Error::range(format!("label {place}"), labels[place], "0 or 1")),
    }
}

/// Share of labels predicted right (1 above a probability of ½), over all rows and labels. Larger is better.
pub fn label_accuracy(probabilities: &[f64], labels: &[f64]) -> Result<f64> {
    check(probabilities, labels)?;
    let right = |(p, y): (&f64, &f64)| f64::from(u8::from((*p > 0.5) == (*y > 0.5)));
    Ok(mean(probabilities.iter().zip(labels).map(right)))
}

/// Mean over rows and labels of −log of the probability of the true value, in nats. Smaller is better.
pub fn label_nll(probabilities: &[f64], labels: &[f64]) -> Result<f64> {
    check(probabilities, labels)?;
    let loss = |(p, y): (&f64, &f64)| if *y > 0.5 { -p.ln() } else { -(-p.min(1.0)).ln_1p() };
    Ok(mean(probabilities.iter().zip(labels).map(loss)))
}

/// Mean over rows and labels of (p − y)². Smaller is better.
pub fn label_brier(probabilities: &[f64], labels: &[f64]) -> Result<f64> {
    check(probabilities, labels)?;
    Ok(mean(probabilities.iter().zip(labels).map(|(p, y)| (p - y).powi(2))))
}

/// Expected calibration error of all labels together, each a classification of two classes. Smaller is better.
pub fn label_ece(probabilities: &[f64], labels: &[f64], bins: usize) -> Result<f64> {
    check(probabilities, labels)?;
    let pairs: Vec<f64> = probabilities.iter().flat_map(|p| [1.0 - p.min(1.0), p.min(1.0)]).collect();
    let classes: Vec<usize> = labels.iter().map(|y| usize::from(*y > 0.5)).collect();
    ece(&pairs, 2, &classes, bins)
}

/// Mean over the labels of the areas under their ROC curves. Labels that are all 0 or all 1 have none and are left out;
/// if all are, it is that of chance, ½. Larger is better.
pub fn macro_auroc(probabilities: &[f64], labels: &[f64], width: usize) -> Result<f64> {
    check(probabilities, labels)?;
    let area = |k: usize| {
        let pick = |wanted: f64| -> Vec<f64> {
            let entries = probabilities.iter().zip(labels).skip(k).step_by(width);
            entries.filter(|(_, y)| **y == wanted).map(|(p, _)| *p).collect()
        };
        let (positives, negatives) = (pick(1.0), pick(0.0));
        if positives.is_empty() || negatives.is_empty() {
            Ok(None)
        } else {
            auroc(&positives, &negatives).map(Some)
        }
    };
    let areas: Vec<Option<f64>> = (0..width).map(area).collect::<Result<_>>()?;
    let defined: Vec<f64> = areas.into_iter().flatten().collect();
    Ok(if defined.is_empty() { 0.5 } else { mean(defined.iter().copied()) })
}
