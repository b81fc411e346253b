//! Small generated data sets: nothing to download.

use rand::RngExt as _;

use super::Dataset;
use crate::Result;
use crate::random::{Purpose, fill_normal, stream};

/// Two interleaved half circles ("two moons") of `n` points in all, with Gaussian noise.
///
/// Labels alternate, so any prefix is balanced.
pub fn two_moons(n: usize, noise: f64, seed: u64) -> Result<Dataset> {
    let mut rng = stream(seed, Purpose::Data, 0);
    let mut inputs = Vec::with_capacity(2 * n);
    let labels: Vec<usize> = (0..n).map(|i| i % 2).collect();
    for &label in &labels {
        let angle = std::f64::consts::PI * rng.random::<f64>();
        let mut e = [0.0; 2];
        fill_normal(&mut rng, &mut e);
        let (x, y) =
            if label == 0 { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.5 - angle.sin()) };
        inputs.extend([x + noise * e[0], y + noise * e[1]]);
    }
    Dataset::classification(inputs, 2, labels)
}

/// `n` points of y = sin(3x) + noise on [−1, 1], without inputs in (−0.3, 0.4).
pub fn sine_with_gap(n: usize, noise: f64, seed: u64) -> Result<Dataset> {
    let mut rng = stream(seed, Purpose::Data, 1);
    let mut inputs = Vec::with_capacity(n);
    let mut values = Vec::with_capacity(n);
    while inputs.len() < n {
        let x: f64 = rng.random_range(-1.0..1.0);
        if x <= -0.3 || x >= 0.4 {
            let mut e = [0.0];
            fill_normal(&mut rng, &mut e);
            inputs.push(x);
            values.push((3.0 * x).sin() + noise * e[0]);
        }
    }
    Dataset::regression(inputs, 1, values, 1)
}
