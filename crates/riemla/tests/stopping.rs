//! Requests to stop: looked at inside geodesics and fits, and of no effect while they are not made.

mod models;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use riemla::Control;
use riemla::Error;
use riemla::curvature::{Laplace, LaplaceConfig, Refit};
use riemla::data::toy::two_moons;
use riemla::geometry::{ConstrainedLeapfrog, Integrator, Status, exponential_map};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior, TwiceDifferentiable};
use riemla::ode::DormandPrince;
use riemla::posterior::{
    Method, MetricChoice, Posterior, PosteriorConfig, SearchStatus, Strength, Unfinished,
};
use riemla::train::{Lbfgs, TrainStatus, lbfgs};

/// A valley that sets a flag at its 20th gradient.
struct Valley<'a>(&'a AtomicBool, AtomicUsize);

impl Objective for Valley<'_> {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, t: &[f64]) -> f64 {
        let u = t[1] - t[0] * t[0];
        0.5 * t[0] * t[0] + 2.0 * u * u
    }

    fn value_and_gradient(&self, t: &[f64], gradient: &mut [f64]) -> f64 {
        if self.1.fetch_add(1, Ordering::SeqCst) == 20 {
            self.0.store(true, Ordering::SeqCst);
        }
        let u = t[1] - t[0] * t[0];
        gradient.copy_from_slice(&[t[0] - 8.0 * u * t[0], 4.0 * u]);
        self.value(t)
    }

    fn second_derivatives(&self) -> Option<&dyn TwiceDifferentiable> {
        Some(self)
    }
}

impl TwiceDifferentiable for Valley<'_> {
    fn curvature_along(&self, t: &[f64], v: &[f64]) -> f64 {
        let mut hv = [0.0; 2];
        self.hvp(t, v, &mut hv);
        hv[0] * v[0] + hv[1] * v[1]
    }

    fn hvp(&self, t: &[f64], v: &[f64], out: &mut [f64]) {
        out[0] = (1.0 - 8.0 * (t[1] - 3.0 * t[0] * t[0])) * v[0] - 8.0 * t[0] * v[1];
        out[1] = -8.0 * t[0] * v[0] + 4.0 * v[1];
    }
}

#[test]
fn a_running_geodesic_stops_at_its_next_step() {
    let fixed = ConstrainedLeapfrog { fixed_steps: Some(500), ..Default::default() };
    for integrator in [
        Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(1e-8)),
        Integrator::ConstrainedLeapfrog(fixed),
        Integrator::DormandPrince(DormandPrince { rtol: 1e-9, atol: 1e-9, ..Default::default() }),
    ] {
        let (start, v) = ([0.5, 0.2], [3.0, 1.0]);
        let flag = AtomicBool::new(false);
        let valley = || Valley(&flag, AtomicUsize::new(0));
        let free = exponential_map(&valley(), 1.0, &integrator, &start, &v, 0, Control::default()).unwrap();
        assert!(free.status == Status::Reached && free.counters.gradients > 40, "{:?}", free.counters);
        flag.store(false, Ordering::SeqCst);
        let never = AtomicBool::new(false);
        let watched =
            exponential_map(&valley(), 1.0, &integrator, &start, &v, 0, Control::default().stopping(&never))
                .unwrap();
        assert_eq!(watched, free, "the same bits");
        flag.store(false, Ordering::SeqCst);
        let stopped =
            exponential_map(&valley(), 1.0, &integrator, &start, &v, 0, Control::default().stopping(&flag))
                .unwrap();
        assert_eq!(stopped.status, Status::Stopped);
        assert!(stopped.t > 0.0 && stopped.t < 1.0 && stopped.counters.gradients < 35, "{stopped:?}");
    }
}

fn problem() -> (NetworkLoss, Vec<f64>) {
    let network = models::mlp(&[2, 8, 2], Activation::Tanh);
    let data = two_moons(60, 0.2, 1).unwrap();
    let prior = Prior::isotropic(1.0, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    (loss, theta)
}

/// Runs `f` with a flag that another thread sets soon: whatever runs then would go on for hours.
fn soon_stopped<T>(f: impl FnOnce(&AtomicBool) -> T) -> T {
    stopped_after(50, f)
}

fn stopped_after<T>(milliseconds: u64, f: impl FnOnce(&AtomicBool) -> T) -> T {
    let flag = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(milliseconds));
            flag.store(true, Ordering::SeqCst);
        });
        f(&flag)
    })
}

#[test]
fn draws_cut_short_are_no_draws_under_any_policy() {
    let (loss, theta) = problem();
    let laplace =
        Arc::new(Laplace::fit(&loss, &theta, &LaplaceConfig::default(), Control::default()).unwrap());
    let forever = ConstrainedLeapfrog { fixed_steps: Some(1 << 40), ..Default::default() };
    let solver = DormandPrince { rtol: 1e-14, atol: 1e-30, max_steps: usize::MAX, first_step: Some(1e-12) };
    for unfinished in [Unfinished::Keep, Unfinished::Fail, Unfinished::Redraw(3)] {
        for metric in [MetricChoice::Loss, MetricChoice::Preconditioned, MetricChoice::Fisher] {
            let mut config = PosteriorConfig { unfinished, metric, ..PosteriorConfig::paper(Method::RiemLa) };
            config.integrator = match metric {
                MetricChoice::Fisher => Integrator::DormandPrince(solver),
                _ => Integrator::ConstrainedLeapfrog(forever.clone()),
            };
            let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
            let set = soon_stopped(|stop| posterior.sample(1, 4, Control::default().stopping(stop)).unwrap());
            assert!(set.stopped && set.failed.is_empty(), "{:?}", set.failed);
            assert!(metric == MetricChoice::Fisher || set.draws.is_empty(), "{}", set.draws.len());
        }
    }
}

#[test]
fn a_stopped_search_for_the_strength_is_not_remembered() {
    let (loss, theta) = problem();
    let laplace =
        Arc::new(Laplace::fit(&loss, &theta, &LaplaceConfig::default(), Control::default()).unwrap());
    let forever = ConstrainedLeapfrog { fixed_steps: Some(1 << 40), ..Default::default() };
    let config = PosteriorConfig {
        strength: Strength::virial(),
        integrator: Integrator::ConstrainedLeapfrog(forever),
        ..PosteriorConfig::paper(Method::RiemLa)
    };
    let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
    for _ in 0..2 {
        let set = soon_stopped(|stop| posterior.sample(1, 4, Control::default().stopping(stop)).unwrap());
        assert!(set.stopped && set.draws.is_empty() && set.failed.is_empty());
        assert_eq!(set.calibration.unwrap().status, SearchStatus::Stopped);
    }
}

#[test]
fn a_stopped_fit_is_its_last_complete_round() {
    let (loss, theta) = problem();
    let set = AtomicBool::new(true);
    let config = LaplaceConfig::default();
    let error = Laplace::fit(&loss, &theta, &config, Control::default().stopping(&set)).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    let refit = Some(Refit { max_rounds: usize::MAX, tolerance: 0.0 });
    let endless = LaplaceConfig { refit, ..config.clone() };
    // Long enough for a round on a busy machine.
    let stopped = stopped_after(1000, |stop| {
        Laplace::fit(&loss, &theta, &endless, Control::default().stopping(stop)).unwrap()
    });
    assert!(stopped.stopped && stopped.refit_settled == Some(false) && stopped.refit_rounds > 0);
    let rounds = Refit { max_rounds: stopped.refit_rounds, tolerance: 0.0 };
    let same =
        Laplace::fit(&loss, &theta, &LaplaceConfig { refit: Some(rounds), ..config }, Control::default())
            .unwrap();
    assert_eq!((&stopped.gaussian.theta(), &stopped.prior), (&same.gaussian.theta(), &same.prior));
    assert!(!same.stopped);
    let mut theta = theta;
    let report = lbfgs(
        &loss,
        &mut theta,
        &Lbfgs { gradient_tolerance: 0.0, ..Default::default() },
        Control::default().stopping(&set),
    );
    assert_eq!(report.unwrap().status, TrainStatus::Stopped);
}
