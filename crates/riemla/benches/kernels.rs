//! Times of the vector kernels at the sizes the experiments have.

use divan::{Bencher, black_box, counter::ItemsCount};
use riemla::linalg::correlate::{self, Geometry, Scratch, Start};
use riemla::linalg::elementwise;

fn main() {
    divan::main();
}

/// Activations of banana's two hidden layers: 265 samples × 16 units × 2.
const ACTIVATIONS: usize = 8480;

fn arguments() -> Vec<f64> {
    (0..ACTIVATIONS).map(|i| 3.0 * (0.37 * i as f64).sin()).collect()
}

#[divan::bench]
fn tanh(bencher: Bencher) {
    let (x, mut y) = (arguments(), vec![0.0; ACTIVATIONS]);
    bencher.bench_local(|| elementwise::tanh(black_box(&x), &mut y));
}

#[divan::bench]
fn tanh_std(bencher: Bencher) {
    let (x, mut y) = (arguments(), vec![0.0; ACTIVATIONS]);
    bencher.bench_local(|| {
        for (y, x) in y.iter_mut().zip(black_box(&x)) {
            *y = x.tanh();
        }
    });
}

#[divan::bench]
fn exp(bencher: Bencher) {
    let (x, mut y) = (arguments(), vec![0.0; ACTIVATIONS]);
    bencher.bench_local(|| elementwise::exp(black_box(&x), &mut y));
}

#[divan::bench]
fn sigmoid(bencher: Bencher) {
    let (x, mut y) = (arguments(), vec![0.0; ACTIVATIONS]);
    bencher.bench_local(|| elementwise::sigmoid(black_box(&x), &mut y));
}

/// Arguments: samples, classes.
#[divan::bench(args = [(265, 2), (1000, 10)])]
fn softmax(bencher: Bencher, (n, classes): (usize, usize)) {
    let logits: Vec<f64> = (0..n * classes).map(|i| (0.37 * i as f64).sin()).collect();
    let (mut p, mut z) = (vec![0.0; n * classes], vec![0.0; n]);
    bencher.bench_local(|| elementwise::softmax_rows(black_box(&logits), n, classes, &mut p, &mut z));
}

/// The two convolutions of the image network, with the samples per block.
const CONVOLUTIONS: [(Layer, usize); 6] = [
    (Layer::First, 16),
    (Layer::First, 32),
    (Layer::First, 64),
    (Layer::Second, 16),
    (Layer::Second, 32),
    (Layer::Second, 64),
];

#[derive(Clone, Copy, Debug)]
enum Layer {
    /// 1 → 4 channels, 5×5, on 28×28.
    First,
    /// 4 → 4 channels, 5×5, on 12×12.
    Second,
}

/// A convolution with its slices; items are floating-point operations.
struct Convolution {
    geometry: Geometry,
    n: usize,
    x: Vec<f64>,
    weights: Vec<f64>,
    y: Vec<f64>,
    scratch: Scratch,
}

impl Convolution {
    fn new((layer, n): (Layer, usize)) -> Self {
        let (in_channels, size) = match layer {
            Layer::First => (1, 28),
            Layer::Second => (4, 12),
        };
        let geometry = Geometry {
            in_channels,
            out_channels: 4,
            height: size,
            width: size,
            kernel: (5, 5),
            stride: (1, 1),
            padding: (0, 0),
            dilation: (1, 1),
        };
        let filled = |len: usize| (0..len).map(|i| (0.37 * i as f64).sin()).collect::<Vec<_>>();
        let (x, y) = (filled(n * geometry.input_len()), filled(n * geometry.output_len()));
        let weights = filled(geometry.weight_len());
        Self { geometry, n, x, weights, y, scratch: Scratch::default() }
    }

    fn operations(&self) -> ItemsCount {
        ItemsCount::new(2 * self.y.len() * self.weights.len() / self.geometry.out_channels)
    }
}

#[divan::bench(args = CONVOLUTIONS)]
fn correlate_output(bencher: Bencher, case: (Layer, usize)) {
    let mut c = Convolution::new(case);
    bencher.counter(c.operations()).bench_local(|| {
        let (x, start) = (black_box(&c.x), Start::Constants(&[]));
        correlate::correlate(&c.geometry, c.n, x, &c.weights, start, &mut c.y, &mut c.scratch);
    });
}

#[divan::bench(args = CONVOLUTIONS)]
fn correlate_weight_gradient(bencher: Bencher, case: (Layer, usize)) {
    let mut c = Convolution::new(case);
    bencher.counter(c.operations()).bench_local(|| {
        let (x, y, w) = (black_box(&c.x), &c.y, &mut c.weights);
        correlate::correlate_weight_gradient(&c.geometry, c.n, x, y, w, &mut c.scratch);
    });
}

#[divan::bench(args = CONVOLUTIONS)]
fn correlate_input_gradient(bencher: Bencher, case: (Layer, usize)) {
    let mut c = Convolution::new(case);
    bencher.counter(c.operations()).bench_local(|| {
        let (w, y, x) = (black_box(&c.weights), &c.y, &mut c.x);
        let start = Start::Constants(&[]);
        correlate::correlate_input_gradient(&c.geometry, c.n, w, y, start, x, &mut c.scratch);
    });
}

#[divan::bench(args = CONVOLUTIONS)]
fn correlate_weight_gradient_per_sample(bencher: Bencher, case: (Layer, usize)) {
    let mut c = Convolution::new(case);
    let mut out = vec![0.0; c.n * c.weights.len()];
    bencher.counter(c.operations()).bench_local(|| {
        let x = black_box(&c.x);
        correlate::correlate_weight_gradient_per_sample(&c.geometry, c.n, x, &c.y, &mut out, &mut c.scratch);
    });
}
