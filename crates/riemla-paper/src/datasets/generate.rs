//! Data sets that are generated: nothing to download.

use riemla::Result;
use riemla::data::Dataset;
use riemla::random::{Purpose, Rng, fill_normal, stream};

use super::legacy_random::NumpyRandom;

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generated {
    /// Five curved arms.
    Pinwheel,
    /// Two separable clusters.
    Logistic,
    /// Labels of a logistic model in five dimensions.
    Logistic5,
    /// Breiman's waveforms.
    Waveform,
    /// Labels of a logistic or softmax model: one of the sets `CONVEX`.
    Convex(usize),
}

/// A set with labels of a linear model.
pub struct Convex {
    /// Rows.
    pub rows: usize,
    /// Inputs, neighbours correlated by 0.5.
    pub features: usize,
    /// Classes.
    pub classes: usize,
    /// Standard deviation of the logits.
    pub spread: f64,
}

/// The sets on which the metric of convex models is judged (docs/decisions/0029-metric-auto.md).
pub const CONVEX: [Convex; 6] = [
    Convex { rows: 60, features: 3, classes: 2, spread: 2.0 },
    Convex { rows: 60, features: 8, classes: 2, spread: 4.0 },
    Convex { rows: 200, features: 8, classes: 2, spread: 2.0 },
    Convex { rows: 300, features: 20, classes: 2, spread: 4.0 },
    Convex { rows: 600, features: 30, classes: 2, spread: 2.0 },
    Convex { rows: 200, features: 5, classes: 3, spread: 3.0 },
];

/// The seed of generated data: they are a data set, so they do not change with the run's seed.
const SEED: u64 = 230;
/// The seed with which the authors made their pinwheel.
const PINWHEEL_SEED: u32 = 42;

impl Generated {
    /// Makes the data; always the same.
    pub fn dataset(self) -> Result<Dataset> {
        match self {
            Generated::Pinwheel => pinwheel(),
            Generated::Logistic => logistic(),
            Generated::Logistic5 => logistic5(),
            Generated::Waveform => waveform(1000),
            Generated::Convex(number) => convex(number),
        }
    }
}

/// Five arms of 200 points, radial deviation 0.3, tangential 0.05, rate 0.25, with the random
/// numbers that the authors drew, in their order.
fn pinwheel() -> Result<Dataset> {
    const CLASSES: usize = 5;
    const EACH: usize = 200;
    let mut random = NumpyRandom::new(PINWHEEL_SEED);
    let mut points = Vec::with_capacity(CLASSES * EACH);
    for i in 0..CLASSES * EACH {
        let class = i / EACH;
        let (radial, tangential) = (1.0 + 0.3 * random.normal(), 0.05 * random.normal());
        let angle = std::f64::consts::TAU * class as f64 / CLASSES as f64 + 0.25 * radial.exp();
        let (sin, cos) = angle.sin_cos();
        points.push(([radial * cos + tangential * sin, -radial * sin + tangential * cos], class));
    }
    let order = random.permutation(points.len());
    let inputs = order.iter().flat_map(|&i| points[i].0).collect();
    Dataset::classification(inputs, 2, order.iter().map(|&i| points[i].1).collect())
}

fn normal(rng: &mut Rng) -> f64 {
    let mut value = [0.0];
    fill_normal(rng, &mut value);
    value[0]
}

/// 2 × 20 points around (±1.5, ±0.75), kept only where a line separates the classes with a margin.
fn logistic() -> Result<Dataset> {
    let mut rng = stream(SEED, Purpose::Data, 2);
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    while labels.len() < 40 {
        let label = labels.len() % 2;
        let side = if label == 1 { 1.0 } else { -1.0 };
        let x = [1.5 * side + normal(&mut rng), 0.75 * side + normal(&mut rng)];
        if side * (2.0 * x[0] + x[1]) > 0.5 {
            inputs.extend(x);
            labels.push(label);
        }
    }
    Dataset::classification(inputs, 2, labels)
}

/// 300 standard normal points; labels from a logistic model with a bias, so that the classes overlap.
fn logistic5() -> Result<Dataset> {
    const WEIGHTS: [f64; 5] = [2.0, -1.5, 1.0, 0.5, 0.0];
    let mut rng = stream(SEED, Purpose::Data, 4);
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let x: Vec<f64> = WEIGHTS.iter().map(|_| normal(&mut rng)).collect();
        let logit = -0.5 + x.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum::<f64>();
        // Uniform on (0, 1): the squared length of two normal numbers is exponential.
        let uniform = (-0.5 * (normal(&mut rng).powi(2) + normal(&mut rng).powi(2))).exp();
        labels.push(usize::from(uniform * (1.0 + (-logit).exp()) < 1.0));
        inputs.extend(x);
    }
    Dataset::classification(inputs, WEIGHTS.len(), labels)
}

/// Standard normal inputs, neighbours correlated by 0.5; labels drawn from a linear model whose logits have a given
/// standard deviation each. The last class has logit 0.
fn convex(number: usize) -> Result<Dataset> {
    let Convex { rows, features, classes, spread } = CONVEX[number];
    let mut rng = stream(SEED, Purpose::Data, 100 + number as u64);
    let size = spread / (features as f64).sqrt();
    let weights: Vec<f64> = (0..(classes - 1) * features).map(|_| size * normal(&mut rng)).collect();
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let mut x = vec![normal(&mut rng)];
        for j in 1..features {
            x.push(0.5 * x[j - 1] + 0.75f64.sqrt() * normal(&mut rng));
        }
        // The class with the largest logit plus Gumbel noise has the probabilities of a softmax.
        let gumbel = |rng: &mut Rng| {
            let exponential = 0.5 * (normal(rng).powi(2) + normal(rng).powi(2));
            -exponential.ln()
        };
        let logit = |class: usize| -> f64 {
            let of_class = weights.chunks(features).nth(class).unwrap_or_default();
            of_class.iter().zip(&x).map(|(w, x)| w * x).sum()
        };
        let noisy: Vec<f64> = (0..classes).map(|class| logit(class) + gumbel(&mut rng)).collect();
        let best = (0..classes).max_by(|a, b| noisy[*a].total_cmp(&noisy[*b]));
        labels.push(best.unwrap_or_default());
        inputs.extend(x);
    }
    Dataset::classification(inputs, features, labels)
}

/// Breiman's waveforms: a random mixture of two of three triangles at 21 places, plus noise.
fn waveform(rows: usize) -> Result<Dataset> {
    let mut rng = stream(SEED, Purpose::Data, 3);
    let triangle = |peak: f64, place: usize| (6.0 - (place as f64 + 1.0 - peak).abs()).max(0.0);
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let class = row % 3;
        let (first, second) = [(7.0, 15.0), (7.0, 11.0), (15.0, 11.0)][class];
        // The direction of two normal numbers is uniform, and so is the share.
        let share = 0.5 + normal(&mut rng).atan2(normal(&mut rng)) / std::f64::consts::TAU;
        for place in 0..21 {
            let mixture = share * triangle(first, place) + (1.0 - share) * triangle(second, place);
            inputs.push(mixture + normal(&mut rng));
        }
        labels.push(class);
    }
    Dataset::classification(inputs, 21, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_they_say() {
        let pinwheel = Generated::Pinwheel.dataset().expect("pinwheel");
        assert_eq!((pinwheel.len(), pinwheel.features()), (1000, 2));
        let labels = pinwheel.labels().expect("classes");
        assert!((0..5).all(|class| labels.iter().filter(|label| **label == class).count() == 200));
        // The authors' first three points, from their formulas in numpy 2.4.6.
        let first = [-0.053_813_543_586_859_23, 1.306_446_594_234_432_8, 0.285_045_712_716_147];
        assert!(pinwheel.inputs().iter().zip(first).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(labels[..3], [3, 3, 0]);
        // Radii are 1 ± 0.3: none beyond 5 deviations.
        assert!(pinwheel.inputs().chunks(2).all(|x| x[0].hypot(x[1]) < 2.6));

        let logistic = Generated::Logistic.dataset().expect("logistic");
        let side = |label: usize| if label == 1 { 1.0 } else { -1.0 };
        let rows = logistic.inputs().chunks(2).zip(logistic.labels().expect("classes"));
        assert!(rows.into_iter().all(|(x, label)| side(*label) * (2.0 * x[0] + x[1]) > 0.5));

        let five = Generated::Logistic5.dataset().expect("logistic5");
        let ones = five.labels().expect("classes").iter().sum::<usize>();
        // The classes overlap; a bias of −0.5 under logits of deviation 2.7 leaves 45 % ones (±4 deviations).
        assert!(five.features() == 5 && (100..170).contains(&ones), "{ones}");

        let waveform = Generated::Waveform.dataset().expect("waveform");
        assert_eq!((waveform.len(), waveform.features()), (1000, 21));
        // Mean of the first place is 0 (all triangles are 0 there); 1000 rows: 4.5 deviations of 0.032.
        let mean = waveform.inputs().chunks(21).map(|row| row[0]).sum::<f64>() / 1000.0;
        assert!(mean.abs() < 4.5 * 0.032, "{mean}");
    }
}
