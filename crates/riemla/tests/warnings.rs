//! Warnings about draws: each fires where it should, and not elsewhere.

mod models;

use std::sync::Arc;

use riemla::Error;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice};
use riemla::data::Dataset;
use riemla::data::toy::two_moons;
use riemla::geometry::Status;
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::posterior::{
    Control, FEW_DRAWS, Method, Posterior, PosteriorConfig, SPEED_LIMIT, SampleSet, Strength, Warning,
    warnings,
};
use riemla::train::{Lbfgs, lbfgs, silent};

struct Problem {
    loss: NetworkLoss,
    data: Arc<Dataset>,
    theta: Vec<f64>,
}

fn problem(activation: Activation, train: bool) -> Problem {
    let network = models::mlp(&[2, 8, 2], activation);
    let data = Arc::new(two_moons(60, 0.2, 1).unwrap());
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), &data, Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(1);
    if train {
        lbfgs(&loss, &mut theta, &Lbfgs::default(), &mut silent).unwrap();
    }
    Problem { loss, data, theta }
}

impl Problem {
    fn posterior(&self, method: Method, strength: Strength) -> Posterior {
        let keep = LaplaceConfig { prior: PriorChoice::Keep, ..Default::default() };
        let laplace = Arc::new(Laplace::fit(&self.loss, &self.theta, &keep).unwrap());
        let config = PosteriorConfig { strength, ..PosteriorConfig::new(method) };
        Posterior::new(&self.loss, self.data.clone(), laplace, config).unwrap()
    }
}

fn of(set: &SampleSet, posterior: &Posterior) -> Vec<Warning> {
    let found = warnings(set, posterior).unwrap();
    for warning in &found {
        assert!(warning.to_string().len() > 40, "{warning}");
    }
    found
}

#[test]
fn good_draws_have_no_warnings_and_keep_their_speed() {
    let problem = problem(Activation::Tanh, true);
    let posterior = problem.posterior(Method::RiemLa, Strength::virial());
    let set = posterior.sample(1, 30, Control::default());
    assert_eq!(of(&set, &posterior), []);
    let diagnostics: Vec<_> = set.draws.iter().map(|d| d.geodesic.unwrap().diagnostics).collect();
    let correction = diagnostics.iter().map(|d| d.speed_correction).fold(0.0, f64::max);
    println!("largest correction {correction:e}");
    // Measured 1e-4; positive, because a leapfrog that never corrects would not be measured.
    assert!(correction > 0.0 && correction < 1e-3, "{correction:e}");
    let map = problem.posterior(Method::Map, Strength::Fixed(1.0));
    assert_eq!(of(&map.sample(1, 1, Control::default()), &map), []);
}

#[test]
fn a_loose_tolerance_shows_in_the_corrections_of_the_speed() {
    let problem = problem(Activation::Tanh, true);
    let posterior = problem.posterior(Method::RiemLa, Strength::Fixed(0.1));
    let mut set = posterior.sample(1, 20, Control::default());
    let speed =
        |set: &SampleSet| of(set, &posterior).into_iter().find(|w| matches!(w, Warning::Speed { .. }));
    assert_eq!(speed(&set), None);
    for (i, (drift, correction)) in
        [(0.0, 2.0 * SPEED_LIMIT), (3.0 * SPEED_LIMIT, 0.0)].into_iter().enumerate()
    {
        let geodesic = set.draws[i].geodesic.as_mut().unwrap();
        (geodesic.diagnostics.speed_drift, geodesic.diagnostics.speed_correction) = (drift, correction);
    }
    assert_eq!(speed(&set), Some(Warning::Speed { count: 2, of: 20, largest: 3.0 * SPEED_LIMIT }));
    set.draws[2].geodesic.as_mut().unwrap().diagnostics.speed_drift = f64::NAN;
    let Some(Warning::Speed { count: 3, largest, .. }) = speed(&set) else {
        panic!("a NaN is no small drift")
    };
    assert!(largest.is_nan());
}

#[test]
fn the_virial_ratio_is_judged_by_its_standard_error() {
    let problem = problem(Activation::Tanh, true);
    let virial = |method, strength: f64, count| {
        let posterior = problem.posterior(method, Strength::Fixed(strength));
        let set = posterior.sample(1, count, Control::default());
        of(&set, &posterior).into_iter().find(|w| matches!(w, Warning::Virial { .. }))
    };
    let strong = virial(Method::RiemLa, 3.0, 20).expect("too strong a metric");
    let Warning::Virial { ratio, standard_error, draws: 20, riemannian: true } = strong else { panic!() };
    assert!(ratio < 0.6 && standard_error > 0.0 && standard_error < 0.1, "{strong:?}");
    assert!(strong.to_string().contains("lower the strength"));
    let far = virial(Method::La, 1.0, 60).expect("straight draws leave the posterior");
    assert!(far.to_string().contains("too far out") && far.to_string().contains("lin-la"), "{far}");
    assert_eq!(virial(Method::RiemLa, 3.0, 1), None, "one draw has no standard error");
    let posterior = problem.posterior(Method::La, Strength::Fixed(1.0));
    let set = posterior.sample(1, 10, Control::default());
    let (ratio, _) = posterior.virial_ratio_with_error(&set.thetas()).unwrap();
    assert!((ratio / posterior.virial_ratio(&set.thetas()).unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn unfinished_redrawn_and_missing_draws_are_told() {
    let problem = problem(Activation::Tanh, true);
    let posterior = problem.posterior(Method::RiemLa, Strength::virial());
    let mut set = posterior.sample(1, 20, Control::default());
    assert_eq!(of(&set, &posterior), []);
    set.draws[0].geodesic.as_mut().unwrap().status = Status::StepLimit;
    set.draws[1].geodesic.as_mut().unwrap().attempts = 2;
    assert_eq!(of(&set, &posterior), [Warning::Unfinished { count: 1, of: 20 }], "one of 20 redrawn is few");
    set.draws[2].geodesic.as_mut().unwrap().attempts = 3;
    set.failed.push((20, Error::Unsupported("some reason of a failure".into())));
    let reason = "some reason of a failure".to_string();
    let expected = [
        Warning::Failed { count: 1, of: 21, reason },
        Warning::Unfinished { count: 1, of: 20 },
        Warning::Redrawn { count: 2, of: 20 },
    ];
    assert_eq!(of(&set, &posterior), expected);
    set.draws.truncate(FEW_DRAWS - 1);
    assert!(of(&set, &posterior).contains(&Warning::FewDraws { draws: FEW_DRAWS - 1 }));
}

#[test]
fn weights_that_are_no_minimum_and_rough_metrics_are_told() {
    let untrained = problem(Activation::Tanh, false);
    let posterior = untrained.posterior(Method::LinLa, Strength::Fixed(1.0));
    let found = of(&posterior.sample(1, 20, Control::default()), &posterior);
    let decrement = found.iter().find_map(|w| match w {
        Warning::NotAMinimum { decrement, scale, .. } if *scale == 21.0 => Some(*decrement),
        _ => None,
    });
    assert!(decrement.is_some_and(|d| d > 2.1), "{found:?}");
    // The decrement is what the quadratic model says that a Newton step gains.
    let laplace = posterior.laplace();
    let mut gradient = vec![0.0; laplace.theta.len()];
    riemla::objective::Objective::value_and_gradient(posterior.loss(), &laplace.theta, &mut gradient);
    let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
    laplace.precision().solve(&mut step);
    let mut image = vec![0.0; step.len()];
    laplace.precision().mul(&step, &mut image);
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let gain = -dot(&gradient, &step) - 0.5 * dot(&step, &image);
    assert!((gain / decrement.unwrap() - 1.0).abs() < 1e-9);

    let rough = problem(Activation::Relu, true);
    let posterior = rough.posterior(Method::RiemLa, Strength::Fixed(0.1));
    let found = of(&posterior.sample(1, 20, Control::default()), &posterior);
    assert!(found.iter().any(|w| matches!(w, Warning::NotSmooth(_))), "{found:?}");
}
