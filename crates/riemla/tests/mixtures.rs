//! Mixtures of predictions: laws that tie them to averages over draws.

mod common;

use common::assert_close;
use riemla::objective::Likelihood;
use riemla::predict::Prediction;

const NOISE: f64 = 0.3;

/// Outputs of three draws for two rows of two outputs.
const DRAWS: [[f64; 4]; 3] = [[0.3, -1.2, 2.0, 0.1], [1.1, 0.4, -0.7, 0.9], [-0.5, 0.2, 0.6, -1.4]];

fn predicted(draws: &[usize], likelihood: Likelihood) -> Prediction {
    let outputs: Vec<Vec<f64>> = draws.iter().map(|&i| DRAWS[i].to_vec()).collect();
    Prediction::from_outputs(&outputs, 2, likelihood).unwrap()
}

fn single(likelihood: Likelihood) -> Vec<Prediction> {
    (0..3).map(|i| predicted(&[i], likelihood)).collect()
}

#[test]
fn members_of_one_draw_each_are_the_average_over_the_draws() {
    let mixed = Prediction::mixture(&single(Likelihood::Categorical), &[1.0; 3]).unwrap();
    let average = predicted(&[0, 1, 2], Likelihood::Categorical);
    let (mixed, average) = (mixed.classes().unwrap(), average.classes().unwrap());
    assert_close("probabilities", &mixed.probabilities, &average.probabilities, 1e-15);
    assert_close("entropy", &mixed.entropy, &average.entropy, 1e-15);
    let parts = |p: &riemla::predict::ClassPrediction| {
        [p.aleatoric.clone().unwrap(), p.epistemic.clone().unwrap()].concat()
    };
    assert_close("parts", &parts(mixed), &parts(average), 1e-14);
}

/// Law of total variance: over all draws (divided by their number) it is what members see plus what divides them.
#[test]
fn the_variance_of_values_is_the_total_variance() {
    let gaussian = Likelihood::Gaussian { sigma_noise: NOISE };
    let mixed = Prediction::mixture(&single(gaussian), &[2.0; 3]).unwrap();
    let average = predicted(&[0, 1, 2], gaussian);
    let (mixed, average) = (mixed.values().unwrap(), average.values().unwrap());
    assert_close("mean", &mixed.mean, &average.mean, 1e-15);
    // Between three members the variance is not unbiased but divided by 3.
    let divided: Vec<f64> = average.epistemic_variance.iter().map(|v| v * 2.0 / 3.0).collect();
    assert_close("epistemic", &mixed.epistemic_variance, &divided, 1e-15);
    assert_close("aleatoric", &mixed.aleatoric_variance, &[NOISE * NOISE; 4], 1e-15);
}

#[test]
fn a_weight_of_two_is_a_member_twice() {
    for likelihood in [Likelihood::Categorical, Likelihood::Gaussian { sigma_noise: NOISE }] {
        let members = [predicted(&[0, 1], likelihood), predicted(&[2], likelihood)];
        let twice = [members[0].clone(), members[1].clone(), members[1].clone()];
        let (weighted, repeated) = (
            Prediction::mixture(&members, &[1.0, 2.0]).unwrap(),
            Prediction::mixture(&twice, &[1.0; 3]).unwrap(),
        );
        let (a, b) = (weighted.uncertainty(), repeated.uncertainty());
        assert_close("total", &a.total, &b.total, 1e-14);
        assert_close("aleatoric", &a.aleatoric.unwrap(), &b.aleatoric.unwrap(), 1e-14);
        assert_close("epistemic", &a.epistemic.unwrap(), &b.epistemic.unwrap(), 1e-14);
    }
}

#[test]
fn one_member_comes_back_with_its_bits() {
    let members = single(Likelihood::Categorical);
    assert_eq!(Prediction::mixture(&members[..1], &[0.7]).unwrap(), members[0]);
    assert_eq!(Prediction::mixture(&members, &[0.0, 3.0, 0.0]).unwrap(), members[1]);
}

#[test]
fn what_makes_no_mixture_is_refused() {
    let (classes, gaussian) = (single(Likelihood::Categorical), Likelihood::Gaussian { sigma_noise: NOISE });
    for weights in [&[1.0, 1.0][..], &[0.0; 3], &[1.0, -1.0, 1.0], &[1.0, f64::NAN, 1.0]] {
        assert!(Prediction::mixture(&classes, weights).is_err(), "{weights:?}");
    }
    let kinds = [classes[0].clone(), predicted(&[0], gaussian)];
    let error = Prediction::mixture(&kinds, &[1.0, 1.0]).unwrap_err();
    assert!(error.to_string().contains("cannot be mixed"), "{error}");
    assert!(Prediction::mixture(&[], &[]).is_err());
}
