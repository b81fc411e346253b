//! Whether out-of-distribution data are recognised by the uncertainty of the predictions.

use riemla::predict::Prediction;
use riemla::score::{Bootstrap, Interval, RocPoint, auroc, roc_curve};
use serde::Serialize;

use crate::scores::Doubts;

/// How well one method recognises one other kind of data.
#[derive(Debug, Clone, Serialize)]
pub struct OodResult {
    /// Where the other data come from.
    pub name: String,
    /// Number of their rows.
    pub rows: usize,
    /// AUROC of the confidence (classes) or the variance (numbers), with its interval.
    pub auroc: Interval,
    /// AUROC of the entropy; none for numbers.
    pub auroc_entropy: Option<Interval>,
    /// What is predicted for them.
    #[serde(skip)]
    pub prediction: Prediction,
    /// The curve behind `auroc`.
    #[serde(skip)]
    pub curve: Vec<RocPoint>,
}

impl OodResult {
    pub(super) fn new(
        name: String,
        known: &Prediction,
        prediction: Prediction,
        bootstrap: &Bootstrap,
    ) -> riemla::Result<Self> {
        let (inside, outside) = (Doubts::of(known)?, Doubts::of(&prediction)?);
        let entropies = inside.entropy.zip(outside.entropy);
        let entropy =
            entropies.map(|(inside, outside)| interval(&inside, &outside, bootstrap)).transpose()?;
        let (inside, outside) = (inside.confidence, outside.confidence);
        Ok(Self {
            name,
            rows: outside.len(),
            auroc: interval(&inside, &outside, bootstrap)?,
            auroc_entropy: entropy,
            curve: roc_curve(&outside, &inside)?,
            prediction,
        })
    }
}

/// Doubt about every row, for histograms: entropy, or the standard deviation.
pub(super) fn doubts(prediction: &Prediction) -> Vec<f64> {
    match prediction {
        Prediction::Classes(p) => p.entropy.clone(),
        Prediction::Values(p) | Prediction::Counts(p) => {
            p.variance().iter().map(|variance| variance.sqrt()).collect()
        }
        Prediction::Labels(p) => p.entropy.chunks_exact(p.labels).map(|row| row.iter().sum()).collect(),
    }
}

fn interval(inside: &[f64], outside: &[f64], bootstrap: &Bootstrap) -> riemla::Result<Interval> {
    bootstrap.grouped(&[inside.len(), outside.len()], |rows| {
        let known: Vec<f64> = rows.iter().filter_map(|&row| inside.get(row).copied()).collect();
        let other = rows.iter().filter_map(|&row| outside.get(row.checked_sub(inside.len())?).copied());
        auroc(&other.collect::<Vec<f64>>(), &known)
    })
}
