//! The search for prior and noise: never below a grid of starts, laws of its closed forms, stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use riemla::curvature::{
    Evidence, Laplace, LaplaceConfig, PriorChoice, PriorFound, PriorSearch, PriorTrial, Refit, SearchWay,
    Structure, Subset, TrialStart, ggn_full,
};
use riemla::data::Dataset;
use riemla::data::toy::{sine_with_gap, two_moons};
use riemla::linalg::factor::symmetric_eigenvalues;
use riemla::linalg::vector::dot;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Objective as _, Prior, PriorPrecision};
use riemla::random::{Purpose, fill_normal, stream};
use riemla::train::{Recipe, TrainStatus};
use riemla::{Control, Error};

const GAUSSIAN: Likelihood = Likelihood::Gaussian { sigma_noise: 0.5 };

fn normals(seed: u64, len: usize) -> Vec<f64> {
    let mut values = vec![0.0; len];
    fill_normal(&mut stream(seed, Purpose::Data, 0), &mut values);
    values
}

/// Ten inputs of which `f` sees what it likes, and noise; the targets have mean 0 and deviation 1.
fn regression(rows: usize, noise: f64, seed: u64, f: impl Fn(&[f64]) -> f64) -> Dataset {
    let (inputs, errors) = (normals(seed, 10 * rows), normals(seed + 1, rows));
    let mut values: Vec<f64> = inputs.chunks(10).zip(errors).map(|(x, e)| f(x) + noise * e).collect();
    let mean = values.iter().sum::<f64>() / rows as f64;
    values.iter_mut().for_each(|y| *y -= mean);
    let deviation = (dot(&values, &values) / rows as f64).sqrt();
    values.iter_mut().for_each(|y| *y /= deviation);
    Dataset::regression(inputs, 10, values, 1).unwrap()
}

/// Three classes in five dimensions, by the largest of three noisy linear functions.
fn three_classes(rows: usize, seed: u64) -> Dataset {
    let (inputs, errors) = (normals(seed, 5 * rows), normals(seed + 1, 3 * rows));
    let label = |(x, e): (&[f64], &[f64])| {
        let score = [x[0] + x[1] + e[0], x[2] - x[1] + e[1], x[3] * x[4] + e[2]];
        (0..3).max_by(|a, b| score[*a].total_cmp(&score[*b])).unwrap()
    };
    let labels = inputs.chunks(5).zip(errors.chunks(3)).map(label).collect();
    Dataset::classification(inputs, 5, labels).unwrap()
}

fn problem(data: Dataset, hidden: &[usize]) -> NetworkLoss {
    let (outputs, likelihood) = match data.labels() {
        Some(labels) => (1 + labels.iter().max().unwrap(), Likelihood::Categorical),
        None => (1, GAUSSIAN),
    };
    let sizes: Vec<usize> = [data.features()].iter().chain(hidden).chain([&outputs]).copied().collect();
    let network = Arc::new(Network::new(&NetworkSpec::mlp(&sizes, Activation::Tanh)).unwrap());
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    NetworkLoss::new(network, data, likelihood, prior).unwrap()
}

fn search(loss: &NetworkLoss, prior: PriorChoice) -> PriorFound {
    PriorSearch { prior, ..PriorSearch::default() }.run(loss, Control::default()).unwrap()
}

fn evidence_at(loss: &NetworkLoss, theta: &[f64]) -> f64 {
    let keep = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
    Laplace::fit(loss, theta, &keep, Control::default()).unwrap().log_marginal_likelihood.unwrap()
}

/// The best evidence over starting precisions, each trained on its own by the recipe: at the start, and
/// after weights and prior were fitted in turn.
fn best_of_grid(loss: &NetworkLoss) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for delta in [100.0, 10.0, 1.0, 0.1] {
        let start = loss.with(loss.likelihood(), Prior::isotropic(delta, loss.dim()).unwrap()).unwrap();
        let (theta, _) = Recipe::default().train(&start, 1, Control::default()).unwrap();
        best = best.max(evidence_at(&start, &theta));
        let config = LaplaceConfig {
            refit: Some(Refit { max_rounds: 10, tolerance: 1e-2 }),
            ..LaplaceConfig::default()
        };
        // Without a maximum in δ there is nothing to compare with.
        if let Ok(fitted) = Laplace::fit(&start, &theta, &config, Control::default()) {
            best = best.max(fitted.log_marginal_likelihood.unwrap());
        }
    }
    best
}

fn check(name: &str, data: Dataset, hidden: &[usize]) {
    let loss = problem(data, hidden);
    let found = search(&loss, PriorChoice::Optimize);
    let (evidence, grid) = (found.log_marginal_likelihood.unwrap(), best_of_grid(&loss));
    println!(
        "{name} {hidden:?}: search {evidence:.2}, grid {grid:.2}; {} trials, {} gradients",
        found.trials, found.gradients
    );
    assert!(evidence > grid - 1.0, "{name} {hidden:?}: {evidence} is below the grid's {grid}");
    assert_eq!(found.report.status, TrainStatus::Converged, "{name}");
    assert!((evidence_at(&found.loss, &found.theta) - evidence).abs() < 1e-6, "{name}");
}

#[test]
fn never_a_nat_below_a_grid_of_starts_on_generated_data() {
    check("half circles", two_moons(80, 0.3, 3).unwrap(), &[8]);
    check("half circles", two_moons(80, 0.3, 3).unwrap(), &[8, 8]);
    check("sine", sine_with_gap(40, 0.1, 2).unwrap(), &[12]);
    check("three classes", three_classes(120, 5), &[8]);
    check("linear", regression(100, 1.0, 11, |x| x[0] - 0.7 * x[1] + 0.4 * x[2]), &[16]);
    check("products", regression(150, 0.3, 13, |x| x[0] * x[1] + x[2] + (2.0 * x[3]).sin()), &[16]);
    check("nothing but noise", regression(80, 1.0, 17, |_| 0.0), &[16]);
}

#[test]
fn one_precision_per_layer_is_never_below_one_for_all() {
    let loss = problem(regression(60, 0.5, 19, |x| x[0] + x[1] * x[1]), &[6]);
    let scalar = search(&loss, PriorChoice::Optimize).log_marginal_likelihood.unwrap();
    let layers = search(&loss, PriorChoice::OptimizePerLayer);
    let evidence = layers.log_marginal_likelihood.unwrap();
    assert!(evidence > scalar - 1e-6, "{evidence} against {scalar}");
    assert_eq!(layers.loss.prior().precisions().count(), 2);
    assert!((evidence_at(&layers.loss, &layers.theta) - evidence).abs() < 1e-6);
}

#[test]
fn at_a_fixed_product_of_precision_and_variance_the_noise_is_the_best() {
    let loss = problem(regression(60, 0.5, 23, |x| x[0] + x[1] * x[1]), &[6]);
    let found = search(&loss, PriorChoice::Optimize);
    let Likelihood::Gaussian { sigma_noise } = found.loss.likelihood() else { panic!("a regression") };
    let rho = found.loss.prior().scalar().unwrap() * sigma_noise * sigma_noise;
    let subset = Subset::All.ranges(loss.network()).unwrap();
    let eigenvalues = symmetric_eigenvalues("GGN", &ggn_full(&found.loss, &found.theta, &subset)).unwrap();
    let theta = &found.theta;
    let square_error =
        2.0 * sigma_noise.powi(2) * (found.loss.value(theta) - found.loss.prior().value(theta));
    let evidence =
        Evidence::new(eigenvalues, dot(theta, theta), 0.0).with_noise(sigma_noise, 60, square_error);
    let at = |sigma: f64| evidence.log_marginal_likelihood(rho / (sigma * sigma), Some(sigma)).unwrap();
    let (here, h) = (at(sigma_noise), 1e-3);
    assert!((here - found.log_marginal_likelihood.unwrap()).abs() < 1e-6);
    assert!(here > at(sigma_noise * (1.0 + h)) && here > at(sigma_noise * (1.0 - h)));
}

#[test]
fn a_precision_that_is_given_is_kept_and_the_noise_found() {
    let loss = problem(regression(60, 0.5, 29, |x| x[0] - x[1]), &[4]);
    let found = search(&loss, PriorChoice::Fixed(PriorPrecision::Scalar(5.0)));
    assert_eq!(found.loss.prior().scalar(), Some(5.0));
    let Likelihood::Gaussian { sigma_noise } = found.loss.likelihood() else { panic!("a regression") };
    // The noise is a third of the targets; the prior shrinks the weights, so what is left is more.
    assert!((0.3..0.7).contains(&sigma_noise), "{sigma_noise}");
    for factor in [0.8, 1.25] {
        let likelihood = Likelihood::Gaussian { sigma_noise: factor * sigma_noise };
        let other = found.loss.with(likelihood, found.loss.prior().clone()).unwrap();
        let mut theta = found.theta.clone();
        Recipe::default().polish(&other, &mut theta, None, Control::default()).unwrap();
        assert!(evidence_at(&other, &theta) < found.log_marginal_likelihood.unwrap(), "{factor}");
    }
    let classes = problem(three_classes(40, 1), &[4]);
    let kept = search(&classes, PriorChoice::Keep);
    assert_eq!((kept.loss.prior().scalar(), kept.trials), (Some(1.0), 1));
    assert!(kept.report.gradient_norm < 1e-6);
}

#[test]
fn a_stop_keeps_the_best_so_far() {
    let loss = problem(two_moons(60, 0.3, 4).unwrap(), &[6]);
    let (stop, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    let best = std::sync::Mutex::new(f64::NEG_INFINITY);
    let watch = |trial: &PriorTrial| {
        let evidence = trial.log_marginal_likelihood.unwrap();
        let mut best = best.lock().unwrap();
        assert_eq!(trial.best, evidence > *best);
        *best = best.max(evidence);
        assert!(trial.number <= trial.expected && trial.gradients > 0);
        if seen.fetch_add(1, Ordering::SeqCst) == 9 {
            assert_ne!(trial.start, TrialStart::Refined);
            stop.store(true, Ordering::SeqCst);
        }
    };
    let search = PriorSearch::default();
    let found = search.run(&loss, Control::default().stopping(&stop).observing(&watch)).unwrap();
    assert!(found.stopped && found.trials == 10);
    assert_eq!(found.log_marginal_likelihood, Some(*best.lock().unwrap()));
    // Before the first minimum there are weights at least.
    let found = search.run(&loss, Control::default().stopping(&stop)).unwrap();
    assert!(found.stopped && found.log_marginal_likelihood.is_none());
    assert_eq!(found.report.status, TrainStatus::Stopped);
}

#[test]
fn the_same_seed_gives_the_same_bits_and_an_impossible_evidence_is_an_error() {
    let loss = problem(two_moons(40, 0.3, 4).unwrap(), &[4]);
    let (a, b) = (search(&loss, PriorChoice::Optimize), search(&loss, PriorChoice::Optimize));
    assert_eq!((a.theta, a.trials, a.gradients), (b.theta, b.trials, b.gradients));
    let settings = PriorSearch { structure: Some(Structure::LowRank { rank: 0 }), ..PriorSearch::default() };
    assert!(settings.run(&loss, Control::default()).is_err());
    let values = PriorChoice::Fixed(PriorPrecision::PerLayer(vec![1.0; 5]));
    let settings = PriorSearch { prior: values, ..PriorSearch::default() };
    assert!(matches!(settings.run(&loss, Control::default()), Err(Error::Shape { .. })));
}

fn in_turn(loss: &NetworkLoss, prior: PriorChoice) -> PriorFound {
    let settings = PriorSearch { prior, way: SearchWay::InTurn, ..PriorSearch::default() };
    let found = settings.run(loss, Control::default()).unwrap();
    assert!(found.in_turn && !found.stopped);
    found
}

/// What turns end at: a minimum of the loss, where no other prior (and noise) is much better for these weights.
fn assert_settled(found: &PriorFound, prior: PriorChoice) {
    let mut gradient = vec![0.0; found.theta.len()];
    found.loss.value_and_gradient(&found.theta, &mut gradient);
    let weakest = found.loss.prior().precisions().fold(f64::INFINITY, f64::min);
    let most = 0.1 * (weakest * found.theta.len() as f64).sqrt();
    assert!(dot(&gradient, &gradient).sqrt() <= most, "a minimum");
    let here = evidence_at(&found.loss, &found.theta);
    assert!((found.log_marginal_likelihood.unwrap() - here).abs() < 1e-6 * here.abs());
    let config = LaplaceConfig { prior, ..LaplaceConfig::default() };
    let best = Laplace::fit(&found.loss, &found.theta, &config, Control::default()).unwrap();
    let gain = best.log_marginal_likelihood.unwrap() - here;
    assert!((-1e-6..0.5).contains(&gain), "{gain} nats are left");
}

#[test]
fn turns_end_where_the_prior_suits_the_weights() {
    let classes = problem(three_classes(600, 3), &[6]);
    let numbers = problem(regression(600, 0.3, 5, |x| x[0] * x[1] + x[2]), &[6]);
    for loss in [&classes, &numbers] {
        assert_settled(&in_turn(loss, PriorChoice::Optimize), PriorChoice::Optimize);
    }
    let layers = in_turn(&classes, PriorChoice::OptimizePerLayer);
    assert_eq!(layers.loss.prior().precisions().count(), 2);
    // A prior that is given stays, and leaves nothing to take in turn.
    let prior = PriorChoice::Fixed(PriorPrecision::Scalar(3.0));
    let settings = PriorSearch { prior, way: SearchWay::InTurn, ..PriorSearch::default() };
    let given = settings.run(&classes, Control::default()).unwrap();
    assert_eq!((given.loss.prior().scalar(), given.trials, given.in_turn), (Some(3.0), 1, false));
}

#[test]
fn turns_are_less_work_than_the_ladder_and_their_evidence_is_not_far_below() {
    let loss = problem(three_classes(600, 3), &[6]);
    let (ladder, turns) = (search(&loss, PriorChoice::Optimize), in_turn(&loss, PriorChoice::Optimize));
    assert!(!ladder.in_turn);
    assert!(4 * turns.gradients < ladder.gradients, "{} and {}", turns.gradients, ladder.gradients);
    let [ladder, turns] = [ladder, turns].map(|found| found.log_marginal_likelihood.unwrap());
    assert!(turns > ladder - 20.0, "{turns} and {ladder}");
}

#[test]
fn turns_are_for_much_work_only() {
    let network = [200, 300, 3];
    let loss = |rows: usize| {
        let data = Dataset::classification(vec![0.5; 200 * rows], 200, vec![0; rows]).unwrap();
        let network = Arc::new(Network::new(&NetworkSpec::mlp(&network, Activation::Tanh)).unwrap());
        let prior = Prior::isotropic(1.0, network.dim()).unwrap();
        NetworkLoss::new(network, data, Likelihood::Categorical, prior).unwrap()
    };
    let (few, many) = (loss(300), loss(6000));
    let takes_turns = |way, loss| PriorSearch { way, ..PriorSearch::default() }.takes_turns(loss);
    assert!(!takes_turns(SearchWay::Auto, &few) && takes_turns(SearchWay::Auto, &many));
    assert!(!takes_turns(SearchWay::Ladder, &many) && takes_turns(SearchWay::InTurn, &few));
}

#[test]
fn turns_that_are_stopped_keep_the_weights_they_have() {
    let loss = problem(three_classes(300, 3), &[6]);
    let settings = PriorSearch { way: SearchWay::InTurn, ..PriorSearch::default() };
    let whole = settings.run(&loss, Control::default()).unwrap();
    for stop_after in 0..whole.trials {
        let (stop, seen) = (AtomicBool::new(stop_after == 0), AtomicUsize::new(0));
        let watch = |_: &PriorTrial| {
            if seen.fetch_add(1, Ordering::SeqCst) + 1 == stop_after {
                stop.store(true, Ordering::SeqCst);
            }
        };
        let found = settings.run(&loss, Control::default().stopping(&stop).observing(&watch)).unwrap();
        assert!(found.stopped && found.theta.iter().all(|t| t.is_finite()), "after {stop_after}");
    }
}
