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

/// Draws `size` rows, of which the first `kept` of `order` are in every batch: returns the rows and how much each
/// counts. The kept ones count once, the others (rows left)/(rows drawn) times, so that a weighted sum over the batch is
/// on average the sum over all rows.
pub fn draw_beside(
    order: &[usize],
    kept: usize,
    size: usize,
    rng: &mut Rng,
) -> Result<(Vec<usize>, Vec<f64>)> {
    let n = order.len();
    if size > n || kept >= size {
        let wanted = format!("above the {kept} kept rows and at most {n}");
        return Err(Error::range("batch size", size, wanted));
    }
    let (certain, rest) = order.split_at(kept);
    let (mut rows, drawn) = (certain.to_vec(), size - kept);
    rows.extend(rest.to_vec().partial_shuffle(rng, drawn).0.iter());
    let mut weights = vec![1.0; kept];
    weights.resize(size, rest.len() as f64 / drawn as f64);
    Ok((rows, weights))
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
    fn rows_beside_kept_ones_stand_for_all_others() {
        let order = [4, 1, 0, 6, 2, 5, 3];
        let mut counts = [0usize; 7];
        let mut rng = stream(6, Purpose::Batch, 0);
        for _ in 0..3000 {
            let (rows, weights) = draw_beside(&order, 2, 4, &mut rng).unwrap();
            assert_eq!((&rows[..2], weights), (&[4, 1][..], vec![1.0, 1.0, 2.5, 2.5]));
            rows.iter().for_each(|&row| counts[row] += 1);
        }
        assert_eq!((counts[4], counts[1]), (3000, 3000));
        // Each other row with probability 2/5: 1200 ± 26.8; 4.5 sd over five rows have level 3e-5.
        assert!([0, 6, 2, 5, 3].iter().all(|&row| (counts[row] as f64 - 1200.0).abs() < 121.0), "{counts:?}");
        for (kept, size) in [(2, 2), (0, 0), (2, 8)] {
            assert!(draw_beside(&order, kept, size, &mut rng).is_err());
        }
    }

    #[test]
    fn apportion_is_exact() {
        assert_eq!(apportion(&[500; 10], 1000), vec![100; 10]);
        assert_eq!(apportion(&[1, 1, 1], 2).iter().sum::<usize>(), 2);
    }
}
