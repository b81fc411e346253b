//! Random splits and batches of rows, reproducible by seed.

use std::collections::BTreeMap;

use rand::RngExt as _;
use rand::seq::SliceRandom as _;

use crate::random::{Purpose, Rng, stream};
use crate::{Error, Result};

/// Shuffles 0..n by `seed` and cuts it into consecutive parts of the given sizes.
pub fn split(n: usize, sizes: &[usize], seed: u64) -> Result<Vec<Vec<usize>>> {
    let total = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)).unwrap_or(usize::MAX);
    if total > n {
        return Err(Error::range(
            "sum of the split sizes",
            total,
            format!("at most {n}, the number of rows"),
        ));
    }
    let mut rows: Vec<usize> = (0..n).collect();
    rows.shuffle(&mut stream(seed, Purpose::Split, 0));
    let mut rest = rows.as_slice();
    Ok(sizes
        .iter()
        .map(|&size| {
            let (part, tail) = rest.split_at(size);
            rest = tail;
            part.to_vec()
        })
        .collect())
}

/// Draws `size` of `n` rows without replacement; with `labels` the batch keeps their frequencies (to
/// rounding, largest remainders first).
pub fn draw_batch(n: usize, labels: Option<&[usize]>, size: usize, rng: &mut Rng) -> Result<Vec<usize>> {
    if size == 0 || size > n {
        return Err(Error::range("batch size", size, format!("between 1 and the {n} rows")));
    }
    let Some(labels) = labels else {
        let mut rows: Vec<usize> = (0..n).collect();
        return Ok(rows.partial_shuffle(rng, size).0.to_vec());
    };
    crate::error::check_len("labels of the rows", n, labels.len())?;
    let mut by_class: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, &label) in labels.iter().enumerate() {
        by_class.entry(label).or_default().push(row);
    }
    let counts = apportion(&by_class.values().map(Vec::len).collect::<Vec<_>>(), size);
    let mut rows = Vec::with_capacity(size);
    for (class, count) in by_class.values_mut().zip(counts) {
        class.shuffle(rng);
        rows.extend(&class[..count]);
    }
    Ok(rows)
}

/// Probabilities in proportion to `sizes`, none above 1, that add up to `rows`: how often each row should be in a batch
/// of `rows` rows. Sizes are above 0.
pub fn inclusion_probabilities(sizes: &[f64], rows: usize) -> Result<Vec<f64>> {
    let n = sizes.len();
    if rows == 0 || rows > n {
        return Err(Error::range("batch size", rows, format!("between 1 and the {n} rows")));
    }
    if let Some(wrong) = sizes.iter().find(|size| !(size.is_finite() && **size > 0.0)) {
        return Err(Error::range("size of a row", wrong, "finite and above 0"));
    }
    let mut certain = vec![false; n];
    loop {
        let kept = certain.iter().filter(|certain| **certain).count();
        let left: f64 =
            sizes.iter().zip(&certain).filter(|(_, certain)| !**certain).map(|(size, _)| size).sum();
        let factor = (rows - kept) as f64 / left;
        let above = |i: &usize| !certain[*i] && factor * sizes[*i] >= 1.0;
        let new: Vec<usize> = (0..n).filter(above).take(rows - kept).collect();
        if new.is_empty() {
            let probability = |(size, certain): (&f64, &bool)| if *certain { 1.0 } else { factor * size };
            return Ok(sizes.iter().zip(&certain).map(probability).collect());
        }
        new.into_iter().for_each(|i| certain[i] = true);
    }
}

/// Draws rows, row i with probability `probabilities[i]`; as many as the probabilities add up to, which is a whole
/// number. Rows with probability 1 come first; of the others neighbours are rarely drawn together, so that an order by
/// some quantity keeps its distribution (the ordered pivotal method of Deville and Tillé).
pub fn draw_by_probability(probabilities: &[f64], rng: &mut Rng) -> Vec<usize> {
    let (certain, rest): (Vec<usize>, Vec<usize>) =
        (0..probabilities.len()).partition(|&i| probabilities[i] >= 1.0);
    let mut rows = certain;
    // The row that is not decided yet, with its probability by now.
    let mut open: Option<(usize, f64)> = None;
    for row in rest {
        let p = probabilities[row];
        let Some((other, q)) = open else {
            open = Some((row, p));
            continue;
        };
        let chance: f64 = rng.random();
        open = Some(if p + q < 1.0 {
            (if chance * (p + q) < q { other } else { row }, p + q)
        } else {
            let (in_batch, stays) =
                if chance * (2.0 - p - q) < 1.0 - p { (other, row) } else { (row, other) };
            rows.push(in_batch);
            (stays, p + q - 1.0)
        });
    }
    rows.extend(open.filter(|(_, p)| *p > 0.5).map(|(row, _)| row));
    rows
}

/// Shares `size` out in proportion to `weights` by largest remainders; never above a weight.
fn apportion(weights: &[usize], size: usize) -> Vec<usize> {
    let total: usize = weights.iter().sum();
    let mut counts: Vec<usize> = weights.iter().map(|w| w * size / total).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(weights[i] * size % total), i));
    let missing = size - counts.iter().sum::<usize>();
    for &i in order.iter().take(missing) {
        counts[i] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<usize> {
        (0..100).map(|i| if i < 70 { 0 } else { 1 + i % 2 }).collect()
    }

    #[test]
    fn splits_partition_and_depend_on_the_seed() {
        let parts = split(10, &[7, 3], 1).unwrap();
        let mut all: Vec<usize> = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(parts, split(10, &[7, 3], 1).unwrap());
        assert_ne!(parts, split(10, &[7, 3], 2).unwrap());
        assert!(split(10, &[7, 4], 1).is_err());
        assert!(split(10, &[usize::MAX, 2], 1).is_err());
    }

    #[test]
    fn batches_have_no_repeats_and_can_keep_label_frequencies() {
        let labels = labels();
        for stratified in [false, true] {
            let mut rng = stream(3, Purpose::Batch, 0);
            let mut rows = draw_batch(100, stratified.then_some(&labels[..]), 20, &mut rng).unwrap();
            let zeros = rows.iter().filter(|&&r| r < 70).count();
            assert!(!stratified || zeros == 14);
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), 20);
        }
        assert!(draw_batch(100, None, 101, &mut stream(3, Purpose::Batch, 0)).is_err());
        assert!(draw_batch(100, Some(&labels[..]), 0, &mut stream(3, Purpose::Batch, 0)).is_err());
    }

    #[test]
    fn every_row_is_drawn_equally_often() {
        // Each row is in a batch of 20 of 100 with probability 0.2; 4000 batches give a count of
        // 800 ± 25.3. A two-sided bound of 4.5 sd over 100 rows has level 7e-4 (power: an
        // implementation that never draws some row, or draws it twice as often, fails).
        let mut counts = [0usize; 100];
        let mut rng = stream(5, Purpose::Batch, 1);
        for _ in 0..4000 {
            for row in draw_batch(100, None, 20, &mut rng).unwrap() {
                counts[row] += 1;
            }
        }
        assert!(counts.iter().all(|&c| (c as f64 - 800.0).abs() < 4.5 * 25.3), "{counts:?}");
    }

    #[test]
    fn probabilities_are_in_proportion_up_to_one() {
        let p = inclusion_probabilities(&[8.0, 1.0, 1.0, 2.0, 4.0], 3).unwrap();
        // 8 is certain, then 4 is (2·4/8 = 1); the others share the third row in proportion 1 : 1 : 2.
        assert_eq!(p, [1.0, 0.25, 0.25, 0.5, 1.0]);
        assert_eq!(inclusion_probabilities(&[1.0; 4], 1).unwrap(), [0.25; 4]);
        assert_eq!(inclusion_probabilities(&[3.0, 1.0, 5.0], 3).unwrap(), [1.0; 3]);
        for rows in [0, 4] {
            assert!(inclusion_probabilities(&[1.0; 3], rows).is_err());
        }
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(inclusion_probabilities(&[1.0, wrong], 1).is_err());
        }
    }

    #[test]
    fn rows_are_drawn_with_their_probabilities_and_always_as_many() {
        for (seed, rows) in [(1, 1), (2, 7), (3, 20), (4, 39)] {
            let sizes: Vec<f64> = (0..40).map(|i| 1.0 + (i as f64 * 0.7).sin() + 0.02 * i as f64).collect();
            let p = inclusion_probabilities(&sizes, rows).unwrap();
            assert!((p.iter().sum::<f64>() - rows as f64).abs() < 1e-12);
            let mut counts = [0usize; 40];
            let mut rng = stream(seed, Purpose::Batch, 0);
            for _ in 0..4000 {
                let mut batch = draw_by_probability(&p, &mut rng);
                batch.sort_unstable();
                batch.dedup();
                assert_eq!(batch.len(), rows, "no repeats");
                batch.into_iter().for_each(|row| counts[row] += 1);
            }
            // Binomial counts: 4.5 sd, two-sided, over 160 rows have level 1.1e-3; half a count for those near 0 and 1.
            for (count, p) in counts.iter().zip(&p) {
                let sd = (4000.0 * p * (1.0 - p)).sqrt();
                assert!((*count as f64 - 4000.0 * p).abs() <= 4.5 * sd + 0.5, "{rows}: {count} {p}");
            }
        }
    }

    #[test]
    fn apportion_is_exact() {
        assert_eq!(apportion(&[500; 10], 1000), vec![100; 10]);
        assert_eq!(apportion(&[1, 1, 1], 2).iter().sum::<usize>(), 2);
    }
}
