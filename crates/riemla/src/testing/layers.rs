//! The law of a layer, for every one there is.

use super::{assert_vectors, difference, normals, shifted};
use crate::linalg::vector::{axpy, dot};
use crate::nn::{Activation, At, InPlace, Layer, LayerSpec, Network, NetworkSpec, Patch, Positions, Shape};
use crate::random::{Purpose, stream};

/// The law of a layer: adjoint identity, and all derivatives agree with finite differences.
///
/// `x` is an input block of `n` samples; for layers that are not smooth it should be away from
/// their kinks.
fn check_layer(layer: &dyn Layer, n: usize, params: &[f64], x: &[f64], seed: u64) {
    let mut rng = stream(seed, Purpose::Data, 9);
    let outputs = layer.output().len() * n;
    let forward = |params: &[f64], x: &[f64]| {
        let mut y = vec![f64::NAN; outputs];
        layer.forward(n, params, x, &mut y);
        y
    };
    let y = forward(params, x);
    let at = At { n, params, x, y: &y };
    let (v, dx) = (normals(&mut rng, params.len()), normals(&mut rng, x.len()));
    let d2x = normals(&mut rng, x.len());
    let (u, du) = (normals(&mut rng, outputs), normals(&mut rng, outputs));

    let mut dy = vec![f64::NAN; outputs];
    layer.tangent(at, &v, Some(&dx), &mut dy);
    let h = 1e-5;
    let by_difference = difference(|t| forward(&shifted(params, t, &v), &shifted(x, t, &dx)), h);
    assert_vectors("tangent", &dy, &by_difference, 1e-7, 1.0);

    let tangent_at = |t: f64| {
        let (params, x) = (shifted(params, t, &v), shifted(&shifted(x, t, &dx), t * t, &d2x));
        let y = forward(&params, &x);
        let mut out = vec![0.0; outputs];
        let velocity = shifted(&dx, 2.0 * t, &d2x);
        layer.tangent(At { n, params: &params, x: &x, y: &y }, &v, Some(&velocity), &mut out);
        out
    };
    let mut d2y = vec![f64::NAN; outputs];
    layer.second(at, &v, Some(&dx), Some(&d2x), &mut d2y);
    let half: Vec<f64> = difference(tangent_at, h).iter().map(|d| 0.5 * d).collect();
    assert_vectors("second Taylor coefficient", &d2y, &half, 1e-7, 1.0);

    let pull = |params: &[f64], x: &[f64], u: &[f64]| {
        let y = forward(params, x);
        let mut x_adjoint = vec![f64::NAN; x.len()];
        let mut gradient = vec![0.0; params.len()];
        layer.backward(At { n, params, x, y: &y }, u, Some(&mut x_adjoint), Some(&mut gradient));
        [x_adjoint, gradient].concat()
    };
    let pulled = pull(params, x, &u);
    let (left, right) = (dot(&u, &dy), dot(&pulled, &[dx.clone(), v.clone()].concat()));
    assert_vectors("adjoint identity <u, Jv> = <J'u, v>", &[left], &[right], 1e-11, 1.0);

    let mut dx_adjoint = vec![f64::NAN; x.len()];
    let mut d_gradient = vec![0.0; params.len()];
    layer.backward_tangent(at, &v, Some(&dx), &u, &du, Some(&mut dx_adjoint), &mut d_gradient);
    let moved = difference(|t| pull(&shifted(params, t, &v), &shifted(x, t, &dx), &shifted(&u, t, &du)), h);
    assert_vectors("tangent of the reverse pass", &[dx_adjoint, d_gradient].concat(), &moved, 1e-7, 1.0);

    let mut rows = vec![f64::NAN; params.len() * n];
    layer.per_sample_gradient(at, &u, &mut rows);
    let summed: Vec<f64> = rows.chunks_exact(n).map(|row| row.iter().sum()).collect();
    assert_vectors("sum of per-sample gradients", &summed, &pulled[x.len()..], 1e-11, 1.0);
    check_patches(layer, at);
    check_storage(layer, at, &[&v, &dx, &d2x, &u, &du]);
}

/// The law of storage: a layer that can overwrite its input writes the same numbers there, and derivatives do not
/// read what the layer says they do not need.
fn check_storage(layer: &dyn Layer, at: At<'_>, vectors: &[&[f64]; 5]) {
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let mut y = at.x.to_vec();
    if layer.in_place() != InPlace::No {
        layer.forward_in_place(at.n, at.params, &mut y);
        assert_eq!(bits(&y), bits(at.y), "forward in place");
    }
    let expected = bits(&all_derivatives(layer, at, vectors));
    if layer.in_place() == InPlace::Derivatives {
        let in_place = all_derivatives(layer, At { x: &y, ..at }, vectors);
        assert_eq!(bits(&in_place), expected, "derivatives from the output alone");
    }
    if !layer.needs_output() {
        let lost = vec![f64::NAN; at.y.len()];
        let without = all_derivatives(layer, At { y: &lost, ..at }, vectors);
        assert_eq!(bits(&without), expected, "derivatives without the output");
    }
}

/// Everything that a layer computes at a point, after its output.
fn all_derivatives(layer: &dyn Layer, at: At<'_>, &[v, dx, d2x, u, du]: &[&[f64]; 5]) -> Vec<f64> {
    let zeros = |len: usize| vec![0.0; len];
    let (mut dy, mut d2y, mut rows) = (zeros(u.len()), zeros(u.len()), zeros(v.len() * at.n));
    let (mut x_adjoint, mut gradient) = (zeros(dx.len()), zeros(v.len()));
    let (mut dx_adjoint, mut d_gradient) = (zeros(dx.len()), zeros(v.len()));
    layer.tangent(at, v, Some(dx), &mut dy);
    layer.second(at, v, Some(dx), Some(d2x), &mut d2y);
    layer.backward(at, u, Some(&mut x_adjoint), Some(&mut gradient));
    layer.backward_tangent(at, v, Some(dx), u, du, Some(&mut dx_adjoint), &mut d_gradient);
    layer.per_sample_gradient(at, u, &mut rows);
    [dy, d2y, x_adjoint, gradient, dx_adjoint, d_gradient, rows].concat()
}

/// The law of patches: W·p_t + b at every position of every group is the output.
fn check_patches(layer: &dyn Layer, at: At<'_>) {
    let Some(Positions { count, groups }) = layer.positions() else { return };
    let (n, fan_in) = (at.n, layer.fan_in());
    let outputs = at.y.len() / (count * n);
    let (weights, bias) = at.params.split_at(outputs * fan_in);
    let mut patch = vec![f64::NAN; fan_in * n];
    let mut rebuilt = vec![f64::NAN; at.y.len()];
    for position in 0..count {
        for o in 0..outputs {
            layer.patch(n, at.x, Patch { group: o / (outputs / groups), position }, &mut patch);
            let y = &mut rebuilt[(o * count + position) * n..][..n];
            y.fill(bias.get(o).copied().unwrap_or(0.0));
            for (w, p) in weights[o * fan_in..][..fan_in].iter().zip(patch.chunks_exact(n)) {
                axpy(*w, p, y);
            }
        }
    }
    assert_vectors("output from patches", &rebuilt, at.y, 1e-12, 1.0);
}

const ACTIVATIONS: [Activation; 12] = [
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::SOFTPLUS,
    Activation::Softplus { beta: 2.5 },
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Silu,
    Activation::Relu,
    Activation::LeakyRelu { slope: 0.2 },
    Activation::LeakyRelu { slope: -0.5 },
    Activation::Elu { alpha: 1.0 },
    Activation::Elu { alpha: 0.3 },
];

/// Inputs in (−2, 2), 4/len away from each other and 0.4/len from 0: no ties and no kinks.
fn spread(len: usize) -> Vec<f64> {
    let step = (len * 3 / 5..).find(|&s| gcd(s, len) == 1).unwrap();
    (0..len)
        .map(|i| 4.0 * (((i * step) % len) as f64 + 0.5 + 0.1 * (len % 2) as f64) / len as f64 - 2.0)
        .collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Checks the law for `spec` as the first layer of a network, with 1 and with 5 samples.
fn check_first(input: Shape, spec: LayerSpec) {
    let mut layers = vec![spec];
    if let Shape::Image { .. } = input {
        layers.push(LayerSpec::Flatten);
    }
    layers.push(LayerSpec::Linear { outputs: 1, bias: true });
    let network = Network::new(&NetworkSpec { input, layers }).unwrap();
    let layer = network.layer(0).unwrap();
    let len = network.parameters().iter().filter(|p| p.layer == 0).map(|p| p.range.len()).sum();
    for n in [1, 5] {
        let params = normals(&mut stream(3, Purpose::Data, 0), len);
        check_layer(layer, n, &params, &spread(n * input.len()), 4);
    }
}

const IMAGE: Shape = Shape::Image { channels: 2, height: 6, width: 5 };

#[test]
fn linear_layers() {
    for (inputs, outputs, bias) in [(1, 1, true), (3, 4, true), (17, 2, false), (2, 33, true)] {
        check_first(Shape::Features(inputs), LayerSpec::Linear { outputs, bias });
    }
}

#[test]
fn convolutions() {
    // Kernel, stride, padding; one by one, strided, padded, not square, as large as the image.
    let cases = [
        ([1, 1], [1, 1], [0, 0]),
        ([3, 3], [1, 1], [1, 1]),
        ([3, 2], [2, 1], [0, 1]),
        ([2, 5], [1, 3], [1, 2]),
        ([6, 5], [1, 1], [0, 0]),
        ([3, 3], [2, 2], [2, 0]),
        ([1, 1], [2, 3], [1, 1]),
    ];
    for (kernel, stride, padding) in cases {
        for (channels, bias) in [(3, true), (1, false)] {
            let (dilation, groups) = ([1, 1], 1);
            check_first(
                IMAGE,
                LayerSpec::Conv2d { channels, kernel, stride, padding, dilation, groups, bias },
            );
        }
    }
}

#[test]
fn convolutions_with_groups_and_dilation() {
    let wide = Shape::Image { channels: 6, height: 6, width: 5 };
    let cases = [
        ([3, 3], [1, 1], [2, 2], [2, 2]),
        ([2, 3], [2, 1], [1, 2], [3, 2]),
        ([3, 1], [1, 2], [1, 0], [3, 4]),
        ([2, 2], [1, 1], [0, 0], [1, 1]),
    ];
    for (kernel, stride, padding, dilation) in cases {
        // As one, in pairs and threes, and every channel on its own, also with several outputs each.
        for (groups, channels, bias) in
            [(1, 2, true), (2, 4, false), (3, 3, true), (6, 6, true), (6, 12, false)]
        {
            check_first(
                wide,
                LayerSpec::Conv2d { channels, kernel, stride, padding, dilation, groups, bias },
            );
        }
    }
}

#[test]
fn normalisations() {
    for affine in [true, false] {
        for epsilon in [1e-5, 0.3] {
            check_first(IMAGE, LayerSpec::LayerNorm { epsilon, affine });
            check_first(Shape::Features(7), LayerSpec::LayerNorm { epsilon, affine });
            check_first(Shape::Features(2), LayerSpec::LayerNorm { epsilon, affine });
        }
    }
    for bias in [true, false] {
        check_first(IMAGE, LayerSpec::Scale { bias });
        check_first(Shape::Features(7), LayerSpec::Scale { bias });
    }
}

#[test]
fn pooling_and_flatten() {
    let cases = [
        ([2, 2], None),
        ([3, 2], Some([1, 1])),
        ([3, 3], Some([2, 1])),
        ([1, 1], None),
        ([2, 2], Some([3, 3])),
        ([6, 5], None),
    ];
    for (kernel, stride) in cases {
        check_first(IMAGE, LayerSpec::AveragePool { kernel, stride });
        check_first(IMAGE, LayerSpec::MaxPool { kernel, stride });
    }
    check_first(IMAGE, LayerSpec::Flatten);
    check_first(Shape::Features(3), LayerSpec::Flatten);
    check_first(IMAGE, LayerSpec::Identity);
    check_first(Shape::Features(3), LayerSpec::Identity);
}

#[test]
fn activations() {
    for function in ACTIVATIONS {
        check_first(Shape::Features(7), LayerSpec::Activation { function });
        check_first(IMAGE, LayerSpec::Activation { function });
    }
}
