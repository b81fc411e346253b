//! Polished draws: the laws of their chains, and that a draw depends on seed and index alone.

#[path = "../examples/banana_density.rs"]
#[allow(dead_code)]
mod banana_density;
mod models;

use std::sync::Arc;

use banana_density::Banana;
use models::normals;
use riemla::curvature::{
    DiagonalPrecision, FullPrecision, Gaussian, Laplace, LaplaceConfig, Precision, PriorChoice, Subset,
};
use riemla::linalg::Matrix;
use riemla::linalg::vector::{distance, dot, norm};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior};
use riemla::posterior::{
    BatchDesign, BatchPlan, HamiltonianChain, Leapfrog, Mass, Method, Model, Polish, PolishLength,
    PolishReport, Posterior, PosteriorConfig,
};
use riemla::random::{Purpose, stream};
use riemla::testing::check_order;
use riemla::train::{Lbfgs, lbfgs};
use riemla::{Control, Error};

/// ½xᵀPx with P = LLᵀ; standard deviations from 1/4 to 4, all neighbours correlated.
struct Normal {
    lower: Vec<Vec<f64>>,
}

impl Normal {
    fn new(dim: usize) -> Self {
        let scale = |i: usize| 4f64.powf(2.0 * i as f64 / (dim as f64 - 1.0) - 1.0);
        let row = |i: usize| {
            (0..=i).map(|j| if i == j { scale(i) } else { 0.5 * scale(j) / (i - j) as f64 }).collect()
        };
        Self { lower: (0..dim).map(row).collect() }
    }

    /// Lᵀx: white for exact draws.
    fn whitened(&self, theta: &[f64]) -> Vec<f64> {
        let mut white = vec![0.0; theta.len()];
        for (row, x) in self.lower.iter().zip(theta) {
            row.iter().zip(&mut white).for_each(|(l, w)| *w += l * x);
        }
        white
    }

    /// L⁻ᵀz by back substitution.
    fn exact(&self, mut z: Vec<f64>) -> Vec<f64> {
        for i in (0..z.len()).rev() {
            z[i] /= self.lower[i][i];
            for j in 0..i {
                z[j] -= self.lower[i][j] * z[i];
            }
        }
        z
    }

    fn precision(&self) -> FullPrecision {
        let k = self.lower.len();
        let mut matrix = Matrix::zeros(k, k);
        for j in 0..k {
            let column = matrix.column_mut(j);
            for (i, c) in column.iter_mut().enumerate() {
                *c = (0..=i.min(j)).map(|m| self.lower[i][m] * self.lower[j][m]).sum();
            }
        }
        FullPrecision::from_matrix(&matrix).unwrap()
    }
}

impl Objective for Normal {
    fn dim(&self) -> usize {
        self.lower.len()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let white = self.whitened(theta);
        0.5 * dot(&white, &white)
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let white = self.whitened(theta);
        for (g, row) in gradient.iter_mut().zip(&self.lower) {
            *g = row.iter().zip(&white).map(|(l, w)| l * w).sum();
        }
        0.5 * dot(&white, &white)
    }
}

/// A standard normal number above 0 and an exponential one: the loss is infinite outside the quadrant.
struct Quadrant;

impl Objective for Quadrant {
    fn dim(&self) -> usize {
        2
    }

    fn value(&self, theta: &[f64]) -> f64 {
        let inside = theta.iter().all(|x| *x > 0.0);
        if inside { 0.5 * theta[0] * theta[0] + theta[1] } else { f64::INFINITY }
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&[theta[0], 1.0]);
        self.value(theta)
    }
}

const CHAINS: u64 = 4000;

/// Runs a chain of `proposals` from each of many exact draws, and tests that numbers that are white for exact draws
/// still are: means 0, products δᵢⱼ, squares of squares 3. The chains are independent, so that each average is normal
/// with a known error: two-sided at 4.5 errors, level 7e-6 per number, below 3e-4 for all of one target.
fn check_invariant(
    what: &str,
    objective: &dyn Objective,
    mass: Option<&dyn Precision>,
    (step, leaps, proposals): (f64, usize, usize),
    exact: impl Fn(u64) -> Vec<f64>,
    white: impl Fn(&[f64]) -> Vec<f64>,
) {
    let (mut acceptance, mut moved) = (0.0, 0);
    let mut ends = Vec::new();
    for index in 0..CHAINS {
        let start = exact(index);
        let mut rng = stream(5, Purpose::Polish, index);
        let mut chain = HamiltonianChain::new(objective, mass, &start).unwrap();
        for _ in 0..proposals {
            acceptance += chain.transition(step, leaps, &mut rng).acceptance;
        }
        moved += usize::from(chain.theta() != start);
        assert_eq!(chain.loss(), objective.value(chain.theta()));
        ends.push(white(chain.theta()));
    }
    acceptance /= (CHAINS as usize * proposals) as f64;
    // Steps so large that draws without the test, or with a wrong one, would be far off.
    assert!((0.4..0.9).contains(&acceptance), "{what}: acceptance {acceptance}");
    assert!(moved as f64 > 0.7 * CHAINS as f64, "{what}: {moved} chains moved");
    let k = ends[0].len();
    let check = |name: String, value: &dyn Fn(&[f64]) -> f64, expected: f64, variance: f64| {
        let mean = ends.iter().map(|end| value(end)).sum::<f64>() / CHAINS as f64;
        let z = (mean - expected) / (variance / CHAINS as f64).sqrt();
        assert!(z.abs() < 4.5, "{what}: {name} is {mean} and not {expected}: {z:.1} standard errors");
    };
    for i in 0..k {
        check(format!("mean {i}"), &|w| w[i], 0.0, 1.0);
        check(format!("fourth moment {i}"), &|w| w[i].powi(4), 3.0, 96.0);
        for j in 0..=i {
            let (expected, variance) = if i == j { (1.0, 2.0) } else { (0.0, 1.0) };
            check(format!("product {i}, {j}"), &|w| w[i] * w[j], expected, variance);
        }
    }
}

#[test]
fn a_gaussian_is_left_as_it_is_whatever_the_mass() {
    let target = Normal::new(5);
    let exact = |index| target.exact(normals(1000 + index, 5));
    let white = |theta: &[f64]| target.whitened(theta);
    check_invariant("no mass", &target, None, (0.33, 3, 10), exact, white);
    let precision = target.precision();
    check_invariant("its precision", &target, Some(&precision), (1.3, 1, 4), exact, white);
    let wrong = DiagonalPrecision::new(&[0.3, 0.6, 1.0, 3.0, 9.0], &[0.0; 5]).unwrap();
    check_invariant("another mass", &target, Some(&wrong), (1.0, 3, 10), exact, white);
}

#[test]
fn a_banana_is_left_as_it_is() {
    let target = Banana { width: 0.2 };
    let exact = |index| {
        let z = normals(1000 + index, 2);
        vec![z[0], z[0] * z[0] + 0.2 * z[1]]
    };
    let white = |theta: &[f64]| vec![theta[0], (theta[1] - theta[0] * theta[0]) / 0.2];
    check_invariant("banana", &target, None, (0.15, 5, 10), exact, white);
    let precision = DiagonalPrecision::new(&[1.0, 25.0], &[0.0; 2]).unwrap();
    check_invariant("banana with mass", &target, Some(&precision), (0.2, 3, 10), exact, white);
}

#[test]
fn a_chain_stays_where_the_loss_is_finite() {
    // The signs of |z| and log u are lost, so that white numbers come from the two distribution functions: a normal
    // number of the same rank. P(|z| < a) = erf(a/√2), P(e < b) = 1 − exp(−b).
    let quantile = riemla::score::normal_quantile;
    let cdf = |x: f64| 0.5 * (1.0 + erf(x / 2f64.sqrt()));
    let exact = |index| {
        let z = normals(1000 + index, 2);
        vec![z[0].abs(), -cdf(z[1]).ln()]
    };
    let white = |theta: &[f64]| {
        assert!(theta.iter().all(|x| *x > 0.0));
        vec![quantile(2.0 * cdf(theta[0]) - 1.0), quantile((-theta[1]).exp())]
    };
    check_invariant("quadrant", &Quadrant, None, (0.2, 3, 12), exact, white);
    // From outside nothing is accepted, and no gradient is spent.
    let mut chain = HamiltonianChain::new(&Quadrant, None, &[-1.0, 1.0]).unwrap();
    let transition = chain.transition(0.5, 3, &mut stream(1, Purpose::Polish, 0));
    assert!(transition.acceptance == 0.0 && !transition.accepted && transition.gradients == 0);
    assert_eq!(chain.theta(), [-1.0, 1.0]);
}

/// Abramowitz and Stegun 7.1.26 is not accurate enough for a test of moments: a series, and for large x a fraction.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}

fn network() -> (NetworkLoss, Vec<f64>) {
    let network = models::mlp(&[2, 4, 3], Activation::Tanh);
    let data = models::data(&network, Likelihood::Categorical, 60, 3);
    let prior = Prior::isotropic(0.5, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    (loss, theta)
}

fn laplace(loss: &NetworkLoss, theta: &[f64], subset: Subset) -> Laplace {
    let config = LaplaceConfig { prior: PriorChoice::Keep, subset, ..Default::default() };
    Laplace::fit(loss, theta, &config, Control::default()).unwrap()
}

#[test]
fn trajectories_are_reversible() {
    let (loss, theta) = network();
    let laplace = laplace(&loss, &theta, Subset::All);
    let banana = Banana { width: 0.2 };
    type Case<'a> = (&'a dyn Objective, Option<&'a dyn Precision>, f64, Vec<f64>);
    let cases: [Case<'_>; 3] = [
        (&banana, None, 0.1, vec![0.4, 0.1]),
        (&loss, None, 0.05, theta.clone()),
        (&loss, Some(laplace.gaussian.precision()), 0.2, theta),
    ];
    for (objective, mass, step, start) in cases {
        let mut leapfrog = Leapfrog::new(objective, mass, &start).unwrap();
        let momentum = normals(7, start.len());
        leapfrog.momentum_mut().copy_from_slice(&momentum);
        assert_eq!(leapfrog.advance(step, 20), 20);
        assert!(distance(leapfrog.theta(), &start) > 0.1 * norm(&momentum) * step);
        leapfrog.momentum_mut().iter_mut().for_each(|u| *u = -*u);
        leapfrog.advance(step, 20);
        let back: Vec<f64> = leapfrog.momentum_mut().iter().map(|u| -u).collect();
        assert!(distance(leapfrog.theta(), &start) < 1e-9, "{:e}", distance(leapfrog.theta(), &start));
        assert!(distance(&back, &momentum) < 1e-9, "{:e}", distance(&back, &momentum));
    }
}

#[test]
fn the_energy_is_kept_to_order_2() {
    let (loss, theta) = network();
    let laplace = laplace(&loss, &theta, Subset::All);
    for mass in [None, Some(laplace.gaussian.precision())] {
        let leaps = [8, 16, 32, 64, 128];
        let error = |&leaps: &usize| {
            let mut leapfrog = Leapfrog::new(&loss, mass, &theta).unwrap();
            leapfrog.momentum_mut().copy_from_slice(&normals(3, theta.len()));
            let before = leapfrog.energy();
            leapfrog.advance(0.7 / leaps as f64, leaps);
            (leapfrog.energy() - before).abs()
        };
        let steps = leaps.map(|leaps| 0.7 / leaps as f64);
        check_order(&steps, &leaps.iter().map(error).collect::<Vec<_>>(), 2.0, 0.1);
        // And with it all proposals are accepted.
        let mut chain = HamiltonianChain::new(&loss, mass, &theta).unwrap();
        let mut rng = stream(1, Purpose::Polish, 0);
        assert!((0..20).all(|_| chain.transition(1e-4, 3, &mut rng).acceptance > 1.0 - 1e-6));
    }
}

fn polished(loss: &NetworkLoss, laplace: &Laplace, polish: Polish) -> Posterior {
    let config = PosteriorConfig { polish: Some(polish), ..PosteriorConfig::new(Method::RiemLa) };
    Posterior::of_network(loss, laplace, config).unwrap()
}

#[test]
fn a_polished_draw_depends_on_seed_and_index_alone() {
    let (loss, theta) = network();
    let laplace = laplace(&loss, &theta, Subset::All);
    let with = |mass| Polish { mass, ..Polish::of(30) };
    for polish in [Polish::of(40), Polish::auto(), with(Mass::Diagonal), with(Mass::Laplace)] {
        let posterior = || polished(&loss, &laplace, polish);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| posterior().sample(3, 12, Control::default()).unwrap())
        };
        let all = on(1);
        assert_eq!(all.draws, on(3).draws);
        let later = posterior().sample_indices(3, &[7, 2], Control::default()).unwrap();
        assert_eq!(later.draws, [all.draws[7].clone(), all.draws[2].clone()]);
        assert_eq!(posterior().draw(3, 5, Control::default()).unwrap(), all.draws[5]);
        // What was found can be handed over: nothing is searched, and the draws are the same.
        let found = all.polish.clone().unwrap();
        let settled = posterior().with_polish_found(&found).unwrap();
        let again = settled.sample(3, 12, Control::default()).unwrap();
        assert_eq!(again.draws, all.draws);
        assert_eq!(again.polish.unwrap().search_gradients, 0);
        assert!(found.search_gradients > 0 && again.calibration == all.calibration);
        assert_ne!(posterior().sample(4, 1, Control::default()).unwrap().draws, all.draws[..1]);
    }
}

/// The default mass of networks is that of their variances.
#[test]
fn networks_are_polished_in_the_units_of_their_weights() {
    let (loss, theta) = network();
    let laplace = laplace(&loss, &theta, Subset::All);
    let draws = |mass| {
        let polish = Polish { mass, ..Polish::of(30) };
        polished(&loss, &laplace, polish).sample(3, 3, Control::default()).unwrap().draws
    };
    assert_eq!(draws(Mass::Auto), draws(Mass::Diagonal));
    assert_ne!(draws(Mass::Auto), draws(Mass::Identity));
}

#[test]
fn chains_begin_at_the_draws_without_polish() {
    let (loss, theta) = network();
    let laplace = laplace(&loss, &theta, Subset::All);
    let plain = Posterior::of_network(&loss, &laplace, PosteriorConfig::new(Method::RiemLa)).unwrap();
    let plain = plain.sample(3, 30, Control::default()).unwrap();
    let set = polished(&loss, &laplace, Polish::of(60)).sample(3, 30, Control::default()).unwrap();
    for (before, after) in plain.draws.iter().zip(&set.draws) {
        let polish = after.polish.unwrap();
        assert_eq!((before.index, before.geodesic, before.polish), (after.index, after.geodesic, None));
        assert_eq!(polish.loss_start, loss.value(&before.theta));
        assert_eq!(polish.loss_end, loss.value(&after.theta));
        assert!(
            polish.proposals == 6 && polish.accepted <= 6 && (31..=92).contains(&polish.gradients),
            "{polish:?}"
        );
        assert!((0.0..=1.0).contains(&polish.acceptance));
    }
    let total: usize = set.draws.iter().map(|draw| draw.polish.unwrap().gradients).sum();
    let search = set.polish.as_ref().unwrap().search_gradients;
    assert_eq!(set.counters().gradients, plain.counters().gradients + total + search);
    // The step is the one at which proposals are accepted as often as asked for: 180 of them.
    let report = PolishReport::of(&set.draws).unwrap();
    assert!((report.acceptance - Polish::of(1).acceptance).abs() < 0.15, "{report:?}");
    assert!(report.memory > 0.0 && report.memory < 0.9 && report.nested_r_hat > 1.0, "{report:?}");
    assert!(PolishReport::of(&plain.draws).is_none());
}

#[test]
fn weights_that_are_not_uncertain_stay() {
    let (loss, theta) = network();
    let laplace = laplace(&loss, &theta, Subset::LastLayer);
    let set = polished(&loss, &laplace, Polish::of(30)).sample(3, 4, Control::default()).unwrap();
    let uncertain: Vec<usize> = laplace.gaussian.subset().indices().collect();
    for draw in &set.draws {
        assert!(draw.polish.unwrap().accepted > 0);
        for (k, (now, before)) in draw.theta.iter().zip(&theta).enumerate() {
            assert_eq!(now != before, uncertain.contains(&k), "weight {k}");
        }
    }
}

impl Model for Banana {}

/// The virial ratio of draws from a Gaussian that does not fit, before and after: exact draws have 1.
#[test]
fn draws_of_any_model_come_closer() {
    let gaussian =
        Gaussian::new(vec![0.0, 0.0], Arc::new(DiagonalPrecision::new(&[1.0, 25.0], &[0.0; 2]).unwrap()));
    let config = |polish| PosteriorConfig { polish, ..PosteriorConfig::new(Method::RiemLa) };
    let posterior = |polish| {
        let model = Arc::new(Banana { width: 0.2 });
        Posterior::new(model, Arc::new(gaussian.clone().unwrap()), config(polish)).unwrap()
    };
    let ratio = |polish| {
        let posterior = posterior(polish);
        let set = posterior.sample(1, 400, Control::default()).unwrap();
        posterior.virial_ratio_with_error(&set.thetas()).unwrap()
    };
    let before = ratio(None).0;
    let (after, error) = ratio(Some(Polish::of(600)));
    assert!((after - 1.0).abs() < 4.0 * error && error < 0.2, "{after} ± {error}, before {before}");
    // Two dimensions are short of room: the loss settles, and it is reported when.
    let found = posterior(Some(Polish::auto())).polish_found(1, Control::default()).unwrap().unwrap();
    assert_eq!(found.settled, Some(true), "{found:?}");
    assert_eq!(found.levels.last().unwrap().gradients, found.gradients);
    assert!(found.levels.windows(2).all(|pair| pair[1].gradients == 2 * pair[0].gradients));
}

/// Independent weights of very different scales.
struct Scales(Vec<f64>);

impl Objective for Scales {
    fn dim(&self) -> usize {
        self.0.len()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        theta.iter().zip(&self.0).map(|(t, p)| 0.5 * p * t * t).sum()
    }

    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(theta).zip(&self.0).for_each(|((g, t), p)| *g = p * t);
        self.value(theta)
    }
}

impl Model for Scales {}

/// Units of the weights are arbitrary: with their variances or their precision as mass, other units change nothing but
/// the units of the draws. With the identity the smallest scale dictates the step.
#[test]
fn a_mass_in_the_units_of_the_weights_makes_steps_of_their_size() {
    let step = |mass, precisions: &[f64]| {
        let precision = DiagonalPrecision::new(precisions, &vec![0.0; precisions.len()]).unwrap();
        let gaussian = Gaussian::new(vec![0.0; precisions.len()], Arc::new(precision)).unwrap();
        let polish = Some(Polish { mass, ..Polish::of(50) });
        let config = PosteriorConfig { polish, ..PosteriorConfig::new(Method::La) };
        let model = Arc::new(Scales(precisions.to_vec()));
        let posterior = Posterior::new(model, Arc::new(gaussian), config).unwrap();
        posterior.polish_found(1, Control::default()).unwrap().unwrap().step
    };
    let (equal, unequal) = ([1.0; 6], [1e-4, 1e-2, 1.0, 9.0, 1e3, 1e4]);
    for mass in [Mass::Diagonal, Mass::Laplace] {
        let (here, there) = (step(mass, &equal), step(mass, &unequal));
        assert!((here / there - 1.0).abs() < 1e-6, "{mass:?}: {here} and {there}");
        assert!((here / step(Mass::Identity, &equal) - 1.0).abs() < 0.2, "{mass:?}: {here}");
    }
    assert!(step(Mass::Identity, &unequal) < 0.03);
    // A density that is no network has the identity unless asked.
    assert_eq!(step(Mass::Auto, &unequal), step(Mass::Identity, &unequal));
}

#[test]
fn what_cannot_be_polished_is_refused() {
    let (loss, theta) = network();
    let laplace = laplace(&loss, &theta, Subset::All);
    let make = |config: PosteriorConfig| Posterior::of_network(&loss, &laplace, config).map(drop);
    let with = |polish| PosteriorConfig { polish: Some(polish), ..PosteriorConfig::new(Method::RiemLa) };
    let batch = Some(BatchPlan::new(20, BatchDesign::Uniform));
    let error = make(PosteriorConfig { batch, ..with(Polish::of(10)) }).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(why) if why.contains("all rows")), "{error}");
    let error = make(PosteriorConfig { method: Method::Map, ..with(Polish::of(10)) }).unwrap_err();
    assert!(error.to_string().contains("single point"), "{error}");
    let polish = Polish::of(10);
    for (bad, part) in [
        (Polish::of(0), "gradients"),
        (Polish { leaps: 0, ..polish }, "leaps"),
        (Polish { step: Some(0.0), ..polish }, "step"),
        (Polish { step: Some(f64::NAN), ..polish }, "step"),
        (Polish { acceptance: 1.0, ..polish }, "acceptance"),
    ] {
        let error = make(with(bad)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(make(PosteriorConfig { method: Method::LinRiemLa, ..with(polish) }).is_ok());
    assert_eq!(polish.length, PolishLength::Gradients(10));
}
