//! Percentile bootstrap: how far a score would move with other test rows.
//!
//! Rows are drawn with replacement; any function of row numbers is scored on them, so scores that
//! are no means over rows (calibration error, AUROC) work as well. The rows of resample i depend on
//! the seed and i alone: methods scored under one [`Bootstrap`] see the same rows, and their
//! difference has an interval of its own, usually much shorter than the two intervals suggest.

use rand::RngExt as _;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::random::{Purpose, stream};
use crate::{Error, Result};

/// Which resamples, and how wide the interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bootstrap {
    /// Number of resamples. The ends of a 95 % interval need about 1000.
    pub resamples: usize,
    /// Share of the resamples' scores between the ends, in (0, 1).
    pub level: f64,
    /// Seed of the resamples.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 1000 resamples, 95 %, seed 0.
    fn default() -> Self {
        Self { resamples: 1000, level: 0.95, seed: 0 }
    }
}

/// A score with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The score on the rows themselves.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation over the resamples: the bootstrap standard error.
    pub standard_error: f64,
    /// The level asked for.
    pub level: f64,
    /// Resamples on which the score is not defined (an AUROC without one of its classes); the
    /// interval is that of the others.
    pub undefined: usize,
}

impl Bootstrap {
    /// The interval of `score` over `rows` test rows. `score` gets row numbers, some of them twice
    /// and some not at all; see [`take_rows`].
    ///
    /// ```
    /// use riemla::score::{Bootstrap, accuracy, take_rows};
    /// let (probabilities, labels) = ([0.9, 0.1, 0.8, 0.2, 0.3, 0.7, 0.6, 0.4], [0, 0, 1, 1]);
    /// let score = |rows: &[usize]| {
    ///     accuracy(&take_rows(&probabilities, 2, rows), 2, &take_rows(&labels, 1, rows))
    /// };
    /// let interval = Bootstrap::default().interval(4, score)?;
    /// assert_eq!(interval.estimate, 0.75);
    /// assert!(interval.low < 0.75 && interval.high > 0.75);
    /// # Ok::<(), riemla::Error>(())
    /// ```
    pub fn interval(&self, rows: usize, score: impl Fn(&[usize]) -> Result<f64> + Sync) -> Result<Interval> {
        self.grouped(&[rows], score)
    }

    /// The interval of a first score less a second one, on the same resamples: with 0 outside, the
    /// methods differ by more than the choice of test rows explains.
    pub fn difference(
        &self,
        rows: usize,
        first: impl Fn(&[usize]) -> Result<f64> + Sync,
        second: impl Fn(&[usize]) -> Result<f64> + Sync,
    ) -> Result<Interval> {
        self.interval(rows, |rows| Ok(first(rows)? - second(rows)?))
    }

    /// The same for rows that come in groups of the given sizes, one after the other (known and
    /// unknown data of an AUROC): each group is resampled on its own and keeps its size.
    pub fn grouped(
        &self,
        groups: &[usize],
        score: impl Fn(&[usize]) -> Result<f64> + Sync,
    ) -> Result<Interval> {
        self.check(groups)?;
        let all: Vec<usize> = (0..groups.iter().sum()).collect();
        let estimate = score(&all)?;
        if !estimate.is_finite() {
            return Err(Error::NotFinite { what: "score of all rows".into(), index: 0, value: estimate });
        }
        let one = |i: usize| score(&self.rows(groups, i)).ok().filter(|s| s.is_finite());
        let scores: Vec<Option<f64>> = (0..self.resamples).into_par_iter().map(one).collect();
        let mut defined: Vec<f64> = scores.into_iter().flatten().collect();
        if defined.len() < 2 {
            let requirement = "at least 2: use more rows, or resample in groups";
            return Err(Error::range("resamples with a defined score", defined.len(), requirement));
        }
        defined.sort_by(f64::total_cmp);
        let tail = 0.5 * (1.0 - self.level);
        Ok(Interval {
            estimate,
            low: quantile(&defined, tail),
            high: quantile(&defined, 1.0 - tail),
            standard_error: deviation(&defined),
            level: self.level,
            undefined: self.resamples - defined.len(),
        })
    }

    fn check(&self, groups: &[usize]) -> Result<()> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(Error::range("level of the interval", self.level, "between 0 and 1"));
        }
        if self.resamples < 2 {
            return Err(Error::range("number of resamples", self.resamples, "at least 2"));
        }
        if groups.is_empty() || groups.contains(&0) {
            return Err(Error::shape(
                "rows to resample",
                "at least one in every group",
                format!("{groups:?}"),
            ));
        }
        Ok(())
    }

    /// Row numbers of resample `i`.
    fn rows(&self, groups: &[usize], i: usize) -> Vec<usize> {
        let mut rng = stream(self.seed, Purpose::Bootstrap, i as u64);
        let mut rows = Vec::with_capacity(groups.iter().sum());
        let mut start = 0;
        for &size in groups {
            rows.extend((0..size).map(|_| start + rng.random_range(0..size)));
            start += size;
        }
        rows
    }
}

/// The given rows of a row-major array with `width` entries per row.
pub fn take_rows<T: Clone>(values: &[T], width: usize, rows: &[usize]) -> Vec<T> {
    let mut taken = Vec::with_capacity(rows.len() * width);
    rows.iter().for_each(|row| taken.extend_from_slice(&values[row * width..(row + 1) * width]));
    taken
}

/// The quantile of sorted values, linear between them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = (place.floor() as usize).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::fill_normal;
    use crate::score::{accuracy, auroc, brier, crps, ece, nll, nlpd, rmse};

    fn normals(index: u64, n: usize) -> Vec<f64> {
        let mut values = vec![0.0; n];
        fill_normal(&mut stream(7, Purpose::Data, index), &mut values);
        values
    }

    fn mean_of<'a>(values: &'a [f64]) -> impl Fn(&[usize]) -> Result<f64> + Sync + 'a {
        |rows| Ok(rows.iter().map(|&i| values[i]).sum::<f64>() / rows.len() as f64)
    }

    /// 400 data sets of 100 normal numbers, 90 % intervals of the mean. The percentile interval of a
    /// mean has z instead of t and n instead of n − 1: nominal coverage 0.896. Two-sided at 0.1 %:
    /// 3.29 standard errors of 400 Bernoulli trials are 0.050. A 95 % or 80 % interval fails.
    #[test]
    fn intervals_of_a_mean_cover_it_as_often_as_they_say() {
        let covered = (0..400).filter(|&i| {
            let values = normals(i, 100);
            let bootstrap = Bootstrap { resamples: 400, level: 0.9, seed: i };
            let interval = bootstrap.interval(100, mean_of(&values)).unwrap();
            interval.low <= 0.0 && 0.0 <= interval.high
        });
        let share = covered.count() as f64 / 400.0;
        assert!((share - 0.896).abs() < 0.050, "{share}");
    }

    /// The bootstrap standard error of a mean is √(Σ(x − x̄)²)/n; 4000 resamples know it to
    /// 1/√8000 = 1.1 %; two-sided at 0.1 %.
    #[test]
    fn the_standard_error_of_a_mean_is_known() {
        let values = normals(1000, 50);
        let mean = values.iter().sum::<f64>() / 50.0;
        let exact = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>().sqrt() / 50.0;
        let found =
            Bootstrap { resamples: 4000, ..Default::default() }.interval(50, mean_of(&values)).unwrap();
        assert!((found.standard_error / exact - 1.0).abs() < 0.037, "{} {exact}", found.standard_error);
        assert!((found.estimate - mean).abs() < 1e-15);
    }

    #[test]
    fn methods_share_rows_so_that_a_constant_difference_is_certain() {
        let (a, rows) = (normals(1, 30), 30);
        let b: Vec<f64> = a.iter().map(|a| a + 0.25).collect();
        let bootstrap = Bootstrap::default();
        let difference = bootstrap.difference(rows, mean_of(&b), mean_of(&a)).unwrap();
        assert!((difference.low - 0.25).abs() < 1e-12 && (difference.high - 0.25).abs() < 1e-12);
        assert_eq!(bootstrap.interval(rows, mean_of(&a)), bootstrap.interval(rows, mean_of(&a)));
        let other = Bootstrap { seed: 1, ..bootstrap };
        assert_ne!(bootstrap.interval(rows, mean_of(&a)), other.interval(rows, mean_of(&a)));
        // The rows of resample i do not depend on how many there are.
        let fewer = Bootstrap { resamples: 5, ..bootstrap };
        assert_eq!(bootstrap.rows(&[30], 3), fewer.rows(&[30], 3));
    }

    #[test]
    fn every_score_has_an_interval() {
        let n = 40;
        let p: Vec<f64> =
            normals(2, n).iter().map(|z| 1.0 / (1.0 + z.exp())).flat_map(|p| [p, 1.0 - p]).collect();
        let labels: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let (mean, y, variance) = (normals(3, n), normals(4, n), vec![1.5; n]);
        let bootstrap = Bootstrap { resamples: 200, ..Default::default() };
        let contains = |interval: Result<Interval>| {
            let i = interval.unwrap();
            assert!(i.low < i.high && i.low <= i.estimate + 0.2 && i.high >= i.estimate - 0.2, "{i:?}");
            assert_eq!(i.undefined, 0);
        };
        for score in [accuracy, nll, brier] {
            let rows = |r: &[usize]| score(&take_rows(&p, 2, r), 2, &take_rows(&labels, 1, r));
            contains(bootstrap.interval(n, rows));
        }
        contains(bootstrap.interval(n, |r| ece(&take_rows(&p, 2, r), 2, &take_rows(&labels, 1, r), 10)));
        contains(bootstrap.interval(n, |r| rmse(&take_rows(&mean, 1, r), &take_rows(&y, 1, r))));
        for score in [nlpd, crps] {
            let [m, v, t] = [&mean, &variance, &y];
            contains(
                bootstrap
                    .interval(n, |r| score(&take_rows(m, 1, r), &take_rows(v, 1, r), &take_rows(t, 1, r))),
            );
        }
        contains(bootstrap.grouped(&[10, 30], |r| {
            let (known, unknown) = r.split_at(10);
            auroc(&take_rows(&mean, 1, unknown), &take_rows(&mean, 1, known))
        }));
    }

    #[test]
    fn groups_keep_their_sizes_and_undefined_scores_are_counted() {
        let bootstrap = Bootstrap { resamples: 300, ..Default::default() };
        let counts = bootstrap.grouped(&[3, 2], |rows| {
            assert!(rows[..3].iter().all(|&r| r < 3) && rows[3..].iter().all(|r| (3..5).contains(r)));
            Ok(rows.len() as f64)
        });
        assert_eq!(counts.unwrap().high, 5.0);
        // Of 2 rows each of a pair is missing in half of the resamples.
        let both = |rows: &[usize]| {
            let found = rows.contains(&0) && rows.contains(&1);
            if found { Ok(1.0) } else { Err(Error::Unsupported("one is missing".into())) }
        };
        let undefined = bootstrap.interval(2, both).unwrap().undefined;
        assert!((115..=185).contains(&undefined), "{undefined}");
    }

    #[test]
    fn mistakes_are_refused() {
        let one = |_: &[usize]| Ok(1.0);
        for (resamples, level) in [(1, 0.9), (10, 0.0), (10, 1.0), (10, f64::NAN)] {
            assert!(Bootstrap { resamples, level, seed: 0 }.interval(3, one).is_err());
        }
        assert!(Bootstrap::default().interval(0, one).is_err());
        assert!(Bootstrap::default().grouped(&[2, 0], one).is_err());
        assert!(Bootstrap::default().interval(3, |_| Ok(f64::NAN)).is_err());
        let fails = |rows: &[usize]| {
            if rows == [0, 1, 2] { Ok(1.0) } else { Err(Error::Unsupported("no".into())) }
        };
        assert!(Bootstrap { resamples: 3, ..Default::default() }.interval(3, fails).is_err());
    }
}
