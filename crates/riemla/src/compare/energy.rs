//! Energy distance: two sets of draws as a whole, not weight by weight.
//!
//! 𝓔 = 2E|X − Y| − E|X − X'| − E|Y − Y'| (Székely and Rizzo 2013), not its root. It is zero only for equal
//! distributions. The expectations run over all pairs, those of a draw with itself included (the
//! V-statistic): this is exactly zero for equal sets and never negative. It is larger than zero for two
//! samples of one distribution, about E|X − X'|(1/n + 1/m), which the null shows.

use rayon::prelude::*;

use super::{check_pair, halves, marginals};
use crate::Result;

/// An energy distance with what zero looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// The distance.
    pub value: f64,
    /// About what a second set of the reference's kind would have; none if the reference is too small.
    pub null: Option<f64>,
}

/// Energy distance of two sets of rows, symmetric; in the units of the rows.
pub fn energy_distance(a: &[&[f64]], b: &[&[f64]]) -> Result<f64> {
    check_pair(a, b)?;
    Ok(distance(a, b))
}

/// Energy distance after every weight is divided by its standard deviation in the reference; weights
/// without spread there are left out. For n and m draws it takes (n + m)²/2 distances.
pub fn standardized_energy(draws: &[&[f64]], reference: &[&[f64]]) -> Result<Energy> {
    let units = marginals(reference, reference)?;
    check_pair(draws, reference)?;
    let scaled = |row: &&[f64]| -> Vec<f64> {
        units.weights.iter().zip(&units.reference_deviation).map(|(k, unit)| row[*k] / unit).collect()
    };
    let own: Vec<Vec<f64>> = draws.iter().map(scaled).collect();
    let theirs: Vec<Vec<f64>> = reference.iter().map(scaled).collect();
    let (own, theirs) = (slices(&own), slices(&theirs));
    let null = halves(&theirs, own.len()).map(|(first, second, shrink)| shrink * distance(first, second));
    Ok(Energy { value: distance(&own, &theirs), null })
}

fn slices(rows: &[Vec<f64>]) -> Vec<&[f64]> {
    rows.iter().map(Vec::as_slice).collect()
}

fn distance(a: &[&[f64]], b: &[&[f64]]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let value = 2.0 * sum(a, |_| b) / (n * m)
        - 2.0 * sum(a, |i| &a[..i]) / (n * n)
        - 2.0 * sum(b, |j| &b[..j]) / (m * m);
    // It is not negative; rounding can make it so.
    value.max(0.0)
}

/// Sum over the rows, each with its partners; in parallel over rows, but added in their order, so that the
/// bits do not depend on the threads.
fn sum<'a, 'b: 'a>(rows: &[&[f64]], partners: impl Fn(usize) -> &'a [&'b [f64]] + Sync) -> f64 {
    let of_row = |(i, row): (usize, &&[f64])| partners(i).iter().map(|other| euclidean(row, other)).sum();
    rows.par_iter().enumerate().map(of_row).collect::<Vec<f64>>().iter().sum()
}

fn euclidean(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}
