//! Small networks with random data for the tests.
#![allow(dead_code)] // each test binary uses its own part

use std::sync::Arc;

use riemla::data::{Dataset, Targets};
use riemla::nn::{Activation, LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::{
    Likelihood, NetworkLoss, Objective, OutputNoise, Prior, PriorPrecision, Probe, TargetKind,
};
use riemla::random::{Purpose, fill_normal, stream};

pub const ACTIVATIONS: [Activation; 10] = [
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::SOFTPLUS,
    Activation::Softplus { beta: 1.5 },
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Silu,
    Activation::Relu,
    Activation::LeakyRelu { slope: 0.2 },
    Activation::Elu { alpha: 1.0 },
];

pub const GAUSSIAN: Likelihood = Likelihood::Gaussian { sigma_noise: 0.3 };

/// A noise of its own for every output.
pub fn per_output(sigmas: &[f64]) -> Likelihood {
    Likelihood::GaussianPerOutput { sigma_noise: OutputNoise::new(sigmas).unwrap() }
}

pub fn normals(seed: u64, len: usize) -> Vec<f64> {
    let mut v = vec![0.0; len];
    fill_normal(&mut stream(seed, Purpose::Data, 77), &mut v);
    v
}

pub fn network(spec: &NetworkSpec) -> Arc<Network> {
    Arc::new(Network::new(spec).unwrap_or_else(|error| panic!("{spec:?}: {error}")))
}

pub fn mlp(sizes: &[usize], activation: Activation) -> Arc<Network> {
    network(&NetworkSpec::mlp(sizes, activation))
}

/// Two padded convolutions with overlapping average pooling between them: 2 outputs.
pub fn small_cnn() -> NetworkSpec {
    NetworkSpec {
        input: Shape::Image { channels: 2, height: 6, width: 5 },
        layers: vec![
            LayerSpec::Conv2d {
                channels: 3,
                kernel: [3, 2],
                stride: [1, 1],
                padding: [1, 0],
                dilation: [1, 1],
                groups: 1,
                bias: true,
            },
            LayerSpec::Activation { function: Activation::Tanh },
            LayerSpec::AveragePool { kernel: [2, 2], stride: Some([2, 1]) },
            LayerSpec::Conv2d {
                channels: 2,
                kernel: [2, 2],
                stride: [1, 1],
                padding: [0, 1],
                dilation: [1, 1],
                groups: 1,
                bias: false,
            },
            LayerSpec::Activation { function: Activation::SOFTPLUS },
            LayerSpec::Flatten,
            LayerSpec::Linear { outputs: 2, bias: true },
        ],
    }
}

const TANH: LayerSpec = LayerSpec::Activation { function: Activation::Tanh };

fn linear(outputs: usize) -> LayerSpec {
    LayerSpec::Linear { outputs, bias: true }
}

/// A sum within a sum, normalised, whose first branches begin at the input: 2 outputs.
pub fn residual_mlp() -> NetworkSpec {
    let norm = LayerSpec::LayerNorm { epsilon: 1e-2, affine: true };
    let inner = LayerSpec::Residual { body: vec![TANH, linear(4)], shortcut: vec![] };
    let first = LayerSpec::Residual { body: vec![linear(4), inner, TANH], shortcut: vec![linear(4)] };
    let second = LayerSpec::Residual { body: vec![norm, linear(3), TANH, linear(4)], shortcut: vec![] };
    NetworkSpec { input: Shape::Features(3), layers: vec![first, second, TANH, linear(2)] }
}

/// A small residual network for images: groups, dilation, a scale, shortcuts with and without weights.
pub fn residual_cnn() -> NetworkSpec {
    let conv = |channels, kernel: usize, padding: usize, dilation: usize, groups| LayerSpec::Conv2d {
        channels,
        kernel: [kernel; 2],
        stride: [1, 1],
        padding: [padding; 2],
        dilation: [dilation; 2],
        groups,
        bias: true,
    };
    let body = vec![conv(4, 3, 2, 2, 2), LayerSpec::Scale { bias: true }, TANH, conv(4, 3, 1, 1, 4)];
    NetworkSpec {
        input: Shape::Image { channels: 2, height: 4, width: 3 },
        layers: vec![
            LayerSpec::Residual { body, shortcut: vec![conv(4, 1, 0, 1, 1)] },
            TANH,
            LayerSpec::Residual { body: vec![conv(4, 3, 1, 1, 1), TANH], shortcut: vec![] },
            LayerSpec::Flatten,
            linear(2),
        ],
    }
}

/// `n` samples with normal inputs, and targets that fit network and likelihood.
pub fn data(network: &Network, likelihood: Likelihood, n: usize, seed: u64) -> Dataset {
    let inputs = normals(seed, n * network.inputs());
    let outputs = network.outputs();
    let targets = match likelihood.classes(outputs) {
        // Every class occurs as soon as there are enough samples.
        Some(classes) => Targets::Classes((0..n).map(|i| (i * 7 + i / classes) % classes).collect()),
        None => {
            let outputs = likelihood.targets_per_sample(outputs);
            let mut values = normals(seed + 1, n * outputs);
            match likelihood.kind() {
                TargetKind::Counts => values.iter_mut().for_each(|y| *y = (2.0 * *y).abs().floor()),
                TargetKind::Labels => values.iter_mut().for_each(|y| *y = f64::from(*y > 0.0)),
                TargetKind::Classes | TargetKind::Values => {}
            }
            Targets::Values { values, outputs }
        }
    };
    Dataset::new(inputs, network.inputs(), targets).unwrap()
}

pub fn loss(network: &Arc<Network>, likelihood: Likelihood, n: usize, precision: f64) -> NetworkLoss {
    let prior = Prior::new(&PriorPrecision::Scalar(precision), network).unwrap();
    NetworkLoss::new(network.clone(), data(network, likelihood, n, 5).clone(), likelihood, prior).unwrap()
}

/// A network's loss behind the three required methods (and its probe, for the same bits). What else it can do as a
/// model, each test says.
pub struct Hidden(pub NetworkLoss);

impl Objective for Hidden {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.0.value(theta)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.0.value_and_gradient(theta, gradient)
    }

    fn probe(&self) -> Box<dyn Probe + '_> {
        self.0.probe()
    }
}
