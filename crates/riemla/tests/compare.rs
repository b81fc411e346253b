//! Distances between sets of draws and importance weights: closed forms and laws.

mod models;

use std::sync::Arc;

use models::{GAUSSIAN, loss, mlp, normals};
use riemla::Control;
use riemla::Error;
use riemla::compare::{
    energy_distance, fit_generalized_pareto, marginals, pareto_smoothed, standardized_energy,
    wasserstein_null, wasserstein1,
};
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure, Subset};
use riemla::nn::Activation;
use riemla::objective::Likelihood;
use riemla::posterior::{Method, Posterior, PosteriorConfig};
use riemla::random::{Purpose, fill_normal, stream};
use riemla::train::{Lbfgs, lbfgs};

fn rows(values: &[f64], dim: usize) -> Vec<&[f64]> {
    values.chunks_exact(dim).collect()
}

/// Midpoints of `n` equal shares of (0, 1).
fn shares(n: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |i| (i as f64 + 0.5) / n as f64)
}

#[test]
fn a_shift_is_the_distance_whatever_the_sizes() {
    let a = normals(1, 500);
    let shifted: Vec<f64> = a.iter().rev().map(|x| x - 0.7).collect();
    assert!((wasserstein1(&a, &shifted).unwrap() - 0.7).abs() < 1e-12);
    let doubled: Vec<f64> = a.iter().flat_map(|x| [x + 0.7; 2]).collect();
    assert!((wasserstein1(&doubled, &a).unwrap() - 0.7).abs() < 1e-12, "unequal sizes");
    assert_eq!(wasserstein1(&[0.0], &[1.0, -2.0, 3.0]).unwrap(), 2.0, "by hand");
    let other = normals(2, 301);
    assert!((wasserstein1(&a, &other).unwrap() - wasserstein1(&other, &a).unwrap()).abs() < 1e-14);
}

#[test]
fn two_normal_distributions_have_their_closed_form() {
    // W1 of N(0, 1) and N(0, s²) is |s − 1|·E|z| = |s − 1|·√(2/π); quantiles instead of draws.
    let z: Vec<f64> = shares(20_000).map(riemla::score::normal_quantile).collect();
    let narrow: Vec<f64> = z.iter().map(|z| 0.4 * z).collect();
    let expected = 0.6 * (2.0 / std::f64::consts::PI).sqrt();
    assert!((wasserstein1(&z, &narrow).unwrap() - expected).abs() < 1e-4);
}

#[test]
fn marginals_are_in_units_of_the_reference_and_leave_out_fixed_weights() {
    // The second weight is fixed in both sets, the fourth in the reference only.
    let reference: Vec<f64> =
        normals(3, 800).chunks(2).flat_map(|z| [3.0 * z[0], 5.0, 0.1 * z[1], 0.0]).collect();
    let draws: Vec<f64> =
        rows(&reference, 4).iter().flat_map(|r| [2.0 * r[0], 5.0, r[2] + 0.05, r[0]]).collect();
    let found = marginals(&rows(&draws, 4), &rows(&reference, 4)).unwrap();
    assert_eq!((found.weights.as_slice(), found.only_in_draws), (&[0, 2][..], 1));
    assert!((found.ratios()[0] - 2.0).abs() < 1e-12 && (found.ratios()[1] - 1.0).abs() < 1e-12);
    let expected = 0.05 / found.reference_deviation[1];
    assert!((found.wasserstein[1] - expected).abs() < 1e-12, "{found:?}");
    let swapped = marginals(&rows(&reference, 4), &rows(&draws, 4)).unwrap();
    assert!((swapped.ratios()[0] - 0.5).abs() < 1e-12);
}

#[test]
fn energy_distance_is_symmetric_zero_for_equal_sets_and_has_its_closed_form() {
    let (a, b) = (normals(4, 300), normals(5, 210));
    let (a, b) = (rows(&a, 3), rows(&b, 3));
    let (there, back) = (energy_distance(&a, &b).unwrap(), energy_distance(&b, &a).unwrap());
    assert!(there > 0.0 && (there - back).abs() < 1e-12);
    let reversed: Vec<&[f64]> = a.iter().rev().copied().collect();
    assert!(energy_distance(&a, &reversed).unwrap() < 1e-12);
    // By hand: 2·(mean of 1, 2, 0, 1) − (mean of 0, 1, 1, 0) − the same.
    let (x, y) = ([0.0, 1.0], [1.0, 2.0]);
    assert!((energy_distance(&rows(&x, 1), &rows(&y, 1)).unwrap() - 1.0).abs() < 1e-15);
    // N(0, 1) against N(0, 9): differences are normal, too, and E|N(0, v)| = √(2v/π).
    let z: Vec<f64> = shares(1500).map(riemla::score::normal_quantile).collect();
    let wide: Vec<f64> = z.iter().map(|z| 3.0 * z).collect();
    let mean_abs = |v: f64| (2.0 * v / std::f64::consts::PI).sqrt();
    let expected = 2.0 * mean_abs(1.0 + 9.0) - mean_abs(2.0) - mean_abs(18.0);
    let found = energy_distance(&rows(&wide, 1), &rows(&z, 1)).unwrap();
    assert!((found / expected - 1.0).abs() < 5e-3, "{found} {expected}");
}

/// Over 40 pairs of sets of one distribution the mean of distance/null is 1; |mean − 1| below 4 standard
/// errors: two-sided, level about 1e-4 per distance. Scales and sizes differ on purpose.
#[test]
fn the_null_is_what_equal_distributions_show() {
    let (mut energies, mut distances) = (Vec::new(), Vec::new());
    for seed in 0..40 {
        let scale = |z: &[f64]| z.chunks(4).flat_map(|z| [z[0], 10.0 * z[1], 0.1 * z[2], z[3]]).collect();
        let (a, b): (Vec<f64>, Vec<f64>) =
            (scale(&normals(100 + seed, 4 * 60)), scale(&normals(200 + seed, 4 * 150)));
        let energy = standardized_energy(&rows(&a, 4), &rows(&b, 4)).unwrap();
        energies.push(energy.value / energy.null.unwrap());
        let found = marginals(&rows(&a, 4), &rows(&b, 4)).unwrap().wasserstein;
        let null = wasserstein_null(&rows(&b, 4), 60).unwrap().unwrap();
        distances.push(found.iter().sum::<f64>() / 4.0 / null);
    }
    for ratios in [energies, distances] {
        // The ratio of two noisy numbers is skewed: its logarithm is not.
        let logs: Vec<f64> = ratios.iter().map(|r| r.ln()).collect();
        let mean = logs.iter().sum::<f64>() / 40.0;
        let error = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (39.0 * 40.0)).sqrt();
        assert!(mean.abs() < 4.0 * error, "{mean} ± {error}");
        assert!(error < 0.1, "a null twice too large would be seen: {error}");
    }
}

/// A generalised Pareto sample by its quantile function.
fn pareto_sample(shape: f64, count: usize, seed: u64) -> Vec<f64> {
    let uniform = normals(seed, count).into_iter().map(riemla::score::normal_cdf);
    let of = |u: f64| if shape == 0.0 { -u.ln() } else { (u.powf(-shape) - 1.0) / shape };
    uniform.map(of).map(|x| 2.0 * x).collect()
}

/// The estimate is asymptotically normal with variance (1 + k)²/n, n = 20 000, and as good for k below
/// 0; 4 standard errors: two-sided, level 6e-5 each.
#[test]
fn the_shape_of_a_pareto_tail_is_recovered() {
    for (seed, shape) in [(1, -0.3), (2, 0.0), (3, 0.3), (4, 0.7), (5, 1.2)] {
        let (k, scale) = fit_generalized_pareto(&pareto_sample(shape, 20_000, seed)).unwrap();
        assert!((k - shape).abs() < 4.0 * (1.0 + shape) / 20_000f64.sqrt(), "{k} for {shape}");
        assert!((scale / 2.0 - 1.0).abs() < 0.06, "{scale} for {shape}");
        // The same from weights: the tail beyond any cutoff has the same shape. 424 numbers of 20 000.
        let logs: Vec<f64> = pareto_sample(shape, 20_000, seed).iter().map(|w| w.ln() - 1234.5).collect();
        let k = pareto_smoothed(&logs).unwrap().shape;
        let expected = (424.0 * shape + 5.0) / 434.0;
        assert!((k - expected).abs() < 4.0 * (1.0 + shape) / 424f64.sqrt(), "{k} for {shape}");
    }
}

/// The numbers come from the formulas of Zhang and Stephens and of the smoothing, written a second time in
/// plain Python with exact sums: the grid and the prior do not show in large samples.
#[test]
fn a_second_program_finds_the_same() {
    let close =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
    let (k, scale) =
        fit_generalized_pareto(&(1..31).map(|i| f64::from(i * i * i) / 1000.0).collect::<Vec<_>>()).unwrap();
    close(k, 0.787_685_837_954_423_6);
    close(scale, 2.891_966_472_363_938_7);
    let (k, scale) =
        fit_generalized_pareto(&(1..31).map(|i| f64::from(i).sqrt()).collect::<Vec<_>>()).unwrap();
    close(k, -0.987_830_506_260_261_7);
    close(scale, 8.221_795_572_384_755);
    let logs: Vec<f64> = (0..100).map(f64::from).map(|i| 3.0 * i.sin() + i / 40.0).collect();
    let weights = pareto_smoothed(&logs).unwrap();
    close(weights.shape, 0.216_417_057_652_038_17);
    close(weights.effective_draws, 23.181_612_325_436_19);
    close(weights.log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max), -2.338_221_165_194_193_8);
}

/// Log weights of N(0, I) against a proposal N(0, τ²I) in two dimensions.
fn gaussian_weights(variance: f64, count: usize) -> Vec<f64> {
    let z = normals(9, 2 * count);
    z.chunks(2).map(|z| 0.5 * (1.0 - variance) * (z[0] * z[0] + z[1] * z[1])).collect()
}

#[test]
fn proposals_of_known_quality() {
    // A proposal too narrow: weights exp((1 − τ²)|z|²/2) have exactly a Pareto tail with k = 1 − τ².
    // 4 standard errors of the tail of 424, two-sided.
    for variance in [0.1, 0.5] {
        let shape: f64 = 1.0 - variance;
        let k = pareto_smoothed(&gaussian_weights(variance, 20_000)).unwrap().shape;
        assert!((k - (424.0 * shape + 5.0) / 434.0).abs() < 4.0 * (1.0 + shape) / 424f64.sqrt(), "{k}");
    }
    // One too wide: bounded weights; effective draws n·(2τ² − 1)/τ⁴ = 0.75n at τ² = 2.
    let wide = pareto_smoothed(&gaussian_weights(2.0, 20_000)).unwrap();
    assert!(wide.shape < 0.3, "{}", wide.shape);
    assert!((wide.effective_draws / 20_000.0 - 0.75).abs() < 0.02, "{}", wide.effective_draws);
    // The exact one: all weights equal.
    let exact = pareto_smoothed(&gaussian_weights(1.0, 100)).unwrap();
    assert_eq!((exact.shape, exact.effective_draws.round()), (f64::NEG_INFINITY, 100.0));
}

#[test]
fn smoothed_weights_add_up_to_one_keep_their_order_and_the_small_ones() {
    let raw = gaussian_weights(0.3, 400);
    let smoothed = pareto_smoothed(&raw).unwrap().log_weights;
    assert!((smoothed.iter().map(|w| w.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
    let mut order: Vec<usize> = (0..raw.len()).collect();
    order.sort_by(|i, j| raw[*i].total_cmp(&raw[*j]));
    assert!(order.windows(2).all(|pair| smoothed[pair[0]] <= smoothed[pair[1]]));
    // Only the largest ⌈3√400⌉ = 60 change.
    let shift = smoothed[order[0]] - raw[order[0]];
    let changed = |i: &&usize| (smoothed[**i] - raw[**i] - shift).abs() > 1e-9;
    assert!(order[..340].iter().all(|i| !changed(&i)) && order.iter().filter(changed).count() >= 58);
}

#[test]
fn draws_outside_the_domain_weigh_nothing_and_mistakes_are_errors() {
    let mut logs = gaussian_weights(2.0, 200);
    logs[..20].fill(f64::NEG_INFINITY);
    let weights = pareto_smoothed(&logs).unwrap();
    assert!(weights.log_weights[..20].iter().all(|w| *w == f64::NEG_INFINITY) && weights.shape < 0.5);
    logs[..197].fill(-1e4);
    assert_eq!(pareto_smoothed(&logs).unwrap().shape, f64::INFINITY, "3 weights left");
    logs[7] = f64::NAN;
    assert!(matches!(pareto_smoothed(&logs), Err(Error::NotFinite { index: 7, .. })));
    assert!(matches!(pareto_smoothed(&[f64::NEG_INFINITY; 30]), Err(Error::Unsupported(_))));
    assert!(matches!(pareto_smoothed(&[0.0; 24]), Err(Error::Range { .. })));
    assert!(matches!(fit_generalized_pareto(&[1.0, 2.0, 0.0, 1.0, 1.0]), Err(Error::Range { .. })));
    let two: [&[f64]; 2] = [&[0.0, 1.0], &[1.0, 1.0]];
    assert!(matches!(marginals(&two[..1], &two), Err(Error::Range { .. })));
    assert!(matches!(marginals(&[&[0.0], &[1.0]], &two), Err(Error::Shape { .. })));
    assert!(matches!(
        energy_distance(&[&[0.0], &[f64::NAN]], &[&[0.0], &[1.0]]),
        Err(Error::NotFinite { .. })
    ));
    assert!(matches!(marginals(&two, &[&[1.0, 1.0], &[1.0, 1.0]]), Err(Error::Unsupported(_))));
    assert_eq!(standardized_energy(&two, &two).unwrap().null, None, "too few for halves");
}

/// With θ = θ* + Sz the quadratic form is |z|², whatever the structure and the subset.
#[test]
fn the_density_of_the_gaussian_is_that_of_its_draws() {
    let network = mlp(&[2, 4, 3], Activation::Tanh);
    let loss = loss(&network, Likelihood::Categorical, 40, 0.5);
    let theta = network.initialize(3);
    let structures =
        [Structure::Full, Structure::Diagonal, Structure::Kronecker, Structure::LowRank { rank: 4 }];
    for structure in structures {
        for subset in [Subset::All, Subset::LastLayer] {
            let config =
                LaplaceConfig { structure, subset, prior: PriorChoice::Keep, ..LaplaceConfig::default() };
            let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
            let k = laplace.gaussian.subset().len();
            let draw = laplace.gaussian.draw_tangent(&mut stream(5, Purpose::Draw, 2));
            let mut white = vec![0.0; k];
            fill_normal(&mut stream(5, Purpose::Draw, 2), &mut white);
            let square: f64 = white.iter().map(|z| z * z).sum();
            let expected = 0.5
                * (laplace.gaussian.precision().log_det() - k as f64 * std::f64::consts::TAU.ln() - square);
            let mut at: Vec<f64> = theta.iter().zip(&draw).map(|(t, v)| t + v).collect();
            let found = laplace.gaussian.log_density(&at).unwrap();
            assert!(
                (found - expected).abs() < 1e-8 * expected.abs().max(1.0),
                "{structure:?} {found} {expected}"
            );
            at[0] += 1.0;
            let moved = laplace.gaussian.log_density(&at).unwrap();
            assert_eq!(moved == f64::NEG_INFINITY, k < theta.len(), "{structure:?}");
            assert!(laplace.gaussian.log_density(&at[1..]).is_err());
        }
    }
}

/// Linear regression: the Gaussian is the posterior, all weights are equal, and the loss rises by |z|²/2.
#[test]
fn an_exact_gaussian_has_equal_weights_and_half_a_unit_of_loss_per_weight() {
    let network = mlp(&[3, 2], Activation::Tanh);
    let loss = loss(&network, GAUSSIAN, 60, 0.7);
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let config = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
    let laplace = Arc::new(Laplace::fit(&loss, &theta, &config, Control::default()).unwrap());
    let posterior = Posterior::of_network(&loss, &laplace, PosteriorConfig::paper(Method::La)).unwrap();
    let set = posterior.sample(1, 400, Control::default()).unwrap();
    let logs = posterior.log_importance_weights(&set.thetas()).unwrap();
    let weights = pareto_smoothed(&logs).unwrap();
    assert!(weights.shape < 0.5 && weights.effective_draws > 399.9, "{weights:?}");
    // Mean of |z|²/2 with K = 8: variance K/2 per draw; 4 standard errors, two-sided.
    let rises = posterior.loss_rises(&set.thetas()).unwrap();
    let mean = rises.iter().sum::<f64>() / 400.0;
    assert!((mean - 4.0).abs() < 4.0 * (4.0f64 / 400.0).sqrt(), "{mean}");
    assert!(posterior.loss_rises(&[&[0.0]]).is_err());
}
