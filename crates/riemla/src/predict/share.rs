//! How much the trained weights should count beside the average over draws, by rows that neither has seen.
//!
//! With few rows the posterior is wide: its average is less sure than the trained weights, and rightly by its prior, but
//! sometimes worse. The mixture (1 − w)·p̄ + w·p* of classes has a log loss of at most that of the draws − log(1 − w) and of at most that of the
//! trained weights − log w, whatever the data. Of numbers the normal density with its mean and variance counts, as in every
//! prediction of numbers.

use super::Prediction;
use crate::Result;
use crate::data::Targets;

/// Pull towards the draws: as if half a row were predicted by them alone.
const HALF_A_ROW: f64 = 0.5;
/// Shares that are tried first: in regression there may be several maxima.
const SHARES: usize = 64;
/// Thirds by which the interval around the best of them shrinks.
const STEPS: usize = 60;

/// Predictions for rows that neither draws nor trained weights have seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Unseen {
    /// The average over draws.
    pub of_draws: Prediction,
    /// By the trained weights.
    pub of_trained: Prediction,
    /// What is true, in the units of the predictions.
    pub targets: Targets,
}

impl Unseen {
    /// With the trained weights counting `share`.
    pub fn mixed(&self, share: f64) -> Result<Prediction> {
        Prediction::mixture(&[self.of_draws.clone(), self.of_trained.clone()], &[1.0 - share, share])
    }

    /// How many log losses their mean is made of.
    fn entries(&self) -> usize {
        match &self.targets {
            Targets::Classes(labels) => labels.len(),
            Targets::Values { values, .. } => values.len(),
        }
    }
}

/// Mean log loss of all rows with the trained weights counting `share`; 0 without rows.
pub fn log_loss_at(unseen: &[Unseen], share: f64) -> Result<f64> {
    let mut sum = 0.0;
    for part in unseen.iter().filter(|part| part.entries() > 0) {
        sum += part.mixed(share)?.nll(&part.targets)? * part.entries() as f64;
    }
    Ok(sum / (unseen.iter().map(Unseen::entries).sum::<usize>() as f64).max(1.0))
}

/// The w in [0, 1) that maximises Σ log pᵢ(w) + ½ log(1 − w), pᵢ(w) the probability or density of what is true of row i by the
/// mixture of draws and trained weights; 0 unless rows speak against the draws.
pub fn trained_share(unseen: &[Unseen]) -> Result<f64> {
    let rows = unseen.iter().map(Unseen::entries).sum::<usize>() as f64;
    let gain = |w: f64| Ok(HALF_A_ROW * (1.0 - w).ln() - rows * log_loss_at(unseen, w)?);
    let nothing = gain(0.0)?;
    let mut best = (0, nothing);
    for k in 1..SHARES {
        let here = gain(k as f64 / SHARES as f64)?;
        if here > best.1 {
            best = (k, here);
        }
    }
    let at = |k: usize| k as f64 / SHARES as f64;
    let (mut low, mut high) = (at(best.0.saturating_sub(1)), at(best.0 + 1).min(1.0 - f64::EPSILON));
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        if gain(low + third)? < gain(high - third)? { low += third } else { high -= third }
    }
    let share = 0.5 * (low + high);
    Ok(if gain(share)? > nothing { share } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::Error;
    use crate::predict::{ClassPrediction, RegressionPrediction};
    use crate::random::{Purpose, stream};

    /// Of two classes, of which the first is true.
    fn of_classes(a: &[f64], b: &[f64]) -> Vec<Unseen> {
        let prediction = |true_class: &[f64]| {
            Prediction::Classes(ClassPrediction {
                classes: 2,
                probabilities: true_class.iter().flat_map(|p| [*p, 1.0 - p]).collect(),
                entropy: vec![0.0; true_class.len()],
                aleatoric: None,
                epistemic: None,
            })
        };
        let targets = Targets::Classes(vec![0; a.len()]);
        vec![Unseen { of_draws: prediction(a), of_trained: prediction(b), targets }]
    }

    fn share(a: &[f64], b: &[f64]) -> f64 {
        trained_share(&of_classes(a, b)).unwrap()
    }

    fn objective(w: f64, a: &[f64], b: &[f64]) -> f64 {
        let rows = a.iter().zip(b).map(|(a, b)| ((1.0 - w) * a + w * b).ln());
        rows.sum::<f64>() + 0.5 * (1.0 - w).ln()
    }

    /// Three rows that only the trained weights predict, two that only draws do.
    #[test]
    fn rows_are_counted() {
        let w = share(&[0.0, 0.0, 0.0, 1.0, 1.0], &[1.0, 1.0, 1.0, 0.0, 0.0]);
        assert!((w - 3.0 / 5.5).abs() < 1e-7, "{w}");
    }

    #[test]
    fn it_is_the_best_of_all() {
        for index in 0..50 {
            let mut rng = stream(3, Purpose::Data, index);
            let lean = index as f64 / 50.0;
            let a: Vec<f64> = (0..30).map(|_| rng.random_range(0.01..1.0)).collect();
            let b: Vec<f64> =
                a.iter().map(|a| (1.0 - lean) * a + lean * rng.random_range(0.01..1.0)).collect();
            let w = share(&a, &b);
            let best = objective(w, &a, &b);
            for other in (0..100).map(|k| f64::from(k) / 100.0) {
                assert!(objective(other, &a, &b) <= best + 1e-9, "{index}: {other} instead of {w}");
            }
        }
    }

    #[test]
    fn draws_keep_all_unless_rows_speak_against_them() {
        let half = [0.5; 20];
        assert_eq!(share(&half, &half), 0.0);
        assert_eq!(share(&half, &[0.4; 20]), 0.0);
        assert_eq!(share(&[], &[]), 0.0);
        assert_eq!(trained_share(&[]).unwrap(), 0.0);
        // Σ(b − a)/a = 0.4 is not worth half a row.
        assert_eq!(share(&half, &[0.51; 20]), 0.0);
        let most = share(&half, &[0.9; 20]);
        assert!((0.9..1.0).contains(&most), "{most}");
        // A row that both rule out says nothing.
        assert_eq!(share(&[0.0], &[0.0]), 0.0);
    }

    /// Parts count by their rows, and numbers by the normal density with mean and variance of the mixture.
    #[test]
    fn numbers_count_by_the_density_that_is_predicted() {
        let normal = |mean: f64, epistemic: f64, rows: usize| {
            Prediction::Values(RegressionPrediction {
                outputs: 1,
                mean: vec![mean; rows],
                epistemic_variance: vec![epistemic; rows],
                aleatoric_variance: vec![0.25; rows],
            })
        };
        let part = |target: f64, rows: usize| Unseen {
            of_draws: normal(1.0, 4.0, rows),
            of_trained: normal(0.0, 0.0, rows),
            targets: Targets::Values { values: vec![target; rows], outputs: 1 },
        };
        let near = trained_share(&[part(0.1, 7), part(-0.3, 4)]).unwrap();
        assert!(near > 0.9, "{near}");
        assert_eq!(trained_share(&[part(2.5, 7), part(-1.8, 4)]).unwrap(), 0.0);
        let parts = [part(0.1, 5), part(-1.2, 2), part(1.9, 1)];
        let w = trained_share(&parts).unwrap();
        let density = |w: f64, y: f64| {
            let (mean, variance) = (1.0 - w, 0.25 + (1.0 - w) * 4.0 + w * (1.0 - w));
            -0.5 * (2.0 * std::f64::consts::PI * variance).ln() - (y - mean).powi(2) / (2.0 * variance)
        };
        let gain = |w: f64| {
            let rows = 5.0 * density(w, 0.1) + 2.0 * density(w, -1.2) + density(w, 1.9);
            rows + 0.5 * (1.0 - w).ln()
        };
        assert!(w > 0.1 && (0..1000).all(|k| gain(f64::from(k) / 1000.0) <= gain(w) + 1e-9), "{w}");
        let mean = log_loss_at(&parts, w).unwrap();
        assert!((mean - (0.5 * (1.0 - w).ln() - gain(w)) / 8.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn predictions_that_do_not_belong_together_are_refused() {
        let [mut one] = <[Unseen; 1]>::try_from(of_classes(&[0.5], &[0.4])).unwrap();
        one.targets = Targets::Classes(vec![0, 1]);
        assert!(matches!(trained_share(&[one.clone()]), Err(Error::Shape { .. })));
        one.of_trained = of_classes(&[0.5, 0.5], &[0.5, 0.5])[0].of_draws.clone();
        assert!(matches!(trained_share(&[one]), Err(Error::Shape { .. })));
    }
}
