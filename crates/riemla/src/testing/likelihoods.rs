//! The law of a likelihood, for every one there is.

use super::{assert_vectors, normals, shifted};
use crate::linalg::vector::dot;
use crate::objective::{BlockTargets, Likelihood, OutputLoss};
use crate::random::{Purpose, stream};

/// The law of a likelihood: residual, Λ and the third product are its derivatives, and Λ = SSᵀ.
fn check_likelihood(rule: &dyn OutputLoss, n: usize, outputs: usize, targets: &BlockTargets, seed: u64) {
    let mut rng = stream(seed, Purpose::Data, 10);
    let f = normals(&mut rng, outputs * n);
    let d = normals(&mut rng, outputs * n);
    let mut scratch = vec![0.0; (outputs + 1) * n];
    let mut evaluate = |f: &[f64]| {
        let mut residual = vec![f64::NAN; f.len()];
        let loss = rule.loss(n, f, targets, &[], &mut residual, &mut scratch);
        (loss, residual)
    };
    let h = 1e-5;
    let (plus, minus) = (evaluate(&shifted(&f, h, &d)), evaluate(&shifted(&f, -h, &d)));
    let residual = evaluate(&f).1;
    assert_vectors("residual", &[dot(&residual, &d)], &[(plus.0 - minus.0) / (2.0 * h)], 1e-7, 1.0);
    let mut product = vec![f64::NAN; f.len()];
    rule.hessian_product(n, &f, &d, &mut product, &mut scratch);
    let by_difference: Vec<f64> = plus.1.iter().zip(&minus.1).map(|(p, m)| (p - m) / (2.0 * h)).collect();
    assert_vectors("hessian_product", &product, &by_difference, 1e-7, 1.0);
    let mut product_at = |t: f64| {
        let mut product = vec![f64::NAN; f.len()];
        rule.hessian_product(n, &shifted(&f, t, &d), &d, &mut product, &mut scratch);
        product
    };
    let by_difference: Vec<f64> =
        product_at(h).iter().zip(&product_at(-h)).map(|(p, m)| (p - m) / (2.0 * h)).collect();
    let mut third = vec![f64::NAN; f.len()];
    rule.third_product(n, &f, &d, &mut third, &mut scratch);
    assert_vectors("third_product", &third, &by_difference, 1e-7, 1.0);
    // Σⱼ Sⱼ(Sⱼᵀd) per sample must be Λd.
    let mut rebuilt = vec![0.0; f.len()];
    let mut column = vec![f64::NAN; f.len()];
    for j in 0..rule.factor_columns(outputs) {
        rule.factor(n, &f, j, &mut column, &mut scratch);
        for i in 0..n {
            let inner: f64 = (0..outputs).map(|c| column[c * n + i] * d[c * n + i]).sum();
            (0..outputs).for_each(|c| rebuilt[c * n + i] += column[c * n + i] * inner);
        }
    }
    assert_vectors("Λ = SSᵀ", &rebuilt, &product, 1e-11, 1e-3);
}

const GAUSSIAN: Likelihood = Likelihood::Gaussian { sigma_noise: 0.3 };

#[test]
fn likelihoods() {
    for n in [1, 7, 100] {
        for outputs in [2, 3, 10] {
            let labels = BlockTargets::Classes((0..n).map(|i| (3 * i) % outputs).collect());
            check_likelihood(&*Likelihood::Categorical.rule(), n, outputs, &labels, 1);
        }
        let labels = BlockTargets::Classes((0..n).map(|i| i % 2).collect());
        check_likelihood(&*Likelihood::Bernoulli.rule(), n, 1, &labels, 2);
        for outputs in [1, 4] {
            let values = BlockTargets::Values(normals(&mut stream(8, Purpose::Data, 0), n * outputs));
            check_likelihood(&*GAUSSIAN.rule(), n, outputs, &values, 3);
        }
    }
}
