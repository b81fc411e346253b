//! NUTS, SWAG and ensembles against what is known in closed form.

mod models;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use models::{data, mlp, normals};
use riemla::Control;
use riemla::data::toy::two_moons;
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior};
use riemla::random::{Purpose, stream};
use riemla::reference::{
    Chains, Ensemble, Microcanonical, Nuts, R_HAT_LIMIT, Swag, SwagMoments, microcanonical, nuts, swag,
};
use riemla::train::{Lbfgs, Recipe, lbfgs};

/// ½(θ − m)ᵀP(θ − m) with P = LLᵀ, L lower triangular: covariance P⁻¹.
struct Gaussian {
    mean: Vec<f64>,
    lower: Vec<Vec<f64>>,
}

impl Gaussian {
    /// Standard deviations from 1/30 to 30, all neighbours correlated.
    fn new(dim: usize) -> Self {
        let scale = |i: usize| 30f64.powf(2.0 * i as f64 / (dim as f64 - 1.0) - 1.0);
        let row = |i: usize| {
            (0..=i).map(|j| if i == j { scale(i) } else { 0.7 * scale(j) / (i - j) as f64 }).collect()
        };
        Self { mean: (0..dim).map(|i| i as f64 - 2.0).collect(), lower: (0..dim).map(row).collect() }
    }

    /// Lᵀ(θ − m): standard normal for exact draws.
    fn whitened(&self, theta: &[f64]) -> Vec<f64> {
        let mut white = vec![0.0; theta.len()];
        for (i, row) in self.lower.iter().enumerate() {
            for (j, l) in row.iter().enumerate() {
                white[j] += l * (theta[i] - self.mean[i]);
            }
        }
        white
    }
}

impl Objective for Gaussian {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        0.5 * self.whitened(theta).iter().map(|w| w * w).sum::<f64>()
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let white = self.whitened(theta);
        for (g, row) in gradient.iter_mut().zip(&self.lower) {
            *g = row.iter().zip(&white).map(|(l, w)| l * w).sum();
        }
        0.5 * white.iter().map(|w| w * w).sum::<f64>()
    }
}

fn starts(chains: usize, dim: usize, scale: f64) -> Vec<Vec<f64>> {
    (0..chains as u64).map(|c| normals(c + 1, dim).iter().map(|v| scale * v).collect()).collect()
}

fn run(objective: &dyn Objective, draws: usize, config: &Nuts) -> Chains {
    let starts = starts(config.chains, objective.dim(), 1.0);
    nuts(objective, &starts, draws, 3, config, Control::default()).unwrap()
}

/// Mean over chains and draws, and its standard error from the effective sample size.
fn mean_with_error(chains: &Chains, quantity: impl Fn(&[f64]) -> f64) -> (f64, f64) {
    let values: Vec<f64> = chains.in_turn().into_iter().map(&quantity).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / chains.of(quantity).unwrap().bulk_ess).sqrt())
}

#[test]
fn moments_of_a_correlated_gaussian_are_recovered() {
    let target = Gaussian::new(5);
    let chains = run(&target, 1500, &Nuts::default());
    assert_eq!((chains.rounds(), chains.in_turn().len(), chains.divergences()), (1500, 6000, 0));
    // In whitened coordinates means are 0 and products δᵢⱼ: 20 two-sided tests at 4.5 standard errors,
    // level 1.4e-4 for all together; a loss 1.2 times too large was seen to fail.
    for i in 0..5 {
        assert!(chains.of(|draw| draw[i]).unwrap().is_good(), "{i}: {:?}", chains.of(|draw| draw[i]));
        let (mean, error) = mean_with_error(&chains, |draw| target.whitened(draw)[i]);
        assert!(mean.abs() < 4.5 * error && error < 0.03, "mean {i}: {mean} ± {error}");
        for j in 0..=i {
            let product = |draw: &[f64]| target.whitened(draw)[i] * target.whitened(draw)[j];
            let (mean, error) = mean_with_error(&chains, product);
            let exact = f64::from(u8::from(i == j));
            assert!((mean - exact).abs() < 4.5 * error && error < 0.05, "{i}, {j}: {mean} ± {error}");
        }
    }
    let acceptance = chains.transitions().map(|t| t.acceptance).sum::<f64>() / 6000.0;
    assert!((0.6..0.99).contains(&acceptance), "{acceptance}");
    let recorded = chains.transitions().zip(chains.chains.iter().flat_map(|chain| &chain.draws));
    recorded.for_each(|(t, draw)| assert!((t.loss - target.value(draw)).abs() < 1e-9 * (1.0 + t.loss)));
}

/// Microcanonical chains have no Metropolis test: what they are off by on a Gaussian is the error of their steps.
#[test]
fn microcanonical_chains_are_right_on_a_gaussian_as_far_as_their_step_allows() {
    let target = Gaussian::new(5);
    let chains = |step: f64| {
        let config = Microcanonical { step, ..Microcanonical::default() };
        let starts = starts(config.chains, 5, 1.0);
        microcanonical(&target, &starts, 4000, 3, &config, Control::default()).unwrap()
    };
    for (step, bias) in [(0.5, 0.06), (0.1, 0.02)] {
        let chains = chains(step);
        assert_eq!((chains.in_turn().len(), chains.divergences()), (16000, 0));
        for i in 0..5 {
            let (mean, error) = mean_with_error(&chains, |draw| target.whitened(draw)[i]);
            assert!(mean.abs() < 4.5 * error && error < 0.04, "step {step}, mean {i}: {mean} ± {error}");
        }
        let square = |draw: &[f64]| target.whitened(draw).iter().map(|z| z * z).sum::<f64>() / 5.0;
        let (mean, error) = mean_with_error(&chains, square);
        assert!((mean - 1.0).abs() < bias + 4.5 * error && error < 0.02, "step {step}: {mean} ± {error}");
    }
}

fn logistic() -> (NetworkLoss, Vec<f64>) {
    let network = mlp(&[3, 1], Activation::Tanh);
    let data = data(&network, Likelihood::Bernoulli, 40, 3);
    let prior = Prior::isotropic(0.5, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data.clone(), Likelihood::Bernoulli, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    (loss, theta)
}

#[test]
fn the_virial_identity_holds_on_a_logistic_regression() {
    let (loss, center) = logistic();
    let chains = run(&loss, 1500, &Nuts::default());
    let virial = |draw: &[f64]| {
        let mut gradient = vec![0.0; draw.len()];
        loss.value_and_gradient(draw, &mut gradient);
        gradient.iter().zip(draw).zip(&center).map(|((g, t), c)| g * (t - c)).sum()
    };
    // E[(θ − θ*)·∇L] = K = 4: one two-sided test at 4 standard errors, level 6e-5.
    let (mean, error) = mean_with_error(&chains, virial);
    assert!((mean - 4.0).abs() < 4.0 * error && error < 0.08, "{mean} ± {error}");
    assert!(chains.of(virial).unwrap().r_hat < R_HAT_LIMIT);
}

#[test]
fn chains_depend_on_seed_and_number_alone() {
    let target = Gaussian::new(4);
    let config = Nuts { warmup: 100, ..Nuts::default() };
    let with_threads = |threads: usize, draws: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&target, draws, &config))
    };
    let (one, three, longer) = (with_threads(1, 30), with_threads(3, 30), with_threads(2, 50));
    assert_eq!(one, three);
    assert_eq!(one.in_turn(), longer.in_turn()[..120], "a longer run begins with the shorter one");
    assert_ne!(one.chains[0].draws, one.chains[1].draws);
    assert_eq!(one.in_turn()[6], one.chains[2].draws[1].as_slice(), "draw i is of chain i mod C");
    let starts = starts(4, 4, 1.0);
    let other = nuts(&target, &starts, 30, 4, &config, Control::default()).unwrap();
    assert_ne!(other, one);
}

#[test]
fn a_stop_keeps_complete_draws_and_progress_sees_them() {
    let target = Gaussian::new(4);
    let config = Nuts { chains: 2, warmup: 60, ..Nuts::default() };
    let (seen, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let progress = |step: &riemla::reference::NutsStep| {
        if step.draw.is_some() && seen.fetch_add(1, Ordering::Relaxed) == 20 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let control = Control::default().observing(&progress).stopping(&stop);
    let starts = starts(2, 4, 1.0);
    let stopped = nuts(&target, &starts, 1_000_000, 3, &config, control).unwrap();
    assert!(stopped.chains.iter().all(|chain| chain.stopped));
    let kept: usize = stopped.chains.iter().map(|chain| chain.draws.len()).sum();
    assert_eq!(kept, seen.into_inner());
    let whole = nuts(&target, &starts, 20, 3, &config, Control::default()).unwrap();
    for (a, b) in stopped.chains.iter().zip(&whole.chains) {
        let n = a.draws.len().min(20);
        assert_eq!(a.draws[..n], b.draws[..n]);
    }
    // Before anything: no chain has draws, and that is no error.
    let already = AtomicBool::new(true);
    let control = Control::default().stopping(&already);
    assert_eq!(nuts(&target, &starts, 5, 3, &config, control).unwrap().rounds(), 0);
}

#[test]
fn bad_settings_and_starts_are_refused() {
    let target = Gaussian::new(4);
    let fails = |config: Nuts, starts: Vec<Vec<f64>>| {
        nuts(&target, &starts, 5, 1, &config, Control::default()).unwrap_err().to_string()
    };
    let good = || starts(4, 4, 1.0);
    assert!(fails(Nuts { chains: 0, ..Nuts::default() }, vec![]).contains("chains"));
    assert!(fails(Nuts { warmup: 5, ..Nuts::default() }, good()).contains("warmup"));
    assert!(fails(Nuts { max_depth: 50, ..Nuts::default() }, good()).contains("max_depth"));
    assert!(fails(Nuts { target_acceptance: 1.0, ..Nuts::default() }, good()).contains("target_acceptance"));
    assert!(fails(Nuts::default(), starts(3, 4, 1.0)).contains("starts"));
    assert!(fails(Nuts::default(), starts(4, 3, 1.0)).contains("length"));
    assert!(fails(Nuts::default(), starts(4, 4, f64::NAN)).contains("start"));
    assert!(fails(Nuts::default(), starts(4, 4, 1e200)).contains("loss at the start of chain 0"));
}

#[test]
fn moments_of_swag_are_those_of_its_iterates() {
    let (dim, rank) = (7, 4);
    let iterates: Vec<Vec<f64>> =
        (0..11).map(|i| normals(i, dim).iter().map(|v| 100.0 + v * (i + 1) as f64).collect()).collect();
    let mut moments = SwagMoments::new(dim, rank);
    iterates.iter().for_each(|theta| moments.add(theta));
    let mean_of = |count: usize, k: usize| iterates[..count].iter().map(|t| t[k]).sum::<f64>() / count as f64;
    let variance = moments.variance();
    for k in 0..dim {
        let mean = mean_of(11, k);
        let squares: f64 = iterates.iter().map(|theta| (theta[k] - mean).powi(2)).sum();
        assert!((moments.mean[k] - mean).abs() < 1e-11);
        assert!((variance[k] - squares / 11.0).abs() < 1e-10 * variance[k]);
        for (column, number) in moments.deviations.iter().zip(8..=11) {
            assert!((column[k] - (iterates[number - 1][k] - mean_of(number, k))).abs() < 1e-10);
        }
    }
    assert_eq!((moments.iterates, moments.deviations.len()), (11, rank));
    // Covariance of draws: scale·(diag + DDᵀ/(R−1)). 4000 draws: products of normals have a relative
    // standard error below √(2/4000) of √(CᵢᵢCⱼⱼ); 28 two-sided tests at 5 of them, level 2e-5.
    let draws: Vec<Vec<f64>> =
        (0..4000).map(|i| moments.draw(0.5, &mut stream(1, Purpose::Draw, i))).collect();
    let exact = |i: usize, j: usize| {
        let low: f64 = moments.deviations.iter().map(|d| d[i] * d[j]).sum::<f64>() / (rank as f64 - 1.0);
        0.5 * (low + if i == j { variance[i] } else { 0.0 })
    };
    for i in 0..dim {
        for j in 0..=i {
            let product = |t: &Vec<f64>| (t[i] - moments.mean[i]) * (t[j] - moments.mean[j]);
            let found = draws.iter().map(product).sum::<f64>() / 4000.0;
            let error = (2.0 / 4000.0 * exact(i, i) * exact(j, j)).sqrt();
            assert!((found - exact(i, j)).abs() < 5.0 * error, "{i}, {j}: {found} for {}", exact(i, j));
        }
    }
}

fn moons() -> NetworkLoss {
    let data = two_moons(60, 0.2, 1).unwrap();
    let network = mlp(&[2, 4, 2], Activation::Tanh);
    let prior = Prior::isotropic(0.5, network.dim()).unwrap();
    NetworkLoss::new(network, data, Likelihood::Categorical, prior).unwrap()
}

#[test]
fn swag_moves_around_the_minimum_and_repeats_itself() {
    let loss = moons();
    let (theta, _) = Recipe::default().train(&loss, 1, Control::default()).unwrap();
    let config = Swag { batch_size: 10, epochs: 60, ..Swag::default() };
    let (moments, report) = swag(&loss, &theta, 5, &config, Control::default()).unwrap();
    assert_eq!((moments.iterates, report.iterations, moments.deviations.len()), (60, 60, 20));
    assert_eq!(swag(&loss, &theta, 5, &config, Control::default()).unwrap().0, moments);
    assert_ne!(swag(&loss, &theta, 6, &config, Control::default()).unwrap().0, moments);
    assert!(moments.variance().iter().all(|v| *v > 0.0));
    let rise = loss.value(&moments.mean) - loss.value(&theta);
    assert!((0.0..5.0).contains(&rise), "{rise}");
    let fails = |config: Swag| swag(&loss, &theta, 5, &config, Control::default()).unwrap_err().to_string();
    assert!(fails(Swag { rank: 1, ..config }).contains("rank"));
    assert!(fails(Swag { epochs: 10, ..config }).contains("epochs"));
    assert!(fails(Swag { batch_size: 61, ..config }).contains("batch_size"));
    assert!(fails(Swag { learning_rate: 1e9, ..config }).contains("learning_rate"));
}

#[test]
fn members_of_an_ensemble_are_plain_trainings_and_differ() {
    let loss = moons();
    let ensemble = Ensemble::default();
    let member = |index| ensemble.member(&loss, 9, index, Control::default()).unwrap();
    let members: Vec<_> = (0..3).map(member).collect();
    for (index, found) in members.iter().enumerate() {
        assert_eq!(found.seed, Ensemble::member_seed(9, index as u64));
        let (theta, report) = Recipe::default().train(&loss, found.seed, Control::default()).unwrap();
        assert_eq!((&found.theta, &found.report), (&theta, &report));
        assert!(report.gradient_norm < 1e-4, "{report:?}");
        for other in &members[..index] {
            assert!(riemla::linalg::vector::distance(&found.theta, &other.theta) > 0.1);
        }
    }
    assert_ne!(Ensemble::member_seed(8, 0), Ensemble::member_seed(9, 0));
}
