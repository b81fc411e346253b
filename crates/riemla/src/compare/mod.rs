//! How far two sets of draws are apart, and whether importance weights can be trusted. A leaf: draws are
//! rows of numbers, wherever they come from.
//!
//! One set is the *reference* and gives the units: its standard deviation in every weight. A distance
//! between finite sets is never zero, so each comes with its *null*: about what a second set of the
//! reference's kind, of the size of the set compared, would show. It is measured between the first and
//! the second half of the reference. The halves are consecutive and not interleaved, because neighbours in
//! a Markov chain resemble each other: interleaved halves would look closer than two chains are.

mod energy;
mod marginal;
mod pareto;

pub use energy::{Energy, energy_distance, standardized_energy};
pub use marginal::{Marginals, marginals, wasserstein_null, wasserstein1};
pub use pareto::{
    GOOD_SHAPE, ImportanceWeights, LARGEST_SHAPE, LEAST_WEIGHTS, fit_generalized_pareto, pareto_smoothed,
};

use crate::error::{check_finite, check_len};
use crate::{Error, Result};

/// Fewest draws of a reference that can be cut into halves with a spread each.
const LEAST_FOR_HALVES: usize = 4;

/// Checks rows of equal length with finite numbers; returns the length.
fn check_rows(what: &str, rows: &[&[f64]]) -> Result<usize> {
    if rows.len() < 2 {
        return Err(Error::range(format!("number of draws of {what}"), rows.len(), "at least 2"));
    }
    for row in rows {
        check_len(what, rows[0].len(), row.len())?;
        check_finite(what, row)?;
    }
    Ok(rows[0].len())
}

/// Checks two sets over the same weights; returns the number of weights.
fn check_pair(draws: &[&[f64]], reference: &[&[f64]]) -> Result<usize> {
    let dim = check_rows("reference", reference)?;
    check_len("weights of a draw", dim, check_rows("draws", draws)?)?;
    Ok(dim)
}

/// Draws, one row each.
type Rows<'a, 'b> = &'a [&'b [f64]];

/// The two halves of a reference, and (1/n + 1/m) / (1/h + 1/h'): how a squared distance between samples
/// shrinks from the halves (h, h') to the sets compared (n, m). None if the reference is too small.
fn halves<'a, 'b>(reference: Rows<'a, 'b>, draws: usize) -> Option<(Rows<'a, 'b>, Rows<'a, 'b>, f64)> {
    if reference.len() < LEAST_FOR_HALVES {
        return None;
    }
    let (first, second) = reference.split_at(reference.len() / 2);
    let noise = |n: usize, m: usize| 1.0 / n as f64 + 1.0 / m as f64;
    Some((first, second, noise(draws, reference.len()) / noise(first.len(), second.len())))
}

/// Standard deviation (unbiased variance) of numbers.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// One weight of all draws.
fn column(rows: &[&[f64]], k: usize) -> Vec<f64> {
    rows.iter().map(|row| row[k]).collect()
}
