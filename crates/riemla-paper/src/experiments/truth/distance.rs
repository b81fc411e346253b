//! How far draws are from the truth: weight by weight, and in what is predicted.

use riemla::compare::{marginals, wasserstein_null};
use serde::{Deserialize, Serialize};

use super::super::Result;
use super::super::results::mean_and_error;
use super::target::Target;

/// Distances of draws from the truth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// Wasserstein-1 distance of the marginals, in deviations of the truth, mean over weights.
    pub weights: Option<f64>,
    /// What two sets of the truth would show.
    pub weights_null: Option<f64>,
    /// Deviation of the draws over that of the truth, median over weights.
    pub deviation_ratio: Option<f64>,
    /// The distance of predictions: sum over test rows, divided by the sum of their deviations in the
    /// truth. A ratio of sums, because rows without uncertainty have standard deviations near 0.
    pub functions: Option<f64>,
    /// What two sets of the truth would show.
    pub functions_null: Option<f64>,
}

/// The truth of a target: draws, and what is predicted with them.
pub struct Truth {
    /// The draws; those of one chain after those of another.
    pub thetas: Vec<Vec<f64>>,
    /// Predictions of every draw.
    pub functions: Option<Vec<Vec<f64>>>,
}

impl Truth {
    /// With the predictions of a target.
    pub fn new(target: &dyn Target, thetas: Vec<Vec<f64>>) -> Result<Self> {
        let functions = target.functions(&slices(&thetas), false)?;
        Ok(Self { thetas, functions })
    }

    /// How far draws are.
    pub fn distances(&self, target: &dyn Target, draws: &[&[f64]], linearized: bool) -> Result<Distances> {
        let truth = slices(&self.thetas);
        let found = marginals(draws, &truth)?;
        let mut distances = Distances {
            weights: finite(mean_and_error(&found.wasserstein).0),
            weights_null: wasserstein_null(&truth, draws.len())?,
            deviation_ratio: finite(median(found.ratios())),
            ..Distances::default()
        };
        let own = target.functions(draws, linearized)?;
        if let (Some(own), Some(reference)) = (&own, &self.functions) {
            let (own, reference) = (slices(own), slices(reference));
            distances.functions = finite(pooled(&own, &reference)?);
            let half = reference.len() / 2;
            // Halves are smaller than the sets compared; distances of samples fall with the root of sizes.
            let noise = |n: usize, m: usize| (1.0 / n as f64 + 1.0 / m as f64).sqrt();
            let shrink = noise(own.len(), reference.len()) / noise(half, reference.len() - half);
            distances.functions_null = finite(shrink * pooled(&reference[..half], &reference[half..])?);
        }
        Ok(distances)
    }
}

/// Σ W1 / Σ deviation over what varies in the reference.
fn pooled(draws: &[&[f64]], reference: &[&[f64]]) -> Result<f64> {
    let found = marginals(draws, reference)?;
    let units = &found.reference_deviation;
    let moved: f64 = found.wasserstein.iter().zip(units).map(|(distance, unit)| distance * unit).sum();
    Ok(moved / units.iter().sum::<f64>())
}

/// Rows as slices.
pub fn slices(rows: &[Vec<f64>]) -> Vec<&[f64]> {
    rows.iter().map(Vec::as_slice).collect()
}

/// The number, unless JSON cannot hold it.
pub fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_doubt_do_not_rule_the_distance_of_predictions() {
        // Deviations 1 and 1e-9; the draws are shifted by 1 and by 1e-3.
        let reference = [[-1.0, -1e-9], [0.0, 0.0], [1.0, 1e-9]];
        let draws = reference.map(|[a, b]| [a + 1.0, b + 1e-3]);
        let rows = |rows: &[[f64; 2]; 3]| rows.map(|row| row.to_vec()).to_vec();
        let distance = pooled(&slices(&rows(&draws)), &slices(&rows(&reference))).expect("a distance");
        assert!((distance - 1.001).abs() < 1e-6, "{distance}");
    }
}
