//! Random streams that depend on (seed, purpose, index) alone, never on threads or order.

use std::convert::Infallible;

use rand::TryRng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

/// The generator used everywhere; it implements `rand::Rng`.
#[derive(Debug, Clone)]
pub struct Rng(ChaCha8Rng);

impl TryRng for Rng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

/// What a stream is for: streams of different purposes never coincide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Initial weights.
    Initialization = 1,
    /// Order of mini-batches in training.
    Shuffle = 2,
    /// Tangent vectors of posterior draws.
    Draw = 3,
    /// Batches of posterior draws.
    Batch = 4,
    /// Generated data sets.
    Data = 5,
    /// Splits of data sets.
    Split = 6,
    /// Resampled test rows.
    Bootstrap = 7,
    /// Steps of Markov chains.
    Chain = 8,
    /// Where Markov chains start.
    Start = 9,
    /// Seeds of the members of an ensemble.
    Member = 10,
    /// Tangent vectors of the leverages of rows.
    Leverage = 11,
    /// Chains that polish posterior draws.
    Polish = 12,
    /// Tangent vectors whose averages are wanted, not the draws.
    Average = 13,
}

/// The stream number `index` for one purpose under one seed.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> Rng {
    attempt_stream(seed, purpose, index, 0)
}

/// The same for a repeated attempt: attempt 0 is [`stream`], all others coincide with no stream.
pub fn attempt_stream(seed: u64, purpose: Purpose, index: u64, attempt: u64) -> Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
    key[16..24].copy_from_slice(&attempt.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(index);
    Rng(rng)
}

/// Fills a slice with independent standard normal numbers.
pub fn fill_normal(rng: &mut Rng, out: &mut [f64]) {
    for v in out {
        *v = StandardNormal.sample(rng);
    }
}
