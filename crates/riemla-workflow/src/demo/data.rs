//! The points of the demonstration: to learn from, to be tested on, and far away from both.

use riemla::Result;
use riemla::data::Dataset;
use riemla::data::toy::two_moons;
use riemla::random::{Purpose, fill_normal, stream};

use super::DemoConfig;
use crate::plot::Grid;

/// Middle of the two half circles.
const CENTER: (f64, f64) = (0.5, 0.25);
/// Half the side of the square that maps show; the data lie within about 2 of the centre.
const HALF_WINDOW: f64 = 3.5;
/// Distances from the centre of the points called far away.
const FAR: (f64, f64) = (2.75, 3.5);
/// Nodes along each side of a map.
pub(super) const NODES: usize = 81;
/// Test points are made with another seed, so that they are independent of the training points.
const TEST_SEED: u64 = 0x7e57_0000_0000_0000;
/// Stream of the points far away; generated data sets use the first ones.
const FAR_STREAM: u64 = 1 << 32;

pub(super) struct DemoData {
    pub train: Dataset,
    pub test: Dataset,
    /// Points on a ring around the data, row-major, with their name.
    pub far: [(String, Vec<f64>); 1],
    /// Nodes of the maps, row-major, x fastest, from the lower left.
    pub nodes: Vec<f64>,
}

impl DemoData {
    pub fn generate(config: &DemoConfig) -> Result<Self> {
        Ok(Self {
            train: two_moons(config.train_points, config.noise, config.seed)?,
            test: two_moons(config.test_points, config.noise, config.seed ^ TEST_SEED)?,
            far: [("far away".into(), ring(config.test_points, config.seed))],
            nodes: Grid::inputs(NODES, NODES, window().0, window().1),
        })
    }

    /// The training points as (x, y, class).
    pub fn train_points(&self) -> Vec<(f64, f64, usize)> {
        let labels = self.train.labels().unwrap_or_default();
        self.train.inputs().chunks_exact(2).zip(labels).map(|(p, label)| (p[0], p[1], *label)).collect()
    }
}

/// The square that maps show: range of x, range of y.
pub(super) fn window() -> ((f64, f64), (f64, f64)) {
    let around = |c: f64| (c - HALF_WINDOW, c + HALF_WINDOW);
    (around(CENTER.0), around(CENTER.1))
}

/// Points in random directions from the centre, at evenly spread distances.
fn ring(count: usize, seed: u64) -> Vec<f64> {
    let mut directions = vec![0.0; 2 * count];
    fill_normal(&mut stream(seed, Purpose::Data, FAR_STREAM), &mut directions);
    let place = |(i, d): (usize, &[f64])| {
        let radius = FAR.0 + (FAR.1 - FAR.0) * (i as f64 + 0.5) / count as f64;
        let scale = radius / d[0].hypot(d[1]);
        [CENTER.0 + scale * d[0], CENTER.1 + scale * d[1]]
    };
    directions.chunks_exact(2).enumerate().flat_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_far_away_are_far_from_all_data() {
        let data = DemoData::generate(&DemoConfig::default()).expect("valid settings");
        for p in data.far[0].1.chunks_exact(2) {
            let radius = (p[0] - CENTER.0).hypot(p[1] - CENTER.1);
            assert!((FAR.0..=FAR.1).contains(&radius));
        }
        let far = |p: &[f64]| (p[0] - CENTER.0).hypot(p[1] - CENTER.1) > FAR.0;
        assert!(!data.train.inputs().chunks_exact(2).any(far));
        assert_ne!(data.train.inputs()[..20], data.test.inputs()[..20]);
    }
}
