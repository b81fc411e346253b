//! Kronecker-factored and low-rank curvature and the empirical Fisher, against dense matrices.
//!
//! Longer than other files on purpose: every structure is held against the same dense matrices, and the helpers that make
//! these would have to be shared by files that each use half of them.

mod common;
mod models;

use std::ops::Range;
use std::sync::Arc;

use common::{assert_close, banana, relative_error, snelson};
use models::GAUSSIAN;
use riemla::Control;
use riemla::Error;
use riemla::curvature::{
    Curvature, CurvatureProduct, KroneckerCurvature, Laplace, LaplaceConfig, LowRankCurvature, Precision,
    PriorChoice, Structure, Subset, SubsetRanges, empirical_fisher_diagonal, empirical_fisher_full,
    for_each_factor, ggn_diagonal, ggn_full, ggn_vector_product,
};
use riemla::data::Dataset;
use riemla::linalg::Matrix;
use riemla::linalg::factor::symmetric_eigenvalues;
use riemla::nn::{Activation, LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior, PriorPrecision};
use riemla::posterior::{NetworkOutputs, Outputs as _};
use riemla::testing::check_precision;
use riemla::train::{Lbfgs, lbfgs};

const OUTER: [Curvature; 2] = [Curvature::Ggn, Curvature::EmpiricalFisher];
const LOW_RANK: Structure = Structure::LowRank { rank: 7 };
const STRUCTURES: [Structure; 4] = [Structure::Full, Structure::Diagonal, Structure::Kronecker, LOW_RANK];

fn all(network: &Network) -> SubsetRanges {
    Subset::All.ranges(network).unwrap()
}

fn config(curvature: Curvature, structure: Structure) -> LaplaceConfig {
    LaplaceConfig { curvature, structure, prior: PriorChoice::Keep, ..Default::default() }
}

/// The dense matrix of a precision minus `delta` on the diagonal.
fn dense(precision: &dyn Precision, delta: f64) -> Matrix {
    let k = precision.dim();
    let mut matrix = Matrix::zeros(k, k);
    for j in 0..k {
        let mut unit = vec![0.0; k];
        unit[j] = 1.0;
        precision.mul(&unit, matrix.column_mut(j));
        matrix.column_mut(j)[j] -= delta;
    }
    matrix
}

fn kronecker_dense(loss: &NetworkLoss, theta: &[f64], curvature: Curvature, subset: &SubsetRanges) -> Matrix {
    let kronecker = KroneckerCurvature::new(loss, theta, curvature, subset).unwrap();
    dense(&kronecker.precision(&vec![1.0; subset.len()]).unwrap(), 1.0)
}

/// The matrix with everything outside the diagonal blocks set to 0.
fn diagonal_blocks(mut matrix: Matrix, blocks: &[Range<usize>]) -> Matrix {
    for j in 0..matrix.cols() {
        let block = blocks.iter().find(|b| b.contains(&j)).unwrap();
        let column = matrix.column_mut(j).iter_mut().enumerate();
        column.filter(|(i, _)| !block.contains(i)).for_each(|(_, v)| *v = 0.0);
    }
    matrix
}

#[test]
fn every_structure_keeps_the_law_of_precisions() {
    for (network, likelihood, layers) in [
        (models::mlp(&[2, 5, 3], Activation::Tanh), Likelihood::Categorical, 2),
        (models::mlp(&[3, 4, 2], Activation::SOFTPLUS), GAUSSIAN, 2),
        (models::network(&models::small_cnn()), Likelihood::Categorical, 3),
        (models::network(&models::residual_mlp()), GAUSSIAN, 7),
        (models::network(&models::residual_cnn()), Likelihood::Categorical, 6),
    ] {
        let loss = models::loss(&network, likelihood, 30, 0.3);
        let theta = network.initialize(1);
        let name = |i: usize| network.parameters()[i].name.clone();
        let parts = Subset::Parameters(vec![name(1), name(network.parameters().len() - 1)]);
        let weights = Subset::Parameters(vec![name(0)]);
        for subset in [Subset::All, Subset::LastLayer, parts, weights] {
            for (curvature, structure) in OUTER.into_iter().flat_map(|c| STRUCTURES.map(|s| (c, s))) {
                let mut config = LaplaceConfig { subset: subset.clone(), ..config(curvature, structure) };
                check_precision(
                    Laplace::fit(&loss, &theta, &config, Control::default()).unwrap().gaussian.precision(),
                    1,
                );
                let per_layer = (0..layers).map(|l| 0.1 * 9f64.powi(l)).collect();
                config.prior = PriorChoice::Fixed(PriorPrecision::PerLayer(per_layer));
                check_precision(
                    Laplace::fit(&loss, &theta, &config, Control::default()).unwrap().gaussian.precision(),
                    2,
                );
            }
        }
    }
}

#[test]
fn empirical_fisher_is_the_sum_of_squared_gradients() {
    for (sizes, likelihood) in [([2, 4, 3], Likelihood::Categorical), ([2, 4, 2], GAUSSIAN)] {
        let network = models::mlp(&sizes, Activation::Tanh);
        let (k, n) = (network.dim(), 9);
        let data = models::data(&network, likelihood, n, 5);
        let prior = Prior::isotropic(0.0, k).unwrap();
        let theta = network.initialize(3);
        let mut expected = Matrix::zeros(k, k);
        for row in 0..n {
            let one = NetworkLoss::new(network.clone(), data.clone(), likelihood, prior.clone())
                .and_then(|loss| loss.on_rows(&[row]))
                .unwrap();
            let mut g = vec![0.0; k];
            one.value_and_gradient(&theta, &mut g);
            // On one of n rows the loss is scaled by n.
            for j in 0..k {
                expected
                    .column_mut(j)
                    .iter_mut()
                    .zip(&g)
                    .for_each(|(e, gi)| *e += gi * g[j] / (n * n) as f64);
            }
        }
        let loss = NetworkLoss::new(network.clone(), data.clone(), likelihood, prior).unwrap();
        let full = empirical_fisher_full(&loss, &theta, &all(&network));
        assert_close("empirical Fisher", full.as_slice(), expected.as_slice(), 1e-12);
        let entries: Vec<f64> = (0..k).map(|i| expected[(i, i)]).collect();
        let diagonal = empirical_fisher_diagonal(&loss, &theta, &all(&network));
        assert_close("its diagonal", &diagonal, &entries, 1e-12);
    }
}

#[test]
fn products_without_the_matrix_are_those_with_it() {
    let network = models::network(&models::small_cnn());
    for n in [3, 700] {
        let loss = models::loss(&network, Likelihood::Categorical, n, 2.0);
        let theta = network.initialize(1);
        for subset in [Subset::All, Subset::LastLayer] {
            let ranges = subset.ranges(&network).unwrap();
            let v = models::normals(8, ranges.len());
            let (mut out, mut expected) = (vec![0.0; v.len()], vec![0.0; v.len()]);
            for (curvature, matrix) in OUTER
                .into_iter()
                .zip([ggn_full(&loss, &theta, &ranges), empirical_fisher_full(&loss, &theta, &ranges)])
            {
                CurvatureProduct::new(&loss, &theta, curvature, &ranges).unwrap().apply(&v, &mut out);
                matrix.mul_vector(&v, &mut expected);
                assert_close("product", &out, &expected, 1e-11);
            }
            if subset == Subset::All {
                let product = ggn_vector_product(&loss, &theta, &v).unwrap();
                ggn_full(&loss, &theta, &ranges).mul_vector(&v, &mut expected);
                assert_close("ggn_vector_product", &product, &expected, 1e-11);
            }
        }
    }
}

/// Σ rᵀr over the gradients of every sample and column of S, without any structure.
fn by_rows(loss: &NetworkLoss, theta: &[f64], ranges: &SubsetRanges) -> Matrix {
    let k = ranges.len();
    let mut sum = Matrix::zeros(k, k);
    for_each_factor(loss, theta, ranges, |n, rows| {
        for (a, left) in rows.chunks_exact(n).enumerate() {
            for (b, right) in rows.chunks_exact(n).enumerate() {
                sum.column_mut(a)[b] += left.iter().zip(right).map(|(l, r)| l * r).sum::<f64>();
            }
        }
    });
    sum
}

#[test]
fn one_linear_layer_gives_the_numbers_of_the_general_path() {
    let tanh = LayerSpec::Activation { function: Activation::Tanh };
    let linear = |outputs, bias| LayerSpec::Linear { outputs, bias };
    // A layer after the last one with weights, and one without a bias below.
    let bounded = NetworkSpec {
        input: Shape::Features(3),
        layers: vec![linear(4, false), tanh.clone(), linear(3, true), tanh],
    };
    let named = |names: &[&str]| Subset::Parameters(names.iter().map(ToString::to_string).collect());
    let cases = [
        (models::network(&bounded), vec![Subset::LastLayer, named(&["0.weight"]), named(&["2.bias"])]),
        (models::mlp(&[2, 5, 1], Activation::Tanh), vec![Subset::LastLayer, named(&["0.weight", "0.bias"])]),
        (models::network(&models::small_cnn()), vec![Subset::LastLayer]),
    ];
    for (network, subsets) in cases {
        let likelihood = if network.outputs() == 1 { GAUSSIAN } else { Likelihood::Categorical };
        // More samples than a panel has rows, and a scale.
        let whole = models::loss(&network, likelihood, 1300, 2.0);
        let loss = whole.on_rows(&(0..700).collect::<Vec<_>>()).unwrap();
        let theta = network.initialize(4);
        for subset in subsets {
            let ranges = subset.ranges(&network).unwrap();
            let mut expected = by_rows(&loss, &theta, &ranges);
            riemla::linalg::vector::scale(loss.scale(), expected.as_mut_slice());
            let found = ggn_full(&loss, &theta, &ranges);
            assert_close("GGN", found.as_slice(), expected.as_slice(), 1e-12);
            let entries: Vec<f64> = (0..ranges.len()).map(|i| expected[(i, i)]).collect();
            assert_close("its diagonal", &ggn_diagonal(&loss, &theta, &ranges), &entries, 1e-12);
            // The empirical Fisher of all weights takes the general path.
            let every = empirical_fisher_full(&loss, &theta, &all(&network));
            let part = |j| ranges.indices().map(move |i| (i, j)).collect::<Vec<_>>();
            let expected: Vec<f64> = ranges.indices().flat_map(part).map(|place| every[place]).collect();
            let fisher = empirical_fisher_full(&loss, &theta, &ranges);
            assert_close("empirical Fisher", fisher.as_slice(), &expected, 1e-12);
        }
    }
}

/// A convolution (with or without positions to share weights over) whose outputs are the model's.
fn conv_outputs(kernel: [usize; 2], stride: [usize; 2]) -> Arc<Network> {
    models::network(&NetworkSpec {
        input: Shape::Image { channels: 2, height: 3, width: 4 },
        layers: vec![
            LayerSpec::Conv2d {
                channels: 2,
                kernel,
                stride,
                padding: [1, 0],
                dilation: [1, 1],
                groups: 1,
                bias: true,
            },
            LayerSpec::Flatten,
        ],
    })
}

#[test]
fn kronecker_blocks_are_exact_where_theory_says_so() {
    // One sample: every layer's block, for GGN and empirical Fisher, whatever the likelihood.
    let image = Shape::Image { channels: 2, height: 3, width: 3 };
    let conv = LayerSpec::Conv2d {
        channels: 3,
        kernel: [3, 3],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
        groups: 1,
        bias: true,
    };
    let tanh = LayerSpec::Activation { function: Activation::Tanh };
    let linear = LayerSpec::Linear { outputs: 3, bias: false };
    let one_position = NetworkSpec { input: image, layers: vec![conv, tanh, LayerSpec::Flatten, linear] };
    for (network, columns) in [
        (models::mlp(&[3, 4, 5, 3], Activation::Tanh), OUTER.to_vec()),
        // Several columns of S share the one patch; and so does the residual.
        (models::network(&one_position), OUTER.to_vec()),
    ] {
        let loss = models::loss(&network, Likelihood::Categorical, 1, 1.0);
        let theta = network.initialize(2);
        for curvature in columns {
            let exact = match curvature {
                Curvature::Ggn => ggn_full(&loss, &theta, &all(&network)),
                _ => empirical_fisher_full(&loss, &theta, &all(&network)),
            };
            let exact = diagonal_blocks(exact, &network.layer_ranges());
            let kronecker = kronecker_dense(&loss, &theta, curvature, &all(&network));
            assert_close("one sample", kronecker.as_slice(), exact.as_slice(), 1e-10);
        }
    }
    // Linear in the weights with Gaussian noise: the adjoints are the same for all samples and
    // positions, so the whole GGN is exact, with the scaling by the number of positions.
    for network in [
        models::mlp(&[4, 3], Activation::Tanh),
        conv_outputs([5, 4], [1, 1]),
        conv_outputs([2, 2], [1, 1]),
        conv_outputs([3, 2], [2, 1]),
    ] {
        let loss = models::loss(&network, GAUSSIAN, 50, 1.0);
        let theta = network.initialize(2);
        let kronecker = kronecker_dense(&loss, &theta, Curvature::Ggn, &all(&network));
        let exact = ggn_full(&loss, &theta, &all(&network));
        assert_close("linear model", kronecker.as_slice(), exact.as_slice(), 1e-10);
        // So its evidence is that of the dense matrix, maximum included.
        let fit = |structure| {
            let config = LaplaceConfig { structure, ..Default::default() };
            Laplace::fit(&loss, &theta, &config, Control::default()).unwrap()
        };
        let (a, b) = (fit(Structure::Kronecker), fit(Structure::Full));
        let ml = [a.log_marginal_likelihood.unwrap(), b.log_marginal_likelihood.unwrap()];
        assert_close("log marginal likelihood", &ml[..1], &ml[1..], 1e-9);
        assert_close(
            "log det",
            &[a.gaussian.precision().log_det()],
            &[b.gaussian.precision().log_det()],
            1e-6,
        );
    }
}

/// Blocks that Kronecker factors keep: every layer, but in a convolution with groups every group's
/// weights and the biases.
fn kept_blocks(network: &Network, grouped: &[(&str, usize)]) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    for layer in network.layer_ranges() {
        let own = network.parameters().iter().filter(|p| layer.contains(&p.range.start));
        let own: Vec<_> = own.collect();
        match grouped.iter().find(|(name, _)| own[0].name.starts_with(name)) {
            None => blocks.push(layer),
            Some((_, groups)) => {
                let (start, size) = (own[0].range.start, own[0].range.len() / groups);
                blocks.extend((0..*groups).map(|g| start + g * size..start + (g + 1) * size));
                blocks.extend(own[1..].iter().map(|p| p.range.clone()));
            }
        }
    }
    blocks
}

#[test]
fn kronecker_blocks_of_normalisations_and_groups_are_exact_where_theory_says_so() {
    // Parameters that are no matrix have exact blocks for any number of samples.
    for spec in [models::residual_mlp(), models::residual_cnn()] {
        let network = models::network(&spec);
        let loss = models::loss(&network, Likelihood::Categorical, 40, 1.0);
        let theta: Vec<f64> = models::normals(6, network.dim());
        let chosen = |name: &str| name.starts_with("1.body.0.") || name.starts_with("0.body.1.");
        let names = network.parameters().iter().map(|p| p.name.clone()).filter(|name| chosen(name));
        let scales: Vec<String> = if spec == models::residual_mlp() {
            names.filter(|name| name.starts_with('1')).collect()
        } else {
            names.filter(|name| name.starts_with('0')).collect()
        };
        for part in [&scales[..], &scales[..1], &scales[1..]] {
            let ranges = Subset::Parameters(part.to_vec()).ranges(&network).unwrap();
            let kronecker = kronecker_dense(&loss, &theta, Curvature::Ggn, &ranges);
            let exact = ggn_full(&loss, &theta, &ranges);
            assert_close(&format!("{part:?}"), kronecker.as_slice(), exact.as_slice(), 1e-10);
        }
    }
    // One sample and one position: the blocks of groups, too.
    let conv = LayerSpec::Conv2d {
        channels: 6,
        kernel: [3, 2],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 2],
        groups: 2,
        bias: true,
    };
    let network = models::network(&NetworkSpec {
        input: Shape::Image { channels: 4, height: 3, width: 3 },
        layers: vec![
            conv,
            LayerSpec::Activation { function: Activation::Tanh },
            LayerSpec::Flatten,
            LayerSpec::Residual {
                body: vec![LayerSpec::Linear { outputs: 6, bias: true }],
                shortcut: vec![LayerSpec::LayerNorm { epsilon: 1e-2, affine: true }],
            },
            LayerSpec::Linear { outputs: 3, bias: true },
        ],
    });
    let loss = models::loss(&network, Likelihood::Categorical, 1, 1.0);
    let theta = models::normals(3, network.dim());
    let exact =
        diagonal_blocks(ggn_full(&loss, &theta, &all(&network)), &kept_blocks(&network, &[("0.", 2)]));
    let kronecker = kronecker_dense(&loss, &theta, Curvature::Ggn, &all(&network));
    assert_close("groups", kronecker.as_slice(), exact.as_slice(), 1e-10);
}

/// Gradients of rank one take a shorter way than others: both are xᵀP⁻¹x.
#[test]
fn kronecker_variances_do_not_depend_on_the_rank_of_the_gradient() {
    let network = models::mlp(&[3, 4, 2], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 30, 0.3);
    let theta = network.initialize(1);
    let laplace =
        Laplace::fit(&loss, &theta, &config(Curvature::Ggn, Structure::Kronecker), Control::default())
            .unwrap();
    let (p, k) = (laplace.gaussian.precision(), network.dim());
    let mut rank_one = vec![0.0; k];
    let (a, b) = (models::normals(1, 4), models::normals(2, 4));
    for o in 0..4 {
        (0..3).for_each(|i| rank_one[3 * o + i] = a[i] * b[o]);
        rank_one[12 + o] = a[3] * b[o];
    }
    // The second layer's part stays 0; then nearly of rank one, then not at all.
    let mut nearly = rank_one.clone();
    nearly[5] += 1e-9;
    for x in [rank_one, nearly, models::normals(3, k), vec![0.0; k]] {
        let mut solved = x.clone();
        p.solve(&mut solved);
        let expected: f64 = x.iter().zip(&solved).map(|(a, b)| a * b).sum();
        let found = p.inverse_quadratic(&mut x.clone(), 1)[0];
        assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
    }
}

#[test]
fn kronecker_blocks_lie_in_the_flat_order_of_the_weights() {
    let (inputs, hidden, outputs, n) = (2, 3, 4, 10);
    let network = models::mlp(&[inputs, hidden, outputs], Activation::Tanh);
    let data = models::data(&network, Likelihood::Categorical, n, 5);
    let theta = network.initialize(4);
    let (w1, rest) = theta.split_at(hidden * inputs);
    let (b1, rest) = rest.split_at(hidden);
    let (w2, b2) = rest.split_at(outputs * hidden);
    let mut factors = [Matrix::zeros(3, 3), Matrix::zeros(3, 3), Matrix::zeros(4, 4), Matrix::zeros(4, 4)];
    let mut add = |which: usize, i: usize, j: usize, v: f64| factors[which].column_mut(j)[i] += v;
    for x in data.inputs().chunks_exact(inputs) {
        let h: Vec<f64> = (0..hidden)
            .map(|o| (b1[o] + (0..inputs).map(|i| w1[o * inputs + i] * x[i]).sum::<f64>()).tanh())
            .collect();
        let f: Vec<f64> = (0..outputs)
            .map(|o| (b2[o] + (0..hidden).map(|i| w2[o * hidden + i] * h[i]).sum::<f64>()).exp())
            .collect();
        let p: Vec<f64> = f.iter().map(|v| v / f.iter().sum::<f64>()).collect();
        let lambda = |i: usize, j: usize| p[i] * (f64::from(u8::from(i == j)) - p[j]);
        let (x1, h1) = ([x, &[1.0]].concat(), [&h[..], &[1.0]].concat());
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            add(0, i, j, x1[i] * x1[j] / n as f64);
            let through: f64 =
                (0..16).map(|s| w2[s / 4 * hidden + i] * lambda(s / 4, s % 4) * w2[s % 4 * hidden + j]).sum();
            add(1, i, j, (1.0 - h[i] * h[i]) * through * (1.0 - h[j] * h[j]));
        }
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            add(2, i, j, h1[i] * h1[j] / n as f64);
            add(3, i, j, lambda(i, j));
        }
    }
    // Entry (output o, input i) at start + o·fan_in + i, bias o after all weights.
    let place = |layer: usize, o: usize, i: usize| match layer {
        0 if i < inputs => o * inputs + i,
        0 => hidden * inputs + o,
        _ if i < hidden => 9 + o * hidden + i,
        _ => 9 + outputs * hidden + o,
    };
    let mut expected = Matrix::zeros(network.dim(), network.dim());
    for layer in 0..2 {
        let (a, b) = (&factors[2 * layer], &factors[2 * layer + 1]);
        for (o, q, i, j) in (0..b.rows()).flat_map(|o| {
            let inner = move |q| (0..a.rows()).flat_map(move |i| (0..a.rows()).map(move |j| (o, q, i, j)));
            (0..b.rows()).flat_map(inner)
        }) {
            expected.column_mut(place(layer, q, j))[place(layer, o, i)] = a[(i, j)] * b[(o, q)];
        }
    }
    let loss = models::loss(&network, Likelihood::Categorical, n, 1.0);
    let kronecker = kronecker_dense(&loss, &theta, Curvature::Ggn, &all(&network));
    assert_close("blocks", kronecker.as_slice(), expected.as_slice(), 1e-12);
    // A subset keeps the chosen rows and columns of A: here the weights of the first, the biases of
    // the second layer.
    let subset = Subset::Parameters(vec!["0.weight".into(), "2.bias".into()]).ranges(&network).unwrap();
    let chosen: Vec<usize> = subset.indices().collect();
    let part = kronecker_dense(&loss, &theta, Curvature::Ggn, &subset);
    let entries: Vec<f64> =
        chosen.iter().flat_map(|&j| chosen.iter().map(move |&i| (i, j))).map(|at| expected[at]).collect();
    assert_close("blocks of a subset", part.as_slice(), &entries, 1e-12);
}

/// Trained banana classifier (K = 354) with δ = 1.
fn trained() -> (NetworkLoss, Vec<f64>) {
    let f = banana();
    let loss = f.loss(1.0);
    let mut theta = f.array("theta").to_vec();
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    (loss, theta)
}

#[test]
fn kronecker_is_closer_to_the_full_curvature_than_the_diagonal() {
    let (loss, theta) = trained();
    let fit = |structure| {
        Laplace::fit(&loss, &theta, &config(Curvature::Ggn, structure), Control::default()).unwrap()
    };
    let [full, diagonal, kronecker] = [Structure::Full, Structure::Diagonal, Structure::Kronecker].map(fit);
    let log_det = |l: &Laplace| l.gaussian.precision().log_det();
    let off = [&diagonal, &kronecker].map(|l| (log_det(l) - log_det(&full)).abs());
    assert!(off[1] < off[0], "log det off by {:.2} (diagonal), {:.2} (Kronecker)", off[0], off[1]);
    let matrix = |l: &Laplace| dense(l.gaussian.precision(), 1.0);
    let exact = matrix(&full);
    let error = |l: &Laplace| relative_error(matrix(l).as_slice(), exact.as_slice());
    let errors = [error(&diagonal), error(&kronecker)];
    assert!(
        errors[1] < errors[0],
        "Frobenius errors {:.3} (diagonal), {:.3} (Kronecker)",
        errors[0],
        errors[1]
    );
    println!("log det off by {off:.2?}, Frobenius errors {errors:.3?} (diagonal, Kronecker)");
}

#[test]
fn low_rank_of_full_rank_is_the_dense_matrix() {
    for f in [banana(), snelson()] {
        let (loss, theta) = (f.loss(0.7), f.array("theta"));
        let subset = if f.name == "banana" { Subset::LastLayer } else { Subset::All };
        let k = subset.ranges(&f.network).unwrap().len();
        for curvature in OUTER {
            let fit = |structure| {
                let config = LaplaceConfig { subset: subset.clone(), ..config(curvature, structure) };
                Laplace::fit(&loss, theta, &config, Control::default()).unwrap()
            };
            let (low, full) = (fit(Structure::LowRank { rank: k }), fit(Structure::Full));
            assert!(low.eigenpairs.unwrap().converged);
            let (a, b) = (dense(low.gaussian.precision(), 0.0), dense(full.gaussian.precision(), 0.0));
            assert_close("P", a.as_slice(), b.as_slice(), 1e-8);
            let (x, y) = (models::normals(3, k), models::normals(3, k));
            let (mut x, mut y) = (x, y);
            low.gaussian.precision().solve(&mut x);
            full.gaussian.precision().solve(&mut y);
            assert_close("P⁻¹x", &x, &y, 1e-8);
            let ml = [&low, &full].map(|l| l.log_marginal_likelihood.unwrap());
            assert_close("log marginal likelihood", &ml[..1], &ml[1..], 1e-8);
        }
    }
}

fn descending(matrix: &Matrix) -> Vec<f64> {
    let mut values = symmetric_eigenvalues("C", matrix).unwrap();
    values.reverse();
    values
}

#[test]
fn low_rank_keeps_the_largest_eigenvalues() {
    let (loss, theta) = trained();
    for (curvature, exact) in OUTER.into_iter().zip([ggn_full, empirical_fisher_full]) {
        let subset = all(loss.network());
        let exact = descending(&exact(&loss, &theta, &subset));
        for rank in [1, 5, 20, 40] {
            let low = LowRankCurvature::new(&loss, &theta, curvature, &subset, rank).unwrap();
            let kept = exact[..rank].iter().filter(|v| **v > 1e-12 * exact[0]).count();
            assert!(low.report.converged && low.report.rank == kept, "{kept} of {rank}: {:?}", low.report);
            let values = low.eigenvalues();
            assert_eq!(values.len(), 354);
            // Residuals are within 1e-2 of an eigenvalue, which is then right to about 1e-3.
            assert_close("eigenvalues", &values[..kept], &exact[..kept], 1e-3);
            assert!(values[kept..].iter().all(|v| *v == 0.0));
            // What is left out can only raise the evidence, by ½ Σ log(1 + λ/δ) of the rest.
            let fit = |structure| {
                let fitted =
                    Laplace::fit(&loss, &theta, &config(curvature, structure), Control::default()).unwrap();
                fitted.log_marginal_likelihood.unwrap()
            };
            let gap = fit(Structure::LowRank { rank }) - fit(Structure::Full);
            let rest: f64 = exact[rank..].iter().map(|v| 0.5 * v.max(0.0).ln_1p()).sum();
            assert!((gap - rest).abs() < 2e-3 * rest.max(1.0), "rank {rank}: {gap} instead of {rest}");
        }
    }
}

#[test]
fn low_rank_finds_multiple_eigenvalues_and_notices_a_lower_rank() {
    // Three outputs with Gaussian noise: every eigenvalue of a linear model is threefold.
    let network = models::mlp(&[60, 3], Activation::Tanh);
    let loss = models::loss(&network, GAUSSIAN, 200, 1.0);
    let (theta, subset) = (network.initialize(1), all(&network));
    let exact = descending(&ggn_full(&loss, &theta, &subset));
    let low = LowRankCurvature::new(&loss, &theta, Curvature::Ggn, &subset, 9).unwrap();
    assert_close("threefold eigenvalues", &low.eigenvalues()[..9], &exact[..9], 1e-3);
    // Five samples with three outputs: rank 15 of 183, found with 15 + a few products.
    let loss = models::loss(&network, GAUSSIAN, 5, 1.0);
    let low = LowRankCurvature::new(&loss, &theta, Curvature::Ggn, &subset, 40).unwrap();
    assert!(low.report.rank == 15 && low.report.products < 25, "{:?}", low.report);
    let again = LowRankCurvature::new(&loss, &theta, Curvature::Ggn, &subset, 40).unwrap();
    assert_eq!(low.eigenvalues(), again.eigenvalues());
    // No curvature at all: a rectifier that is off for every sample.
    let network = models::mlp(&[1, 30, 1], Activation::Relu);
    let loss = models::loss(&network, GAUSSIAN, 5, 1.0);
    let subset = Subset::Parameters(vec!["0.weight".into()]).ranges(&network).unwrap();
    let low = LowRankCurvature::new(&loss, &vec![0.0; network.dim()], Curvature::Ggn, &subset, 3).unwrap();
    assert_eq!(low.report.rank, 0);
    check_precision(&low.precision(&[2.0; 30]).unwrap(), 1);
}

#[test]
fn sums_and_products_have_the_same_bits_on_any_number_of_threads() {
    let network = models::mlp(&[5, 40, 30, 3], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 2500, 1.0);
    let (theta, subset) = (network.initialize(1), all(&network));
    let k = subset.len();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let product = CurvatureProduct::new(&loss, &theta, Curvature::Ggn, &subset).unwrap();
            let (vectors, mut images) = (models::normals(4, 3 * k), vec![0.0; 3 * k]);
            product.apply_many(&vectors, &mut images);
            let mut image = vec![0.0; k];
            product.apply(&vectors[k..2 * k], &mut image);
            assert_eq!(image, images[k..2 * k]);
            let low = LowRankCurvature::new(&loss, &theta, Curvature::Ggn, &subset, 6).unwrap();
            (ggn_full(&loss, &theta, &subset), images, low.eigenvalues())
        })
    };
    let (full, images, low) = on(1);
    for threads in [2, 5] {
        assert_eq!(on(threads), (full.clone(), images.clone(), low.clone()));
    }
    let mut image = vec![0.0; k];
    full.mul_vector(&models::normals(4, 3 * k)[..k], &mut image);
    assert_close("GGN times a vector", &images[..k], &image, 1e-12);
}

#[test]
fn the_evidence_follows_the_noise_in_every_structure() {
    let f = snelson();
    let (loss, theta) = (f.loss(0.5), f.array("theta"));
    for (curvature, structure) in OUTER.into_iter().flat_map(|c| STRUCTURES.map(|s| (c, s))) {
        let optimize = LaplaceConfig { prior: PriorChoice::Optimize, ..config(curvature, structure) };
        let fitted = match Laplace::fit(&loss, theta, &optimize, Control::default()) {
            Ok(fitted) => fitted,
            Err(error) => panic!("{curvature:?}, {structure:?}: {error}"),
        };
        assert_ne!(fitted.likelihood, f.likelihood);
        // A fit with that noise and prior from the start must give the same numbers.
        let direct = Laplace::fit(
            &fitted.loss(&loss).unwrap(),
            theta,
            &config(curvature, structure),
            Control::default(),
        )
        .unwrap();
        let pair = [&fitted, &direct].map(|l| l.log_marginal_likelihood.unwrap());
        assert_close("log marginal likelihood", &pair[..1], &pair[1..], 1e-8);
        let pair = [&fitted, &direct].map(|l| l.gaussian.precision().log_det());
        assert_close("log det", &pair[..1], &pair[1..], 1e-8);
    }
}

#[test]
fn linearised_predictions_work_in_every_structure() {
    let network = models::mlp(&[2, 6, 3], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 40, 0.5);
    let theta = network.initialize(1);
    let x = models::normals(4, 2 * 5);
    for structure in STRUCTURES {
        let laplace =
            Laplace::fit(&loss, &theta, &config(Curvature::Ggn, structure), Control::default()).unwrap();
        let model = NetworkOutputs::new(network.clone(), Likelihood::Categorical).unwrap();
        let outputs = model.linearized_moments(&laplace.gaussian, &x).unwrap();
        for (i, c) in (0..5).flat_map(|i| (0..3).map(move |c| (i, c))) {
            // Gradient of output c by central differences of a one-sample model.
            let output = |theta: &[f64]| {
                let all = model.evaluate(&[theta], &x[2 * i..2 * i + 2]).unwrap();
                all[0][c]
            };
            let gradient: Vec<f64> = (0..network.dim())
                .map(|k| {
                    let at = |h: f64| {
                        let mut moved = theta.clone();
                        moved[k] += h;
                        output(&moved)
                    };
                    (at(1e-5) - at(-1e-5)) / 2e-5
                })
                .collect();
            let mut solved = gradient.clone();
            laplace.gaussian.precision().solve(&mut solved);
            let variance = riemla::linalg::vector::dot(&gradient, &solved);
            assert_close("variance", &[outputs.variance[3 * i + c]], &[variance], 1e-7);
        }
    }
}

#[test]
fn choices_without_meaning_are_errors() {
    let network = models::mlp(&[2, 3, 2], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 10, 1.0);
    let theta = network.initialize(1);
    let fit = |config: &LaplaceConfig| Laplace::fit(&loss, &theta, config, Control::default());
    for structure in [Structure::Kronecker, LOW_RANK] {
        let error = fit(&config(Curvature::Hessian, structure)).unwrap_err();
        assert!(matches!(&error, Error::Unsupported(text) if text.contains("ggn")), "{error}");
        let improper = PriorChoice::Fixed(PriorPrecision::Scalar(0.0));
        let error = fit(&LaplaceConfig { prior: improper, ..config(Curvature::Ggn, structure) }).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { dim: 17, .. }), "{error}");
    }
    let error = fit(&config(Curvature::Ggn, Structure::LowRank { rank: 0 })).unwrap_err();
    assert!(matches!(error, Error::Range { .. }), "{error}");
    let kronecker = KroneckerCurvature::new(&loss, &theta, Curvature::Ggn, &all(&network)).unwrap();
    let mut prior = vec![1.0; 17];
    prior[3] = 2.0;
    assert!(matches!(kronecker.precision(&prior), Err(Error::Unsupported(_))));
    assert!(matches!(kronecker.precision(&prior[1..]), Err(Error::Shape { .. })));
}

#[test]
fn names_in_files() {
    let to = |structure: Structure| serde_json::to_string(&structure).unwrap();
    assert_eq!(to(Structure::Kronecker), "\"kron\"");
    assert_eq!(to(Structure::LowRank { rank: 3 }), "{\"low-rank\":{\"rank\":3}}");
    for structure in STRUCTURES {
        assert_eq!(serde_json::from_str::<Structure>(&to(structure)).unwrap(), structure);
    }
    assert!(serde_json::from_str::<Structure>("{\"low-rank\":{\"rank\":3,\"tolerance\":1}}").is_err());
    assert_eq!(serde_json::to_string(&Curvature::EmpiricalFisher).unwrap(), "\"ef\"");
}

#[test]
fn networks_too_large_for_a_dense_matrix() {
    // K = 26 506: the dense matrix would take 5.6 GB.
    let network = models::mlp(&[100, 200, 30, 6], Activation::Tanh);
    let labels = (0..200).map(|i| i % 6).collect();
    let data = Dataset::classification(models::normals(1, 200 * 100), 100, labels).unwrap();
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data.clone(), Likelihood::Categorical, prior).unwrap();
    let theta = network.initialize(1);
    for structure in [Structure::Kronecker, Structure::LowRank { rank: 12 }] {
        let laplace = Laplace::fit(
            &loss,
            &theta,
            &LaplaceConfig { structure, ..Default::default() },
            Control::default(),
        )
        .unwrap();
        assert!(laplace.log_marginal_likelihood.unwrap().is_finite());
        assert!(laplace.eigenpairs.is_none_or(|report| report.converged), "{:?}", laplace.eigenpairs);
        let x = models::normals(9, network.dim());
        let (mut px, mut back) = (vec![0.0; x.len()], x.clone());
        laplace.gaussian.precision().mul(&x, &mut px);
        laplace.gaussian.precision().solve(&mut back);
        let quadratic = laplace.gaussian.precision().inverse_quadratic(&mut x.clone(), 1);
        assert_close("xᵀP⁻¹x", &quadratic, &[riemla::linalg::vector::dot(&x, &back)], 1e-9);
        laplace.gaussian.precision().solve(&mut px);
        assert_close("P⁻¹Px", &px, &x, 1e-8);
    }
}
