//! The prediction that looks at no input.

use riemla::data::{Dataset, Targets};
use riemla::objective::{Likelihood, TargetKind};
use riemla::predict::{Prediction, RegressionPrediction};

use super::parts::{bare_classes, bare_labels, column};

/// The prediction of the training targets alone, the same for every row, for a likelihood with `outputs` outputs:
/// frequencies of the classes (one that training has not seen gets a share of one row) or labels, mean and variance, or
/// a rate.
pub fn constant(train: &Dataset, likelihood: Likelihood, outputs: usize, rows: usize) -> Prediction {
    let n = train.len() as f64;
    let (values, width) = match train.targets() {
        Targets::Classes(labels) => {
            let classes = likelihood.classes(outputs).unwrap_or(outputs);
            let mut shares = vec![1.0 / classes as f64; classes];
            labels.iter().for_each(|&label| shares[label] += 1.0);
            shares.iter_mut().for_each(|share| *share /= n + 1.0);
            return bare_classes(classes, shares.repeat(rows));
        }
        Targets::Values { values, outputs } => (values, *outputs),
    };
    let sums: Vec<f64> = (0..width).map(|j| column(values, width, j).iter().sum()).collect();
    let same = |mean: Vec<f64>, variance: Vec<f64>| RegressionPrediction {
        outputs: width,
        mean: mean.repeat(rows),
        epistemic_variance: vec![0.0; width * rows],
        aleatoric_variance: variance.repeat(rows),
    };
    match likelihood.kind() {
        TargetKind::Labels => {
            let shares: Vec<f64> = sums.iter().map(|sum| (sum + 0.5) / (n + 1.0)).collect();
            bare_labels(width, shares.repeat(rows))
        }
        TargetKind::Counts => {
            // Half an event where training has seen none: a rate of 0 would rule all counts out.
            let rates: Vec<f64> = sums.iter().map(|sum| sum.max(0.5) / n).collect();
            Prediction::Counts(same(rates.clone(), rates))
        }
        TargetKind::Classes | TargetKind::Values => {
            let means: Vec<f64> = sums.iter().map(|sum| sum / n).collect();
            let square =
                |j: usize| column(values, width, j).iter().map(|y| (y - means[j]).powi(2)).sum::<f64>();
            let variances: Vec<f64> = (0..width).map(|j| square(j) / n).collect();
            Prediction::Values(same(means, variances))
        }
    }
}
