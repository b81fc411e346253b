//! One prior precision per layer by the evidence: derivatives, limits and the gain over a single one.

mod models;

use std::ops::Range;

use models::GAUSSIAN;
use riemla::Control;
use riemla::curvature::{
    Evidence, Laplace, LaplaceConfig, LayerEvidence, LayeredCurvature, PriorChoice, Refit, Structure, Subset,
};
use riemla::data::toy::two_moons;
use riemla::linalg::Matrix;
use riemla::linalg::factor::{SymmetricEigen, symmetric_eigenvalues};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Prior, PriorPrecision};
use riemla::train::{Lbfgs, lbfgs};

const LOW_RANK: Structure = Structure::LowRank { rank: 9 };
const STRUCTURES: [Structure; 4] = [Structure::Full, Structure::Diagonal, Structure::Kronecker, LOW_RANK];
const LAYERS: [Range<usize>; 3] = [0..4, 4..5, 5..11];
const DIM: usize = 11;

/// AᵀA with A normal, 6 × 11: positive semi-definite, coupled, of rank 6.
fn curvature() -> Matrix {
    let a = models::normals(3, 6 * DIM);
    let mut matrix = Matrix::zeros(DIM, DIM);
    for (i, j) in (0..DIM).flat_map(|i| (0..DIM).map(move |j| (i, j))) {
        matrix.column_mut(j)[i] = (0..6).map(|r| a[r * DIM + i] * a[r * DIM + j]).sum();
    }
    matrix
}

/// The three kinds of curvature, each with its single-precision evidence, as tests of a regression.
fn for_each_kind(mut test: impl FnMut(&str, &dyn Fn(&[Range<usize>]) -> LayerEvidence<'static>, Evidence)) {
    let theta: &'static [f64] = models::normals(4, DIM).leak();
    let square = theta.iter().map(|t| t * t).sum();
    let matrix: &'static Matrix = Box::leak(Box::new(curvature()));
    let eigen: &'static SymmetricEigen = Box::leak(Box::new(SymmetricEigen::new("C", matrix).unwrap()));
    let clipped: &'static [f64] = eigen.values.iter().map(|v| v.max(0.0)).collect::<Vec<_>>().leak();
    let diagonal: Vec<f64> = (0..DIM).map(|i| matrix[(i, i)]).collect();
    let tied = |values: Vec<f64>| Evidence::new(values, square, -20.0).with_noise(0.5, 40, 12.0);
    let full = tied(symmetric_eigenvalues("C", matrix).unwrap());
    let make =
        |curvature: fn(&'static Matrix, &'static [f64], &'static Matrix) -> LayeredCurvature<'static>,
         tied: Evidence| {
            move |layers: &[Range<usize>]| {
                let curvature = curvature(matrix, clipped, &eigen.vectors);
                LayerEvidence::new(tied.clone(), curvature, theta, layers).unwrap()
            }
        };
    test("full", &make(|m, _, _| LayeredCurvature::Full(m), full.clone()), full.clone());
    test("low-rank", &make(|_, v, q| LayeredCurvature::LowRank(v, q), full.clone()), full);
    let separable = tied(diagonal);
    let of = |m: &'static Matrix, _: &'static [f64], _: &'static Matrix| {
        LayeredCurvature::Separable((0..DIM).map(|i| m[(i, i)]).collect())
    };
    test("separable", &make(of, separable.clone()), separable);
}

#[test]
fn derivatives_agree_with_differences() {
    for_each_kind(|name, make, _| {
        let evidence = make(&LAYERS);
        let x = [0.3f64, 2.0, 0.05, 0.7];
        let at = |x: &[f64]| evidence.value_and_gradient(&x[..3], Some(x[3])).unwrap();
        let gradient = at(&x).1;
        for (i, slope) in gradient.iter().enumerate() {
            let shifted = |h: f64| {
                let mut y = x;
                y[i] *= h.exp();
                at(&y).0
            };
            let h = 1e-4;
            let difference = (shifted(h) - shifted(-h)) / (2.0 * h);
            assert!(
                (difference - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                "{name} {i}: {difference} {slope}"
            );
        }
    });
}

#[test]
fn tied_layers_have_the_single_optimum_and_free_ones_a_higher_one() {
    for_each_kind(|name, make, tied| {
        let expected = tied.optimum().unwrap();
        let one = make(std::slice::from_ref(&(0..DIM))).optimum().unwrap();
        assert!(one.settled, "{name}");
        let ratio = one.prior_precisions[0] / expected.prior_precision;
        assert!((ratio - 1.0).abs() < 1e-6, "{name}: {ratio}");
        assert!((one.sigma_noise.unwrap() / expected.sigma_noise.unwrap() - 1.0).abs() < 1e-6, "{name}");
        assert!((one.log_marginal_likelihood - expected.log_marginal_likelihood).abs() < 1e-9, "{name}");
        // The same value at equal precisions, however the layers are cut.
        let deltas = vec![expected.prior_precision; 3];
        let (equal, _) = make(&LAYERS).value_and_gradient(&deltas, expected.sigma_noise).unwrap();
        assert!((equal - expected.log_marginal_likelihood).abs() < 1e-9, "{name}");
        let free = make(&LAYERS).optimum().unwrap();
        assert!(free.settled, "{name}");
        assert!(free.log_marginal_likelihood > expected.log_marginal_likelihood + 0.1, "{name}: {free:?}");
        let at = make(&LAYERS).value_and_gradient(&free.prior_precisions, free.sigma_noise).unwrap();
        assert!(at.1.iter().all(|slope| slope.abs() < 1e-6), "{name}: {:?}", at.1);
    });
}

fn fitted(likelihood: Likelihood) -> (NetworkLoss, Vec<f64>) {
    let network = models::mlp(&[2, 5, 2], Activation::Tanh);
    let loss = models::loss(&network, likelihood, 40, 0.3);
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    (loss, theta)
}

#[test]
fn a_fit_finds_the_maximum_of_what_fixed_precisions_report() {
    for likelihood in [Likelihood::Categorical, GAUSSIAN] {
        let (loss, theta) = fitted(likelihood);
        for (structure, subset) in
            STRUCTURES.into_iter().flat_map(|s| [(s, Subset::All), (s, Subset::LastLayer)])
        {
            let last = subset == Subset::LastLayer;
            let fit = |prior: PriorChoice, likelihood: Likelihood| {
                let loss = loss.with(likelihood, loss.prior().clone()).unwrap();
                let config = LaplaceConfig { structure, subset: subset.clone(), prior, ..Default::default() };
                Laplace::fit(&loss, &theta, &config, Control::default()).unwrap()
            };
            let single = fit(PriorChoice::Optimize, likelihood);
            let best = fit(PriorChoice::OptimizePerLayer, likelihood);
            assert_eq!(best.prior_settled, Some(true), "{structure:?}");
            let (single, value) =
                (single.log_marginal_likelihood.unwrap(), best.log_marginal_likelihood.unwrap());
            if last {
                assert_eq!(best.prior.precisions().next(), Some(0.3), "kept where nothing is uncertain");
                assert!((value - single).abs() < 1e-6, "{structure:?}: {value} {single}");
            } else {
                assert!(value > single + 1e-3, "{structure:?}: {value} {single}");
            }
            let deltas: Vec<f64> = best.prior.precisions().collect();
            for (l, factor) in [(0, 1.0), (0, 1.3), (0, 0.75), (1, 1.3), (1, 0.75)] {
                if last && l == 0 {
                    continue;
                }
                let mut moved = deltas.clone();
                moved[l] *= factor;
                let fixed = PriorChoice::Fixed(PriorPrecision::PerLayer(moved));
                let there = fit(fixed, best.likelihood).log_marginal_likelihood.unwrap();
                // The low-rank eigenpairs at another noise agree to the tolerance of their iteration.
                let same = (there - value).abs() < 1e-5 * value.abs();
                assert!(
                    if factor == 1.0 { same } else { there < value - 1e-4 },
                    "{structure:?} {l} {factor}"
                );
            }
        }
    }
}

/// Here the layers drift apart, and the evidence falls from the first round on: it is kept.
#[test]
fn refitting_per_layer_keeps_the_best_round() {
    let network = models::mlp(&[2, 8, 2], Activation::Tanh);
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    let moons = two_moons(80, 0.2, 1).unwrap();
    let loss = NetworkLoss::new(network.clone(), moons.clone(), Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let fit = |max_rounds| {
        let refit = Some(Refit { max_rounds, tolerance: 1e-3 });
        let config = LaplaceConfig { prior: PriorChoice::OptimizePerLayer, refit, ..Default::default() };
        Laplace::fit(&loss, &theta, &config, Control::default()).unwrap()
    };
    let (one, many) = (fit(1), fit(30));
    assert_eq!((many.refit_settled, many.prior_settled), (Some(false), Some(true)));
    assert_eq!((many.refit_rounds, &many.gaussian.theta()), (1, &one.gaussian.theta()));
}
