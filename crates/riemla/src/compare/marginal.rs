//! Two sets of draws, one weight at a time: Wasserstein distance and standard deviations.

use rayon::prelude::*;

use super::{check_pair, check_rows, column, deviation, halves};
use crate::error::check_finite;
use crate::{Error, Result};

/// Every weight that varies in the reference, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Marginals {
    /// Positions of these weights, ascending; the other fields are in this order.
    pub weights: Vec<usize>,
    /// Wasserstein-1 distance of the marginals, in standard deviations of the reference.
    pub wasserstein: Vec<f64>,
    /// Standard deviations of the draws.
    pub deviation: Vec<f64>,
    /// Standard deviations of the reference.
    pub reference_deviation: Vec<f64>,
    /// Weights that vary in the draws but not in the reference: they have no unit and are left out.
    pub only_in_draws: usize,
}

impl Marginals {
    /// Standard deviation of the draws over that of the reference, per weight.
    pub fn ratios(&self) -> Vec<f64> {
        self.deviation.iter().zip(&self.reference_deviation).map(|(own, reference)| own / reference).collect()
    }
}

/// Compares the marginals of two sets of draws over the same weights (rows: draws).
pub fn marginals(draws: &[&[f64]], reference: &[&[f64]]) -> Result<Marginals> {
    let dim = check_pair(draws, reference)?;
    let one = |k: usize| {
        let (mut own, mut theirs) = (column(draws, k), column(reference, k));
        let (spread, unit) = (deviation(&own), deviation(&theirs));
        let distance = if unit > 0.0 { sorted_distance(&mut own, &mut theirs) / unit } else { 0.0 };
        (distance, spread, unit)
    };
    let all: Vec<(f64, f64, f64)> = (0..dim).into_par_iter().map(one).collect();
    let varies = |k: &usize| all[*k].2 > 0.0;
    let weights: Vec<usize> = (0..dim).filter(varies).collect();
    if weights.is_empty() {
        return Err(Error::Unsupported(
            "the draws of the reference are all equal: their standard deviation \
             is 0 and cannot serve as a unit"
                .into(),
        ));
    }
    let of = |part: fn(&(f64, f64, f64)) -> f64| weights.iter().map(|k| part(&all[*k])).collect();
    Ok(Marginals {
        wasserstein: of(|one| one.0),
        deviation: of(|one| one.1),
        reference_deviation: of(|one| one.2),
        only_in_draws: all.iter().filter(|(_, spread, unit)| *unit == 0.0 && *spread > 0.0).count(),
        weights,
    })
}

/// The null of the mean of [`Marginals::wasserstein`] for this number of draws; none if the reference is too small
/// to be cut into halves. Distances of samples shrink with the root of their sizes.
pub fn wasserstein_null(reference: &[&[f64]], draws: usize) -> Result<Option<f64>> {
    check_rows("reference", reference)?;
    let Some((first, second, shrink)) = halves(reference, draws.max(1)) else { return Ok(None) };
    let units = marginals(reference, reference)?;
    let one = |(k, unit): (&usize, &f64)| {
        sorted_distance(&mut column(first, *k), &mut column(second, *k)) / unit * shrink.sqrt()
    };
    let pairs = units.weights.iter().zip(&units.reference_deviation);
    Ok(Some(pairs.map(one).sum::<f64>() / units.weights.len() as f64))
}

/// Wasserstein-1 distance of two samples: the mean distance that mass has to be moved to turn one into
/// the other, exact for samples of any sizes.
///
/// ```
/// use riemla::compare::wasserstein1;
/// assert_eq!(wasserstein1(&[0.0, 1.0], &[3.0, 2.0, 2.0, 3.0])?, 2.0);
/// # Ok::<(), riemla::Error>(())
/// ```
pub fn wasserstein1(a: &[f64], b: &[f64]) -> Result<f64> {
    for (what, values) in [("first sample", a), ("second sample", b)] {
        if values.is_empty() {
            return Err(Error::shape(what, "at least one number", 0));
        }
        check_finite(what, values)?;
    }
    Ok(sorted_distance(&mut a.to_vec(), &mut b.to_vec()))
}

/// ∫ |F⁻¹(u) − G⁻¹(u)| du. Every number of `a` has mass b.len(), every number of `b` mass a.len(): whole
/// numbers, so that the pieces end exactly together.
fn sorted_distance(a: &mut [f64], b: &mut [f64]) -> f64 {
    a.sort_unstable_by(f64::total_cmp);
    b.sort_unstable_by(f64::total_cmp);
    let (mut i, mut j, mut total) = (0, 0, 0.0);
    let (mut left_a, mut left_b) = (b.len(), a.len());
    while i < a.len() && j < b.len() {
        let moved = left_a.min(left_b);
        total += moved as f64 * (a[i] - b[j]).abs();
        left_a -= moved;
        left_b -= moved;
        if left_a == 0 {
            i += 1;
            left_a = b.len();
        }
        if left_b == 0 {
            j += 1;
            left_b = a.len();
        }
    }
    total / (a.len() as f64 * b.len() as f64)
}
