//! Sums over blocks of samples that have the same bits on any number of threads.

use std::ops::Range;

use super::pool::Pool;

/// Neighbouring blocks form chunks; each is summed by itself, then chunks in pairs, pairs of pairs and so on.
/// Chunks and pairs depend on the problem alone, so that the order of summation does too. Where the thread
/// pool has idle threads they take chunks; where all are busy, nothing is handed over.
#[derive(Debug)]
pub(super) struct Chunks {
    blocks: usize,
    count: usize,
    /// Vectors for sums under way.
    partial: Pool<Vec<f64>>,
}

/// Most chunks of a sum: more than most machines have cores, few enough to add a vector for each.
const MOST: usize = 16;
/// Least work of a chunk, in multiplications: some tenths of a millisecond, for which it pays to wake a thread.
const LEAST_WORK: usize = 4 << 20;
/// Numbers that the vectors of all chunks may take (256 MB).
const NUMBERS: usize = 32 << 20;

impl Chunks {
    /// For `blocks` blocks and vectors of `dim` numbers; `work` is that of all blocks, in multiplications.
    pub(super) fn new(blocks: usize, work: usize, dim: usize) -> Self {
        let bounds = [MOST, work / LEAST_WORK, NUMBERS / dim.max(1), blocks];
        let count = bounds.into_iter().min().unwrap_or(1).max(1);
        Self { blocks, count, partial: Pool::default() }
    }

    /// Sums over all blocks: `term` adds its blocks to a vector, and returns what else is summed. `out` is
    /// overwritten; it has as many numbers as the sums, or none.
    pub(super) fn sum<const S: usize>(
        &self,
        out: &mut [f64],
        term: &(impl Fn(Range<usize>, &mut [f64]) -> [f64; S] + Sync),
    ) -> [f64; S] {
        let parallel = self.count > 1 && rayon::current_num_threads() > 1;
        self.sum_chunks(0..self.count, parallel, out, term)
    }

    fn sum_chunks<const S: usize>(
        &self,
        chunks: Range<usize>,
        parallel: bool,
        out: &mut [f64],
        term: &(impl Fn(Range<usize>, &mut [f64]) -> [f64; S] + Sync),
    ) -> [f64; S] {
        if chunks.len() == 1 {
            let start = |chunk: usize| chunk * self.blocks / self.count;
            out.fill(0.0);
            return term(start(chunks.start)..start(chunks.end), out);
        }
        let middle = chunks.start + chunks.len() / 2;
        let len = out.len();
        let left = |out: &mut [f64]| self.sum_chunks(chunks.start..middle, parallel, out, term);
        // Takes its vector only when it runs: on one thread there are as many as the tree has levels.
        let right = || {
            let idle = if len > 0 { self.partial.take() } else { None };
            let mut partial = idle.unwrap_or_else(|| vec![0.0; len]);
            let sums = self.sum_chunks(middle..chunks.end, parallel, &mut partial, term);
            (sums, partial)
        };
        let (mut sums, (more, partial)) =
            if parallel { rayon::join(|| left(out), right) } else { (left(out), right()) };
        out.iter_mut().zip(&partial).for_each(|(o, p)| *o += p);
        sums.iter_mut().zip(more).for_each(|(s, m)| *s += m);
        if len > 0 {
            self.partial.put(partial);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    /// Every block adds its number in another magnitude, so that another order would give other bits.
    fn add(blocks: Range<usize>, out: &mut [f64]) -> [f64; 1] {
        let mut sum = 0.0;
        for b in blocks {
            let term = (b as f64 + 0.1).sin() * 10f64.powi(b as i32 % 7);
            out.iter_mut().enumerate().for_each(|(k, o)| *o += term / (k + 1) as f64);
            sum += term;
        }
        [sum]
    }

    #[test]
    fn sums_do_not_depend_on_threads() {
        for (blocks, work) in [(1, 1), (5, usize::MAX), (100, usize::MAX), (37, 11 * LEAST_WORK)] {
            let chunks = Chunks::new(blocks, work, 3);
            let run = |threads: usize| {
                let mut out = [9.0; 3];
                let [sum] = pool(threads).install(|| chunks.sum(&mut out, &add));
                assert_eq!(pool(threads).install(|| chunks.sum(&mut [], &add)), [sum]);
                (sum.to_bits(), out.map(f64::to_bits))
            };
            let one = run(1);
            assert!([2, 3, 4].into_iter().all(|threads| run(threads) == one), "{blocks} blocks");
            let mut plain = [0.0; 3];
            let [expected] = add(0..blocks, &mut plain);
            assert!((f64::from_bits(one.0) - expected).abs() <= 1e-9 * expected.abs());
            assert!(one.1.iter().zip(plain).all(|(o, p)| (f64::from_bits(*o) - p).abs() <= 1e-9 * p.abs()));
        }
    }

    /// Both halves wait for each other: they can only end if they run at the same time.
    #[test]
    fn chunks_run_at_the_same_time() {
        let chunks = Chunks::new(2, usize::MAX, 1);
        let both = Barrier::new(2);
        let [count] = pool(2).install(|| {
            chunks.sum(&mut [], &|blocks, _| {
                both.wait();
                [blocks.len() as f64]
            })
        });
        assert_eq!(count, 2.0);
    }

    #[test]
    fn little_work_is_one_chunk() {
        assert_eq!(Chunks::new(50, LEAST_WORK, 10).count, 1);
        assert_eq!(Chunks::new(50, 3 * LEAST_WORK, 10).count, 3);
        assert_eq!(Chunks::new(50, usize::MAX, 10).count, MOST);
        assert_eq!(Chunks::new(50, usize::MAX, NUMBERS / 2).count, 2);
        assert_eq!(Chunks::new(50, usize::MAX, usize::MAX).count, 1);
        assert_eq!(Chunks::new(0, 0, 0).count, 1);
    }
}
