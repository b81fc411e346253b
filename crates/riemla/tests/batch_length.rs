//! The length of draws on batches: they are shortened until the loss of all rows is right, by one factor per seed.

mod models;

use std::sync::Arc;

use models::{GAUSSIAN, data, mlp};
use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Prior};
use riemla::posterior::{
    BatchDesign, BatchLength, BatchPlan, Calibration, Draw, Method, Posterior, PosteriorConfig, SearchStatus,
    Strength,
};
use riemla::train::{Lbfgs, lbfgs};

/// A trained network with its Laplace approximation.
struct Problem {
    loss: NetworkLoss,
    laplace: Laplace,
}

impl Problem {
    fn new(sizes: &[usize], likelihood: Likelihood, rows: usize) -> Self {
        let network = mlp(sizes, Activation::Tanh);
        let prior = Prior::isotropic(0.5, network.dim()).unwrap();
        let rows = data(&network, likelihood, rows, 3);
        let loss = NetworkLoss::new(network.clone(), rows, likelihood, prior).unwrap();
        let mut theta = network.initialize(1);
        lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
        let config = LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() };
        let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
        Self { loss, laplace }
    }

    fn posterior(&self, config: PosteriorConfig) -> Posterior {
        Posterior::of_network(&self.loss, &self.laplace, config).unwrap()
    }

    fn batched(&self, config: PosteriorConfig, size: usize, length: BatchLength) -> Posterior {
        let batch = Some(BatchPlan { length, ..BatchPlan::new(size, BatchDesign::leverage()) });
        self.posterior(PosteriorConfig { batch, ..config })
    }
}

fn network() -> Problem {
    Problem::new(&[2, 8, 3], Likelihood::Categorical, 80)
}

fn with(method: Method, strength: Strength) -> PosteriorConfig {
    PosteriorConfig { strength, ..PosteriorConfig::new(method) }
}

fn found(posterior: &Posterior, seed: u64) -> Arc<Calibration> {
    posterior.calibration(seed, &[], Control::default()).unwrap().unwrap()
}

fn draws(posterior: &Posterior, seed: u64, count: u64) -> Vec<Draw> {
    posterior.sample(seed, count, Control::default()).unwrap().draws
}

/// The posterior of a linear regression is Gaussian: nothing is to be shortened with all rows, at any strength.
#[test]
fn with_all_rows_draws_keep_their_length() {
    let linear = Problem::new(&[3, 1], GAUSSIAN, 30);
    let curved = network();
    for (problem, rows) in [(&linear, 30), (&curved, 80)] {
        let config = with(Method::RiemLa, Strength::virial());
        let all = problem.batched(config.clone(), rows, BatchLength::Auto);
        assert_eq!(found(&all, 1).length, 1.0);
        assert_eq!(draws(&all, 1, 3), draws(&problem.posterior(config), 1, 3));
        let fixed = problem.batched(with(Method::RiemLa, Strength::Fixed(0.1)), rows, BatchLength::Auto);
        assert!(!fixed.needs_calibration().unwrap());
    }
}

/// The virial ratio on all rows of draws that pilots did not see is 1; at full length it is far too large.
#[test]
fn shortened_draws_have_the_right_height_on_all_rows() {
    let p = network();
    for method in [Method::RiemLa, Method::LinRiemLa] {
        for strength in [Strength::virial(), Strength::typical(), Strength::Fixed(0.3)] {
            let calibration = found(&p.batched(with(method, strength), 16, BatchLength::Auto), 1);
            let ratio = |length: BatchLength| {
                let posterior = p.batched(with(method, calibration.strength.into()), 16, length);
                let asked = Calibration {
                    rule: Strength::virial(),
                    slopes: Some([-1.0, 0.0]),
                    status: SearchStatus::Converged,
                    length: 1.0,
                    ..(*calibration).clone()
                };
                let fresh = draws(&posterior, 77, 60);
                let verdict = posterior.verdict(77, &asked, &fresh).unwrap().unwrap();
                (verdict.ratio.ln(), verdict.error / verdict.ratio)
            };
            let (full, _) = ratio(BatchLength::Full);
            let (short, error) = ratio(BatchLength::Factor(calibration.length));
            // Four standard errors of both: level 6e-5, two-sided. That of the pilots is 0.06, or that of 24.
            let both = 4.0 * error.hypot(0.06f64.max(error * (60.0f64 / 24.0).sqrt()));
            assert!(short.abs() < both, "{method} {strength:?}: {short} ± {error} at {calibration:?}");
            // The search of the linearised network can meet its rule with batches.
            let far = calibration.length < 0.9 && full > 1.5 * both;
            assert!(far || method == Method::LinRiemLa, "{method} {strength:?}: {full} {both}");
        }
    }
}

/// The strength is the posterior's own: the same bits as without batches, whatever the batches are. The paper's batches have one of
/// their own, and so has the linearised network.
#[test]
fn shortened_draws_take_the_strength_of_all_rows() {
    let p = network();
    for rule in [Strength::typical(), Strength::virial()] {
        for method in [Method::RiemLa, Method::LinRiemLa] {
            let alone = found(&p.posterior(with(method, rule)), 1);
            let [auto, full] = [BatchLength::Auto, BatchLength::Full]
                .map(|length| found(&p.batched(with(method, rule), 16, length), 1));
            assert!(
                full.strength != alone.strength && full.on_all_rows < full.counters.gradients,
                "{full:?}"
            );
            if method == Method::RiemLa {
                assert_eq!((auto.strength, &auto.trials), (alone.strength, &alone.trials), "{rule:?}");
                assert!(auto.length < 1.0 && auto.on_all_rows > alone.counters.gradients, "{auto:?}");
            } else {
                assert_eq!((auto.strength, &auto.trials), (full.strength, &full.trials), "{rule:?}");
                assert!(auto.on_all_rows < auto.counters.gradients, "{auto:?}");
            }
        }
    }
}

/// One factor for all draws, along the straight line from θ*; none changes nothing.
#[test]
fn a_draw_lies_on_the_line_to_the_end_of_its_geodesic() {
    let p = network();
    let at = |length| draws(&p.batched(with(Method::RiemLa, Strength::Fixed(0.3)), 16, length), 2, 3);
    let (full, half) = (at(BatchLength::Full), at(BatchLength::Factor(0.5)));
    assert_eq!(full, at(BatchLength::Factor(1.0)), "the same bits");
    for (full, half) in full.iter().zip(&half) {
        assert_eq!(full.geodesic, half.geodesic);
        for ((full, half), center) in full.theta.iter().zip(&half.theta).zip(p.laplace.gaussian.theta()) {
            assert_eq!(*half, center + 0.5 * (full - center));
        }
    }
    let auto = p.batched(with(Method::RiemLa, Strength::Fixed(0.3)), 16, BatchLength::Auto);
    let length = found(&auto, 2).length;
    assert_eq!(draws(&auto, 2, 3), at(BatchLength::Factor(length)));
}

#[test]
fn the_length_has_the_same_bits_on_any_number_of_threads_and_after_known_trials() {
    let p = network();
    let config = with(Method::RiemLa, Strength::typical());
    let run = |threads| {
        let posterior = p.batched(config.clone(), 16, BatchLength::Auto);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (found(&posterior, 4), draws(&posterior, 4, 4)))
    };
    let (calibration, one) = run(1);
    assert_eq!((calibration.clone(), one.clone()), run(2));
    let posterior = p.batched(config.clone(), 16, BatchLength::Auto);
    for draw in one.iter().rev() {
        assert_eq!(posterior.draw(4, draw.index, Control::default()).unwrap(), *draw);
    }
    let again = p.batched(config.clone(), 16, BatchLength::Auto);
    let known = &calibration.trials[..calibration.trials.len() / 2];
    assert_eq!(again.calibration(4, known, Control::default()).unwrap().unwrap(), calibration);
    // What a search found can be given instead.
    let given = p
        .batched(config, 16, BatchLength::Auto)
        .with_strength(calibration.strength)
        .and_then(|posterior| posterior.with_length(BatchLength::Factor(calibration.length)))
        .unwrap();
    assert!(!given.needs_calibration().unwrap());
    assert_eq!(draws(&given, 4, 4), one);
}

#[test]
fn lengths_come_back_from_files_and_others_are_refused() {
    let read = |text: &str| serde_json::from_str::<BatchPlan>(text);
    for (text, length) in [
        (r#"{"size":3,"design":"uniform"}"#, BatchLength::Full),
        (r#"{"size":3,"design":"uniform","length":"auto"}"#, BatchLength::Auto),
        (r#"{"size":3,"design":"uniform","length":0.75}"#, BatchLength::Factor(0.75)),
    ] {
        let plan = BatchPlan { length, ..BatchPlan::new(3, BatchDesign::Uniform) };
        assert_eq!(read(text).unwrap(), plan);
        assert_eq!(serde_json::to_string(&plan).unwrap(), text);
        assert_eq!(length.to_string().parse::<BatchLength>().unwrap(), length);
    }
    for bad in ["0", "-0.5", "1.01", "nan", "inf", "half", ""] {
        let error = bad.parse::<BatchLength>().unwrap_err().to_string();
        assert!(error.contains("full") && error.contains("at most 1"), "{error}");
    }
    assert!(read(r#"{"size":3,"length":2}"#).is_err());
    let p = network();
    let plan = BatchPlan { length: BatchLength::Factor(1.5), ..BatchPlan::new(16, BatchDesign::Uniform) };
    let config = PosteriorConfig { batch: Some(plan), ..PosteriorConfig::new(Method::RiemLa) };
    assert!(Posterior::of_network(&p.loss, &p.laplace, config).is_err());
}
