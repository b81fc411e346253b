//! The metric that is taken when none is asked for.

mod models;

use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Subset};
use riemla::geometry::{ConstrainedLeapfrog, Integrator};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::posterior::{Method, MetricChoice, Polish, Posterior, PosteriorConfig, Strength, Unfinished};
use riemla::train::{Lbfgs, lbfgs};

struct Fitted {
    loss: NetworkLoss,
    laplace: Laplace,
}

impl Fitted {
    fn new(sizes: &[usize], likelihood: Likelihood, subset: Subset) -> Self {
        let network = models::mlp(sizes, Activation::Tanh);
        let prior = Prior::isotropic(0.3, network.dim()).unwrap();
        let data = models::data(&network, likelihood, 60, 3);
        let loss = NetworkLoss::new(network.clone(), data, likelihood, prior).unwrap();
        let mut theta = network.initialize(1);
        lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
        let config = LaplaceConfig { prior: PriorChoice::Keep, subset, ..Default::default() };
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        Self { loss, laplace }
    }

    fn metric(&self, config: PosteriorConfig) -> MetricChoice {
        Posterior::of_network(&self.loss, &self.laplace, config).unwrap().config().metric
    }
}

#[test]
fn convex_models_take_the_fisher_metric_and_others_do_not() {
    use MetricChoice::{Fisher, Preconditioned};
    let (yes_no, classes) = (Likelihood::Bernoulli, Likelihood::Categorical);
    for (sizes, likelihood, subset, expected) in [
        (&[3, 1][..], yes_no, Subset::All, Fisher),
        (&[3, 4], classes, Subset::All, Fisher),
        (&[3, 2], models::GAUSSIAN, Subset::All, Fisher),
        (&[3, 5, 2], classes, Subset::LastLayer, Fisher),
        (&[3, 5, 2], classes, Subset::All, Preconditioned),
        (&[3, 5, 1], yes_no, Subset::All, Preconditioned),
        // Above 2000 weights.
        (&[700, 3], classes, Subset::All, Preconditioned),
    ] {
        let fitted = Fitted::new(sizes, likelihood, subset.clone());
        let found = fitted.metric(PosteriorConfig::new(Method::RiemLa));
        assert_eq!(found, expected, "{sizes:?} {likelihood:?} {subset:?}");
        // Draws that are polished afterwards, as the commands do, start from the same geodesics.
        let found = fitted.metric(PosteriorConfig::of_commands(Method::RiemLa));
        assert_eq!(found, expected, "{sizes:?} {likelihood:?} {subset:?}, polished");
    }
}

#[test]
fn only_what_was_left_open_is_chosen() {
    let fitted = Fitted::new(&[3, 1], Likelihood::Bernoulli, Subset::All);
    let usual = || PosteriorConfig::new(Method::RiemLa);
    let leapfrog = Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(1e-4));
    for given in [
        PosteriorConfig { strength: Strength::Fixed(0.1), ..usual() },
        PosteriorConfig { strength: Strength::virial(), ..usual() },
        PosteriorConfig { integrator: leapfrog, ..usual() },
        PosteriorConfig::new(Method::LinRiemLa),
    ] {
        assert_eq!(fitted.metric(given.clone()), MetricChoice::Preconditioned, "{given:?}");
    }
    for metric in [MetricChoice::Loss, MetricChoice::Preconditioned] {
        assert_eq!(fitted.metric(PosteriorConfig { metric, ..usual() }), metric);
    }
    let kept = PosteriorConfig { unfinished: Unfinished::Keep, ..usual() };
    let posterior = Posterior::of_network(&fitted.loss, &fitted.laplace, kept).unwrap();
    assert_eq!(
        *posterior.config(),
        PosteriorConfig { unfinished: Unfinished::Keep, ..PosteriorConfig::fisher(Method::RiemLa) }
    );
    let polished = PosteriorConfig { polish: Some(Polish::of(20)), ..usual() };
    let polished = Posterior::of_network(&fitted.loss, &fitted.laplace, polished).unwrap();
    assert_eq!(polished.config().polish, Some(Polish::of(20)));
    // No strength is searched, and the draws are those of the metric when it is asked for.
    assert!(posterior.calibration(1, &[], Control::default()).unwrap().is_none());
    let asked = PosteriorConfig { unfinished: Unfinished::Keep, ..PosteriorConfig::fisher(Method::RiemLa) };
    let asked = Posterior::of_network(&fitted.loss, &fitted.laplace, asked).unwrap();
    let draws = |posterior: &Posterior| posterior.sample(1, 3, Control::default()).unwrap().draws;
    assert_eq!(draws(&posterior), draws(&asked));
    assert_eq!(serde_json::to_string(&MetricChoice::default()).unwrap(), "\"auto\"");
}

/// 200 weights: solved with the factor of the Laplace approximation. The ends are those of dense solves.
#[test]
fn shared_factors_give_the_same_draws() {
    use riemla::geometry::{FisherMetric, FisherSolve, geodesic_of_metric};
    use riemla::ode::DormandPrince;
    let fitted = Fitted::new(&[99, 2], Likelihood::Categorical, Subset::All);
    let gaussian = Arc::clone(&fitted.laplace.gaussian);
    let metric = || FisherMetric::new(&fitted.loss, gaussian.theta(), gaussian.subset()).unwrap();
    let sharing = metric().sharing(gaussian.precision()).unwrap();
    assert_eq!(sharing.solve(), FisherSolve::Shared);
    let solver = DormandPrince { rtol: 1e-6, atol: 1e-8, ..Default::default() };
    let v = gaussian.draw_tangent(&mut riemla::random::stream(1, riemla::random::Purpose::Draw, 0));
    let end = |metric: &FisherMetric<'_>| {
        geodesic_of_metric(metric, &solver, gaussian.theta(), &v, 0, Control::default()).unwrap().end
    };
    let dense = end(&metric().with_solve(FisherSolve::Dense).unwrap());
    riemla::testing::assert_vectors("end", &end(&sharing), &dense, 1e-6, 1e-8);
}
