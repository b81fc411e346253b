//! The generator of numpy's `RandomState` (MT19937), so that published splits can be repeated.
//!
//! Everything of our own uses `riemla::random`. This is for what others fixed by a numpy seed: the
//! rows of a `train_test_split` of scikit-learn, and the pinwheel.

const N: usize = 624;
const M: usize = 397;

/// `numpy.random.RandomState(seed)`.
pub struct NumpyRandom {
    key: [u32; N],
    at: usize,
    spare: Option<f64>,
}

impl NumpyRandom {
    /// Seeded by one number.
    pub fn new(seed: u32) -> Self {
        let mut key = [0u32; N];
        key[0] = seed;
        for i in 1..N {
            let last = key[i - 1];
            key[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Self { key, at: N, spare: None }
    }

    fn refill(&mut self) {
        for i in 0..N {
            let y = (self.key[i] & 0x8000_0000) | (self.key[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.key[i] = self.key[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.at = 0;
    }

    fn next(&mut self) -> u32 {
        if self.at == N {
            self.refill();
        }
        let mut y = self.key[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Uniform in [0, 1) with 53 bits.
    fn uniform(&mut self) -> f64 {
        let (a, b) = (self.next() >> 5, self.next() >> 6);
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }

    /// One number of `randn`.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(factor * x);
                return factor * y;
            }
        }
    }

    /// `permutation(n)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            let mask = u32::MAX >> (i as u32).leading_zeros();
            let j = loop {
                let value = self.next() & mask;
                if value <= i as u32 {
                    break value as usize;
                }
            };
            order.swap(i, j);
        }
        order
    }
}

/// The rows (train, test) of scikit-learn's `train_test_split` of `n` rows with so many for training
/// and all others for the test.
pub fn train_test_split(n: usize, train: usize, seed: u32) -> (Vec<usize>, Vec<usize>) {
    let order = NumpyRandom::new(seed).permutation(n);
    let (test, train) = order.split_at(n - train.min(n));
    (train.to_vec(), test.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values printed by numpy 2.4.6: `RandomState(42).randn(3)` and `.permutation(10)`. The first
    /// output of seed 5489 is that of the generator's authors.
    #[test]
    fn it_is_the_generator_of_numpy() {
        assert_eq!(NumpyRandom::new(5489).next(), 3_499_211_612);
        let mut random = NumpyRandom::new(42);
        let drawn = [random.normal(), random.normal(), random.normal()];
        let printed = [0.496_714_153_011_232_7, -0.138_264_301_171_184_66, 0.647_688_538_100_692_5];
        // The last bit of a logarithm may differ between systems.
        assert!(drawn.iter().zip(printed).all(|(a, b)| (a - b).abs() < 1e-15), "{drawn:?}");
        assert_eq!(NumpyRandom::new(42).permutation(10), [8, 1, 5, 0, 7, 2, 9, 4, 3, 6]);
    }

    /// Rows printed by scikit-learn 1.9.1: `train_test_split(np.arange(n), train_size=…, random_state=…)`.
    #[test]
    fn splits_are_those_of_scikit_learn() {
        let (train, test) = train_test_split(10, 7, 42);
        assert_eq!((train, test), (vec![0, 7, 2, 9, 4, 3, 6], vec![8, 1, 5]));
        let (train, _) = train_test_split(5300, 3709, 230);
        assert_eq!(train[..6], [4558, 3357, 1562, 5102, 3822, 177]);
        assert_eq!(train[..265].iter().sum::<usize>(), 751_281);
        let (train, test) = train_test_split(200, 150, 230);
        assert_eq!((&train[..3], &test[..3]), (&[195, 95, 101][..], &[66, 24, 129][..]));
    }
}
