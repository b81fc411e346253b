//! The law of a likelihood, for every one there is.

use super::{assert_vectors, normals, shifted};
use crate::linalg::vector::dot;
use crate::objective::{BlockTargets, Likelihood, OutputLoss, OutputNoise};
use crate::random::{Purpose, stream};

/// Step of central differences.
const H: f64 = 1e-5;

/// One likelihood on a block of samples.
struct Case<'a> {
    rule: Box<dyn OutputLoss>,
    n: usize,
    targets: &'a BlockTargets,
}

impl Case<'_> {
    fn loss(&self, f: &[f64]) -> (f64, Vec<f64>) {
        let mut residual = vec![f64::NAN; f.len()];
        let loss = self.rule.loss(self.n, f, self.targets, &[], &mut residual, &mut self.scratch(f));
        (loss, residual)
    }

    fn fisher(&self, f: &[f64], d: &[f64]) -> Vec<f64> {
        let mut product = vec![f64::NAN; f.len()];
        self.rule.fisher_product(self.n, f, d, &mut product, &mut self.scratch(f));
        product
    }

    fn hessian(&self, f: &[f64], d: &[f64], targets: &BlockTargets) -> Vec<f64> {
        let mut product = vec![f64::NAN; f.len()];
        self.rule.hessian_product(self.n, f, targets, d, &mut product, &mut self.scratch(f));
        product
    }

    fn scratch(&self, f: &[f64]) -> Vec<f64> {
        vec![0.0; f.len() + self.n]
    }
}

fn slope(plus: &[f64], minus: &[f64]) -> Vec<f64> {
    plus.iter().zip(minus).map(|(p, m)| (p - m) / (2.0 * H)).collect()
}

/// The law of a likelihood: the residual is the derivative of the loss and the Hessian that of the residual; Λ = SSᵀ;
/// the force is that of the metric Λ.
fn check_likelihood(likelihood: Likelihood, n: usize, outputs: usize, targets: &BlockTargets, seed: u64) {
    let case = Case { rule: likelihood.rule(), n, targets };
    let mut rng = stream(seed, Purpose::Data, 10);
    let f = normals(&mut rng, outputs * n);
    let (d, e) = (normals(&mut rng, outputs * n), normals(&mut rng, outputs * n));
    let (plus, minus) = (case.loss(&shifted(&f, H, &d)), case.loss(&shifted(&f, -H, &d)));
    let residual = case.loss(&f).1;
    assert_vectors("residual", &[dot(&residual, &d)], &[(plus.0 - minus.0) / (2.0 * H)], 1e-7, 1.0);
    assert_vectors("hessian_product", &case.hessian(&f, &d, targets), &slope(&plus.1, &minus.1), 1e-7, 1.0);
    // Γ(d, d)·e = ∂Λ[d](d, e) − ½ ∂Λ[e](d, d).
    let mut force = vec![f64::NAN; f.len()];
    case.rule.christoffel(n, &f, &d, &mut force, &mut case.scratch(&f));
    let inner = |at: &[f64], with: &[f64]| dot(with, &case.fisher(at, &d));
    let change = |way: &[f64], with: &[f64]| {
        (inner(&shifted(&f, H, way), with) - inner(&shifted(&f, -H, way), with)) / (2.0 * H)
    };
    let expected = change(&d, &e) - 0.5 * change(&e, &d);
    assert_vectors("christoffel", &[dot(&force, &e)], &[expected], 1e-7, 1.0);
    check_factor(&case, outputs, &f, &d);
}

/// Σⱼ Sⱼ(Sⱼᵀd) per sample must be Λd.
fn check_factor(case: &Case<'_>, outputs: usize, f: &[f64], d: &[f64]) {
    let n = case.n;
    let mut rebuilt = vec![0.0; f.len()];
    let mut column = vec![f64::NAN; f.len()];
    for j in 0..case.rule.factor_columns(outputs) {
        case.rule.factor(n, f, j, &mut column, &mut case.scratch(f));
        for i in 0..n {
            let inner: f64 = (0..outputs).map(|c| column[c * n + i] * d[c * n + i]).sum();
            (0..outputs).for_each(|c| rebuilt[c * n + i] += column[c * n + i] * inner);
        }
    }
    assert_vectors("Λ = SSᵀ", &rebuilt, &case.fisher(f, d), 1e-11, 1e-3);
}

const GAUSSIAN: Likelihood = Likelihood::Gaussian { sigma_noise: 0.3 };

fn per_output(outputs: usize) -> Likelihood {
    let sigmas: Vec<f64> = (1..=outputs).map(|c| 0.3 * c as f64).collect();
    Likelihood::GaussianPerOutput { sigma_noise: OutputNoise::new(&sigmas).expect("few outputs") }
}

#[test]
fn likelihoods() {
    for n in [1, 7, 100] {
        for outputs in [2, 3, 10] {
            let labels = BlockTargets::Classes((0..n).map(|i| (3 * i) % outputs).collect());
            check_likelihood(Likelihood::Categorical, n, outputs, &labels, 1);
        }
        let labels = BlockTargets::Classes((0..n).map(|i| i % 2).collect());
        check_likelihood(Likelihood::Bernoulli, n, 1, &labels, 2);
        for outputs in [1, 4] {
            let values = normals(&mut stream(8, Purpose::Data, 0), n * outputs);
            let counts = values.iter().map(|y| (3.0 * y).abs().floor()).collect();
            let yes_no = values.iter().map(|y| f64::from(*y > 0.0)).collect();
            let values = BlockTargets::Values(values);
            check_likelihood(GAUSSIAN, n, outputs, &values, 3);
            check_likelihood(per_output(outputs), n, outputs, &values, 4);
            check_likelihood(Likelihood::Heteroscedastic, n, 2 * outputs, &values, 5);
            check_likelihood(Likelihood::Poisson, n, outputs, &BlockTargets::Values(counts), 6);
            check_likelihood(Likelihood::MultiLabel, n, outputs, &BlockTargets::Values(yes_no), 7);
        }
    }
}

/// The mean over targets of the Hessian: y = μ ± σ has the first two moments of the noise, and the Hessian is quadratic
/// in y.
#[test]
fn the_fisher_information_is_the_mean_hessian_where_they_differ() {
    let (n, targets) = (5, 3);
    let mut rng = stream(9, Purpose::Data, 0);
    let (f, d) = (normals(&mut rng, 2 * targets * n), normals(&mut rng, 2 * targets * n));
    let (means, logs) = f.split_at(targets * n);
    let at = |sign: f64| {
        BlockTargets::Values(means.iter().zip(logs).map(|(m, s)| m + sign * (0.5 * s).exp()).collect())
    };
    let (above, below) = (at(1.0), at(-1.0));
    let case = Case { rule: Likelihood::Heteroscedastic.rule(), n, targets: &above };
    let (first, second) = (case.hessian(&f, &d, &above), case.hessian(&f, &d, &below));
    let mean: Vec<f64> = first.iter().zip(&second).map(|(a, b)| 0.5 * (a + b)).collect();
    assert_vectors("Λ = E[H]", &case.fisher(&f, &d), &mean, 1e-12, 1.0);
}

/// At equal variances it is the Gaussian likelihood, and equal noises make one.
#[test]
fn likelihoods_of_real_targets_agree_where_they_meet() {
    let (n, targets) = (6, 2);
    let mut rng = stream(10, Purpose::Data, 0);
    let (means, values) = (normals(&mut rng, n * targets), normals(&mut rng, n * targets));
    let values = BlockTargets::Values(values);
    let total = |likelihood: Likelihood, f: &[f64]| {
        let case = Case { rule: likelihood.rule(), n, targets: &values };
        case.loss(f).0 + case.rule.constant(n, &values, &[])
    };
    let both = [means.clone(), vec![2.0 * 0.3f64.ln(); n * targets]].concat();
    let noise = OutputNoise::new(&[0.3; 2]).expect("two");
    let wanted = total(GAUSSIAN, &means);
    let found = [
        total(Likelihood::GaussianPerOutput { sigma_noise: noise }, &means),
        total(Likelihood::Heteroscedastic, &both),
    ];
    assert_vectors("−log p(y | f)", &found, &[wanted; 2], 1e-12, 1.0);
}
