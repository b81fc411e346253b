//! Warnings about draws: each fires where it should, and not elsewhere.

mod models;

use std::sync::Arc;

use riemla::Control;
use riemla::Error;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice};
use riemla::data::toy::two_moons;
use riemla::geometry::{ConstrainedLeapfrog, Integrator, Status};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::ode::DormandPrince;
use riemla::posterior::{
    BatchDesign, BatchPlan, CORRECTION_LIMIT, DrawsMade, FEW_DRAWS, Method, Posterior, PosteriorConfig,
    SPEED_LIMIT, SampleSet, SearchStatus, Strength, Warning, warnings,
};
use riemla::train::{Lbfgs, lbfgs};

struct Problem {
    loss: NetworkLoss,
    theta: Vec<f64>,
}

fn problem(activation: Activation, train: bool) -> Problem {
    let network = models::mlp(&[2, 8, 2], activation);
    let data = two_moons(60, 0.2, 1).unwrap();
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(1);
    if train {
        lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    }
    Problem { loss, theta }
}

impl Problem {
    fn posterior(&self, method: Method, strength: Strength) -> Posterior {
        self.configured(PosteriorConfig { strength, ..PosteriorConfig::paper(method) })
    }

    fn configured(&self, config: PosteriorConfig) -> Posterior {
        let keep = LaplaceConfig { prior: PriorChoice::Keep, ..Default::default() };
        let laplace = Arc::new(Laplace::fit(&self.loss, &self.theta, &keep, Control::default()).unwrap());
        Posterior::of_network(&self.loss, &laplace, config).unwrap()
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
    let set = posterior.sample(1, 30, Control::default()).unwrap();
    assert_eq!(of(&set, &posterior), []);
    let diagnostics: Vec<_> = set.draws.iter().map(|d| d.geodesic.unwrap().diagnostics).collect();
    let correction = diagnostics.iter().map(|d| d.speed_correction).fold(0.0, f64::max);
    // Measured 2.6e-5; positive, because a leapfrog that never corrects would not be measured.
    assert!(correction > 0.0 && correction < 1e-4, "{correction:e}");
    let map = problem.posterior(Method::Map, Strength::Fixed(1.0));
    assert_eq!(of(&map.sample(1, 1, Control::default()).unwrap(), &map), []);
}

#[test]
fn geodesics_that_were_not_solved_are_told() {
    let problem = problem(Activation::Tanh, true);
    let speed = |set: &SampleSet, posterior: &Posterior| {
        of(set, posterior).into_iter().find(|w| matches!(w, Warning::Speed { .. }))
    };
    let with = |integrator: Integrator| {
        let posterior = problem.posterior(Method::RiemLa, Strength::Fixed(1.0));
        let config = PosteriorConfig { integrator, ..posterior.config().clone() };
        let (model, gaussian) = (posterior.model().clone(), posterior.gaussian().clone());
        let posterior = Posterior::new(model, gaussian, config).unwrap();
        let set = posterior.sample(1, 20, Control::default()).unwrap();
        (speed(&set, &posterior), set, posterior)
    };
    // The steps of the leapfrog are limited by how far the normal turns, whatever the tolerance.
    let (none, mut set, posterior) =
        with(Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(3.0)));
    assert_eq!(none, None);
    set.draws[1].geodesic.as_mut().unwrap().diagnostics.speed_correction = 2.0 * CORRECTION_LIMIT;
    let Some(Warning::Speed { count: 1, correction, drift, .. }) = speed(&set, &posterior) else { panic!() };
    assert!(correction > CORRECTION_LIMIT && drift < 1e-9, "{correction:e} {drift:e}");
    let solver = DormandPrince { rtol: 0.3, atol: 0.3, ..Default::default() };
    let (loose, ..) = with(Integrator::DormandPrince(solver));
    let Some(Warning::Speed { correction: 0.0, drift, .. }) = loose else { panic!("{loose:?}") };
    assert!(drift > SPEED_LIMIT, "{drift:e}");
    let (none, mut set, posterior) = with(Integrator::default());
    assert_eq!(none, None);
    set.draws[2].geodesic.as_mut().unwrap().diagnostics.speed_drift = f64::NAN;
    assert!(matches!(speed(&set, &posterior), Some(Warning::Speed { count: 1, .. })), "NaN is not small");
}

#[test]
fn the_virial_ratio_is_judged_by_its_standard_error() {
    let problem = problem(Activation::Tanh, true);
    let virial = |method, strength: f64, count| {
        let posterior = problem.posterior(method, Strength::Fixed(strength));
        let set = posterior.sample(1, count, Control::default()).unwrap();
        of(&set, &posterior).into_iter().find(|w| matches!(w, Warning::Virial { .. }))
    };
    let strong = virial(Method::RiemLa, 3.0, 20).expect("too strong a metric");
    let Warning::Virial { ratio, standard_error, draws: 20, made: DrawsMade::Geodesics } = strong else {
        panic!()
    };
    assert!(ratio < 0.6 && standard_error > 0.0 && standard_error < 0.1, "{strong:?}");
    assert!(strong.to_string().contains("lower the strength"));
    let far = virial(Method::La, 1.0, 60).expect("straight draws leave the posterior");
    assert!(far.to_string().contains("overshoot") && far.to_string().contains("lin-la"), "{far}");
    assert_eq!(virial(Method::RiemLa, 3.0, 1), None, "one draw has no standard error");
    // A rule that found its strength is not contradicted by a small deviation, but by a large one.
    let posterior = problem.posterior(Method::RiemLa, Strength::typical());
    let set = posterior.sample(1, 400, Control::default()).unwrap();
    let found = set.calibration.clone().expect("a rule");
    assert_eq!(found.status, SearchStatus::Converged);
    let (ratio, _) = posterior.virial_ratio_with_error(&set.thetas()).unwrap();
    for (target, warned) in [(1.3, [true, false]), (1.7, [true, true])] {
        // The ratio grows with the distance from the trained weights.
        let center = posterior.gaussian().theta();
        let mut wide = set.clone();
        let (mut low, mut high) = (0.5, 3.0f64);
        for _ in 0..40 {
            let factor = 0.5 * (low + high);
            for (to, from) in wide.draws.iter_mut().zip(&set.draws) {
                to.theta
                    .iter_mut()
                    .zip(&from.theta)
                    .zip(center)
                    .for_each(|((t, f), c)| *t = c + factor * (f - c));
            }
            let (ratio, error) = posterior.virial_ratio_with_error(&wide.thetas()).unwrap();
            assert!(ratio > 2.0 || error < 0.1, "{ratio} {error}");
            if ratio < target { low = factor } else { high = factor }
        }
        let is_virial = |w: &Warning| matches!(w, Warning::Virial { .. });
        let mut given = wide.clone();
        given.calibration = None;
        let both = [given, wide].map(|set| of(&set, &posterior).iter().any(is_virial));
        assert_eq!(both, warned, "{target} from {ratio}");
    }
    // No strength helps draws that see a tenth of the rows: the remedy is another.
    let batch = Some(BatchPlan::new(6, BatchDesign::Stratified));
    let posterior = problem.configured(PosteriorConfig { batch, ..PosteriorConfig::new(Method::RiemLa) });
    let set = posterior.sample(1, 20, Control::default()).unwrap();
    assert_eq!(set.calibration.as_ref().map(|found| found.status), Some(SearchStatus::Closest));
    let far = of(&set, &posterior).into_iter().find(|w| matches!(w, Warning::Virial { .. }));
    assert!(far.is_some_and(|warning| warning.to_string().contains("larger batches")));
    let posterior = problem.posterior(Method::La, Strength::Fixed(1.0));
    let set = posterior.sample(1, 10, Control::default()).unwrap();
    let (ratio, _) = posterior.virial_ratio_with_error(&set.thetas()).unwrap();
    assert!((ratio / posterior.virial_ratio(&set.thetas()).unwrap() - 1.0).abs() < 1e-12);
}

/// The signs of all hidden units of tanh can be turned: that mode is as deep, and just before it the loss falls with the
/// distance from θ*. Such draws went too far, whatever the number says at first sight.
#[test]
fn draws_that_left_the_basin_are_not_taken_for_too_close() {
    let problem = problem(Activation::Tanh, true);
    let posterior = problem.posterior(Method::RiemLa, Strength::Fixed(1.0));
    let mut set = posterior.sample(1, 20, Control::default()).unwrap();
    let center = posterior.gaussian().theta();
    for (draw, share) in set.draws.iter_mut().zip(1..) {
        let turned = center.iter().enumerate().map(|(i, c)| if i < 40 { -c } else { *c });
        let share = 0.7 + 0.01 * share as f64;
        draw.theta = center.iter().zip(turned).map(|(c, t)| c + share * (t - c)).collect();
    }
    let found = of(&set, &posterior).into_iter().find(|w| matches!(w, Warning::Virial { .. }));
    let Some(Warning::Virial { ratio, .. }) = found else { panic!("{found:?}") };
    assert!(ratio < -0.1, "{ratio}");
    let text = found.unwrap().to_string();
    assert!(text.contains("left the basin") && text.contains("raise the strength"), "{text}");
}

#[test]
fn unfinished_redrawn_and_missing_draws_are_told() {
    let problem = problem(Activation::Tanh, true);
    let posterior = problem.posterior(Method::RiemLa, Strength::virial());
    let mut set = posterior.sample(1, 20, Control::default()).unwrap();
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
    let found = of(&posterior.sample(1, 20, Control::default()).unwrap(), &posterior);
    let decrement = found.iter().find_map(|w| match w {
        Warning::NotAMinimum { decrement, scale, .. } if *scale == 21.0 => Some(*decrement),
        _ => None,
    });
    assert!(decrement.is_some_and(|d| d > 2.1), "{found:?}");
    // The decrement is what the quadratic model says that a Newton step gains.
    let gaussian = posterior.gaussian();
    let mut gradient = vec![0.0; gaussian.theta().len()];
    posterior.model().value_and_gradient(gaussian.theta(), &mut gradient);
    let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
    gaussian.precision().solve(&mut step);
    let mut image = vec![0.0; step.len()];
    gaussian.precision().mul(&step, &mut image);
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let gain = -dot(&gradient, &step) - 0.5 * dot(&step, &image);
    assert!((gain / decrement.unwrap() - 1.0).abs() < 1e-9);

    let rough = problem(Activation::Relu, true);
    let posterior = rough.posterior(Method::RiemLa, Strength::Fixed(0.1));
    let found = of(&posterior.sample(1, 20, Control::default()).unwrap(), &posterior);
    assert!(found.iter().any(|w| matches!(w, Warning::NotSmooth(_))), "{found:?}");
}
