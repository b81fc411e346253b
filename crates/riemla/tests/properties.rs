//! Laws that must hold for any network: random specifications, weights and data.

mod models;

use models::{ACTIVATIONS, GAUSSIAN, data, network, normals};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use riemla::curvature::{Subset, ggn_diagonal, ggn_full, hessian_diagonal, hessian_full};
use riemla::linalg::Matrix;
use riemla::linalg::vector::dot;
use riemla::nn::{Activation, LayerSpec, NetworkSpec, Shape, Trace, pack};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, Objective, Prior};
use riemla::testing::{assert_vectors, check_twice_differentiable};

/// The same cases in every run, and no file of past failures.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(2023), ..Default::default() }
}

fn activation() -> impl Strategy<Value = Activation> {
    prop::sample::select(ACTIVATIONS.to_vec())
}

fn mlp_spec() -> impl Strategy<Value = NetworkSpec> {
    let hidden = prop::collection::vec((1usize..6, any::<bool>(), activation()), 0..3);
    (1usize..4, hidden, 1usize..4, any::<bool>()).prop_map(|(inputs, hidden, outputs, bias)| {
        let mut layers = Vec::new();
        for (outputs, bias, function) in hidden {
            layers.push(LayerSpec::Linear { outputs, bias });
            layers.push(LayerSpec::Activation { function });
        }
        layers.push(LayerSpec::Linear { outputs, bias });
        NetworkSpec { input: Shape::Features(inputs), layers }
    })
}

fn pool() -> impl Strategy<Value = Option<LayerSpec>> {
    let size = || prop::array::uniform2(1usize..3);
    prop_oneof![
        Just(None),
        (size(), prop::option::of(size()))
            .prop_map(|(kernel, stride)| Some(LayerSpec::AveragePool { kernel, stride })),
        (size(), prop::option::of(size()))
            .prop_map(|(kernel, stride)| Some(LayerSpec::MaxPool { kernel, stride })),
    ]
}

fn cnn_spec() -> impl Strategy<Value = NetworkSpec> {
    let input = (1usize..3, 4usize..7, 4usize..7);
    let sizes = (
        prop::array::uniform2(1usize..4),
        prop::array::uniform2(1usize..3),
        prop::array::uniform2(0usize..2),
    );
    (input, 1usize..4, sizes, any::<bool>(), activation(), pool(), 1usize..3).prop_map(
        |((c, height, width), channels, (kernel, stride, padding), bias, function, pool, outputs)| {
            let mut layers = vec![
                LayerSpec::Conv2d { channels, kernel, stride, padding, dilation: [1, 1], groups: 1, bias },
                LayerSpec::Activation { function },
            ];
            // Strided images can be too small for a window.
            let rows = (height + 2 * padding[0] - kernel[0]) / stride[0] + 1;
            let columns = (width + 2 * padding[1] - kernel[1]) / stride[1] + 1;
            layers.extend(pool.filter(|_| rows >= 2 && columns >= 2));
            layers.extend([LayerSpec::Flatten, LayerSpec::Linear { outputs, bias: true }]);
            NetworkSpec { input: Shape::Image { channels: c, height, width }, layers }
        },
    )
}

/// Layers that keep `width` features, sums of branches among them.
fn same_width(width: usize) -> impl Strategy<Value = LayerSpec> {
    let linear = any::<bool>().prop_map(move |bias| LayerSpec::Linear { outputs: width, bias });
    let leaf = prop_oneof![
        3 => linear,
        2 => activation().prop_map(|function| LayerSpec::Activation { function }),
        1 => any::<bool>().prop_map(|affine| LayerSpec::LayerNorm { epsilon: 0.1, affine }),
        1 => any::<bool>().prop_map(|bias| LayerSpec::Scale { bias }),
        1 => Just(LayerSpec::Identity),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        (prop::collection::vec(inner.clone(), 1..3), prop::collection::vec(inner, 0..2))
            .prop_map(|(body, shortcut)| LayerSpec::Residual { body, shortcut })
    })
}

fn residual_spec() -> impl Strategy<Value = NetworkSpec> {
    let layers = (2usize..4)
        .prop_flat_map(|width| (Just(width), prop::collection::vec(same_width(width), 1..4), 1usize..3));
    layers.prop_map(|(width, mut layers, outputs)| {
        layers.push(LayerSpec::Linear { outputs, bias: true });
        NetworkSpec { input: Shape::Features(width), layers }
    })
}

fn spec() -> impl Strategy<Value = NetworkSpec> {
    prop_oneof![mlp_spec(), cnn_spec(), residual_spec()]
}

/// A likelihood that goes with the number of outputs.
fn likelihood_for(outputs: usize, pick: bool) -> Likelihood {
    match (outputs, pick) {
        (_, true) => GAUSSIAN,
        (1, false) => Likelihood::Bernoulli,
        _ => Likelihood::Categorical,
    }
}

/// The loss of a network on random data, and random weights.
fn problem(spec: &NetworkSpec, gaussian: bool, n: usize, seed: u64) -> (NetworkLoss, Vec<f64>) {
    let network = network(spec);
    let likelihood = likelihood_for(network.outputs(), gaussian);
    let data = data(&network, likelihood, n, seed);
    let prior = Prior::isotropic(0.7, network.dim()).unwrap();
    let theta = normals(seed + 9, network.dim()).iter().map(|e| 0.7 * e).collect();
    (NetworkLoss::new(network, data.clone(), likelihood, prior).unwrap(), theta)
}

/// Σ JᵀΛJ, column by column: J·eₖ from the tangent pass, Λ from the likelihood.
fn ggn_by_tangents(loss: &NetworkLoss, theta: &[f64], n: usize, seed: u64) -> Matrix {
    let network = loss.network();
    let data = data(network, loss.likelihood(), n, seed);
    let x = pack(data.inputs(), data.features(), &(0..n).collect::<Vec<_>>());
    let mut values = Trace::new(network, n);
    network.forward(theta, &x, &mut values);
    let columns: Vec<Vec<f64>> = (0..theta.len())
        .map(|k| {
            let mut unit = vec![0.0; theta.len()];
            unit[k] = 1.0;
            let mut tangents = Trace::new(network, n);
            network.tangent(theta, &unit, &x, &values, &mut tangents);
            tangents.output().to_vec()
        })
        .collect();
    let mut ggn = Matrix::zeros(theta.len(), theta.len());
    for (k, column) in columns.iter().enumerate() {
        let product = loss.likelihood().fisher_product(n, values.output(), column);
        for (l, other) in columns.iter().enumerate() {
            ggn.column_mut(k)[l] = dot(other, &product);
        }
    }
    ggn
}

fn gradient_without_prior(loss: &NetworkLoss, theta: &[f64]) -> Vec<f64> {
    let prior = Prior::isotropic(0.0, theta.len()).unwrap();
    let mut gradient = vec![0.0; theta.len()];
    loss.with(loss.likelihood(), prior).unwrap().value_and_gradient(theta, &mut gradient);
    gradient
}

/// The entries of `full` in the rows and columns `indices`.
fn sub_matrix(full: &Matrix, indices: &[usize]) -> Vec<f64> {
    indices.iter().flat_map(|&j| indices.iter().map(move |&i| full[(i, j)])).collect()
}

fn check_subset(loss: &NetworkLoss, theta: &[f64], subset: &Subset) {
    let all = Subset::All.ranges(loss.network()).unwrap();
    let part = subset.ranges(loss.network()).unwrap();
    let indices: Vec<usize> = part.indices().collect();
    let ggn = sub_matrix(&ggn_full(loss, theta, &all), &indices);
    assert_vectors("GGN of a subset", ggn_full(loss, theta, &part).as_slice(), &ggn, 1e-12, 1e-9);
    let hessian = sub_matrix(&hessian_full(loss, theta, &all).unwrap(), &indices);
    let of_subset = hessian_full(loss, theta, &part).unwrap();
    assert_vectors("Hessian of a subset", of_subset.as_slice(), &hessian, 1e-12, 1e-9);
    let k = indices.len();
    let diagonal = |matrix: &[f64]| (0..k).map(|i| matrix[i * k + i]).collect::<Vec<_>>();
    assert_vectors("GGN diagonal", &ggn_diagonal(loss, theta, &part), &diagonal(&ggn), 1e-12, 1e-9);
    let entries = hessian_diagonal(loss, theta, &part).unwrap();
    assert_vectors("Hessian diagonal", &entries, &diagonal(&hessian), 1e-11, 1e-9);
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn specifications_survive_json_and_names_tile_the_weights(spec in spec()) {
        let text = serde_json::to_string(&spec).unwrap();
        prop_assert_eq!(&serde_json::from_str::<NetworkSpec>(&text).unwrap(), &spec);
        let network = network(&spec);
        let mut end = 0;
        for p in network.parameters() {
            prop_assert_eq!(p.range.start, end);
            prop_assert_eq!(p.range.len(), p.dims.iter().product::<usize>());
            let prefix = format!("{}.", p.layer);
            let stack = spec.layers.iter().all(|layer| !matches!(layer, LayerSpec::Residual { .. }));
            prop_assert!(!stack || p.name.starts_with(&prefix), "{}", p.name);
            end = p.range.end;
        }
        prop_assert_eq!(end, network.dim());
        let mut names: Vec<_> = network.parameters().iter().map(|p| &p.name).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), network.parameters().len());
        prop_assert_eq!(network.layer_ranges().pop(), Some(network.last_layer()));
    }

    #[test]
    fn losses_obey_their_laws(spec in spec(), gaussian: bool, n in 1usize..12, seed in 0u64..1000) {
        let (loss, theta) = problem(&spec, gaussian, n, seed);
        check_twice_differentiable(&loss, &theta, seed);
        let center: Vec<f64> = theta.iter().map(|t| 0.8 * t).collect();
        check_twice_differentiable(&LinearizedLoss::new(loss, &center).unwrap(), &theta, seed);
    }
}

proptest! {
    #![proptest_config(config(32))]

    #[test]
    fn ggn_is_the_sum_over_jacobians(spec in spec(), gaussian: bool, n in 1usize..12, seed in 0u64..1000) {
        let (loss, theta) = problem(&spec, gaussian, n, seed);
        let ggn = ggn_full(&loss, &theta, &Subset::All.ranges(loss.network()).unwrap());
        let expected = ggn_by_tangents(&loss, &theta, n, seed);
        assert_vectors("GGN", ggn.as_slice(), expected.as_slice(), 1e-11, 1e-9);
    }

    #[test]
    fn hessian_is_symmetric_and_the_derivative_of_the_gradient(
        spec in spec(), gaussian: bool, n in 1usize..12, seed in 0u64..1000,
    ) {
        let (loss, theta) = problem(&spec, gaussian, n, seed);
        let hessian = hessian_full(&loss, &theta, &Subset::All.ranges(loss.network()).unwrap()).unwrap();
        let h = 1e-5;
        let mut by_difference = Vec::new();
        for k in 0..theta.len() {
            let shifted = |h: f64| {
                let mut theta = theta.clone();
                theta[k] += h;
                gradient_without_prior(&loss, &theta)
            };
            by_difference.extend(shifted(h).iter().zip(shifted(-h)).map(|(p, m)| (p - m) / (2.0 * h)));
        }
        assert_vectors("Hessian", hessian.as_slice(), &by_difference, 1e-6, 1e-2);
        for j in 0..theta.len() {
            for i in 0..j {
                prop_assert_eq!(hessian[(i, j)], hessian[(j, i)]);
            }
        }
    }

    #[test]
    fn subsets_and_diagonals_are_parts_of_the_whole(
        spec in spec(), gaussian: bool, seed in 0u64..1000, mask in 1u32..64,
    ) {
        let (loss, theta) = problem(&spec, gaussian, 6, seed);
        check_subset(&loss, &theta, &Subset::All);
        check_subset(&loss, &theta, &Subset::LastLayer);
        let names = loss.network().parameters().iter().enumerate();
        let names: Vec<String> =
            names.filter(|(i, _)| mask & (1 << i) != 0).map(|(_, p)| p.name.clone()).rev().collect();
        if !names.is_empty() {
            check_subset(&loss, &theta, &Subset::Parameters(names));
        }
    }

    #[test]
    fn ggn_of_a_linear_model_is_its_hessian(
        inputs in 1usize..6, outputs in 1usize..4, gaussian: bool, bias: bool, seed in 0u64..1000,
    ) {
        let layers = vec![LayerSpec::Linear { outputs, bias }];
        let spec = NetworkSpec { input: Shape::Features(inputs), layers };
        let (loss, theta) = problem(&spec, gaussian, 9, seed);
        let all = Subset::All.ranges(loss.network()).unwrap();
        let hessian = hessian_full(&loss, &theta, &all).unwrap();
        let ggn = ggn_full(&loss, &theta, &all);
        assert_vectors("GGN of a linear model", ggn.as_slice(), hessian.as_slice(), 1e-13, 1e-9);
    }
}
