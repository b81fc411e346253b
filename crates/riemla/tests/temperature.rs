//! Temperature scaling and the parts of uncertainty: closed forms and laws.

mod models;

use riemla::Error;
use riemla::data::Targets;
use riemla::nn::Activation;
use riemla::objective::Likelihood;
use riemla::posterior::{NetworkOutputs, Outputs as _};
use riemla::predict::{
    Prediction, TEMPERATURE_BOUNDS, Temperature, TemperatureStatus, fit_noise_scale, fit_temperature,
};
use riemla::score::{accuracy, nll};

/// A temperature of one network's outputs.
fn fit(outputs: &[f64], likelihood: Likelihood, targets: &Targets) -> riemla::Result<Temperature> {
    fit_temperature(&of_outputs(outputs, likelihood, outputs.len() / targets.len().max(1))?, targets)
}

fn of_outputs(outputs: &[f64], likelihood: Likelihood, width: usize) -> riemla::Result<Prediction> {
    Prediction::from_outputs(&[outputs.to_vec()], width, likelihood)
}

const SIGMA: Likelihood = Likelihood::Gaussian { sigma_noise: 0.5 };

/// Rows whose labels occur exactly as often as softmax(logits) says: T = 1 is the best for these
/// logits, and T = s for s times them.
fn calibrated(scale: f64) -> (Vec<f64>, Vec<usize>) {
    let (mut outputs, mut labels) = (Vec::new(), Vec::new());
    for counts in [[5, 3, 2], [1, 8, 1], [4, 4, 2], [1, 2, 7]] {
        for (label, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                // Logits are known up to a constant per row: another one each time.
                let shift = 3.0 * outputs.len() as f64;
                outputs.extend(counts.map(|c: i32| shift + scale * f64::from(c).ln()));
                labels.push(label);
            }
        }
    }
    (outputs, labels)
}

#[test]
fn a_known_scale_of_calibrated_logits_is_recovered() {
    for scale in [0.05, 0.3, 1.0, 2.5, 40.0] {
        let (outputs, labels) = calibrated(scale);
        let fitted = fit(&outputs, Likelihood::Categorical, &Targets::Classes(labels)).unwrap();
        assert_eq!(fitted.status, TemperatureStatus::Converged);
        assert!((fitted.temperature / scale - 1.0).abs() < 1e-9, "{scale}: {fitted:?}");
        assert!(fitted.nll_after <= fitted.nll_before + 1e-14 && fitted.iterations < 60, "{fitted:?}");
    }
    // A quarter of the labels is 0 at logit log 3 for class 1.
    let outputs = [3.0 * 3f64.ln(); 4];
    let labels = Targets::Classes(vec![1, 1, 0, 1]);
    let fitted = fit(&outputs, Likelihood::Bernoulli, &labels).unwrap();
    assert!((fitted.temperature - 3.0).abs() < 1e-9, "{fitted:?}");
}

#[test]
fn the_derivative_vanishes_and_only_confidence_changes() {
    let n = 60;
    let outputs: Vec<f64> = models::normals(1, 3 * n).iter().map(|z| 4.0 * z).collect();
    let noise = models::normals(2, 3 * n);
    let label = |i: usize| {
        let score = |c: usize| outputs[3 * i + c] + 4.0 * noise[3 * i + c];
        (0..3).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap()
    };
    let labels: Vec<usize> = (0..n).map(label).collect();
    let of =
        |outputs: &[f64]| fit(outputs, Likelihood::Categorical, &Targets::Classes(labels.clone())).unwrap();
    let fitted = of(&outputs);
    assert_eq!(fitted.status, TemperatureStatus::Converged);
    let probabilities = |t: f64| {
        let plain = of_outputs(&outputs, Likelihood::Categorical, 3).unwrap();
        let at = Temperature { temperature: t, ..fitted }.apply(plain).unwrap();
        at.classes().unwrap().probabilities.clone()
    };
    let value = |t: f64| nll(&probabilities(t), 3, &labels).unwrap();
    let t = fitted.temperature;
    assert!((value(t) - fitted.nll_after).abs() < 1e-12 && (value(1.0) - fitted.nll_before).abs() < 1e-12);
    let h = 1e-4f64;
    let slope = (value(t * h.exp()) - value(t * (-h).exp())) / (2.0 * h);
    assert!(slope.abs() < 1e-7, "{slope}");
    assert!(value(1.1 * t) > value(t) + 1e-5 && value(0.9 * t) > value(t) + 1e-5);
    assert_eq!(accuracy(&probabilities(t), 3, &labels), accuracy(&probabilities(1.0), 3, &labels));
    // T is homogeneous: outputs three times as large need three times the temperature.
    let tripled: Vec<f64> = outputs.iter().map(|f| 3.0 * f).collect();
    assert!((of(&tripled).temperature / t - 3.0).abs() < 1e-8);
}

#[test]
fn data_that_name_no_temperature_end_at_a_bound_with_a_note() {
    let of = |outputs: &[f64], labels: &[usize]| {
        fit(outputs, Likelihood::Categorical, &Targets::Classes(labels.to_vec())).unwrap()
    };
    let separable = of(&[2.0, 0.0, 0.0, 1.0, 5.0, -5.0], &[0, 1, 0]);
    assert_eq!(
        (separable.temperature, separable.status),
        (TEMPERATURE_BOUNDS.0, TemperatureStatus::LowerBound)
    );
    assert!(separable.status.to_string().contains("hold out more data"));
    let wrong = of(&[2.0, 0.0, 0.0, 1.0], &[1, 0]);
    assert_eq!((wrong.temperature, wrong.status), (TEMPERATURE_BOUNDS.1, TemperatureStatus::UpperBound));
    let flat = of(&[2.0, 2.0, 1.0, 1.0], &[1, 0]);
    assert_eq!((flat.temperature, flat.status), (1.0, TemperatureStatus::Converged));
    let values = Targets::Values { values: vec![1.0, 2.0], outputs: 1 };
    let exact = fit(&[1.0, 2.0], SIGMA, &values).unwrap();
    assert_eq!((exact.temperature, exact.status), (TEMPERATURE_BOUNDS.0, TemperatureStatus::LowerBound));
}

#[test]
fn of_values_the_noise_is_scaled_to_the_error() {
    let values = Targets::Values { values: vec![1.0, -2.0, 0.5, 0.0], outputs: 2 };
    let fitted = fit(&[0.0; 4], SIGMA, &values).unwrap();
    let exact = ((1.0 + 4.0 + 0.25) / 4.0f64 / 0.25).sqrt();
    assert!((fitted.temperature - exact).abs() < 1e-14);
    let prediction = fitted.apply(of_outputs(&[0.0; 4], SIGMA, 2).unwrap()).unwrap();
    assert!((prediction.values().unwrap().variance()[3] - (1.0 + 4.0 + 0.25) / 4.0).abs() < 1e-14);
    // Closed form against the score, where variances differ.
    let (m, v, y) = ([0.0, 1.0, 2.0], [0.1, 1.0, 4.0], [0.5, -1.0, 2.5]);
    let fitted = fit_noise_scale(&m, &v, &y).unwrap();
    let at = |t: f64| riemla::score::nlpd(&m, &v.map(|v| v * t * t), &y).unwrap();
    let t = fitted.temperature;
    assert!((at(t) - fitted.nll_after).abs() < 1e-14 && at(1.01 * t) > at(t) && at(0.99 * t) > at(t));
}

#[test]
fn mistakes_are_refused() {
    let classes = |labels: &[usize]| Targets::Classes(labels.to_vec());
    for (outputs, likelihood, targets) in [
        (&[1.0, 2.0, 3.0][..], Likelihood::Categorical, classes(&[0])),
        (&[1.0, f64::NAN], Likelihood::Categorical, classes(&[0])),
        (&[1.0, 2.0], Likelihood::Categorical, classes(&[2])),
        (&[1.0, 2.0, 3.0, 4.0, 5.0], Likelihood::Categorical, classes(&[0, 1])),
        (&[], Likelihood::Categorical, classes(&[])),
        (&[1.0], Likelihood::Bernoulli, classes(&[])),
        (&[1.0, 2.0], SIGMA, classes(&[0, 1])),
        (&[1.0, 2.0], SIGMA, Targets::Values { values: vec![1.0], outputs: 1 }),
    ]
    .into_iter()
    .skip(1)
    {
        let error = fit(outputs, likelihood, &targets).unwrap_err();
        assert!(!matches!(error, Error::Unfinished { .. }), "{error}");
    }
}

/// Draws that disagree: the average is less sure than every one of them.
fn disagreeing(rows: usize, likelihood: Likelihood, width: usize) -> Prediction {
    let draws: Vec<Vec<f64>> =
        (0..5).map(|draw| models::normals(draw, rows * width).iter().map(|z| 3.0 * z).collect()).collect();
    Prediction::from_outputs(&draws, width, likelihood).unwrap()
}

#[test]
fn an_average_of_draws_is_tempered_as_a_whole() {
    let plain = disagreeing(40, Likelihood::Categorical, 3);
    let before = plain.classes().unwrap().clone();
    for temperature in [0.4, 1.0, 2.5] {
        let tempered = Temperature::given(temperature).unwrap().apply(plain.clone()).unwrap();
        let after = tempered.classes().unwrap();
        for (p, q) in before.probabilities.chunks(3).zip(after.probabilities.chunks(3)) {
            // Law: odds are raised to the power 1/T.
            let odds = |p: &[f64]| (p[1] / p[0]).ln();
            assert!(
                (odds(q) - odds(p) / temperature).abs() < 1e-12
                    && (q.iter().sum::<f64>() - 1.0).abs() < 1e-14
            );
        }
        let (aleatoric, epistemic) = (after.aleatoric.as_ref().unwrap(), after.epistemic.as_ref().unwrap());
        for i in 0..40 {
            assert!((after.entropy[i] - aleatoric[i] - epistemic[i]).abs() < 1e-14, "the parts of row {i}");
            let share = |e: &[f64], total: &[f64]| e[i] / total[i];
            let kept = share(before.epistemic.as_ref().unwrap(), &before.entropy);
            assert!((share(epistemic, &after.entropy) - kept).abs() < 1e-12, "the shares of row {i}");
        }
        let surer = after.entropy.iter().sum::<f64>() < before.entropy.iter().sum::<f64>();
        assert_eq!(surer, temperature < 1.0);
    }
}

#[test]
fn labels_are_tempered_as_two_classes_each_and_variances_with_both_parts() {
    let labels = disagreeing(30, Likelihood::MultiLabel, 2);
    let logit = |p: f64| (p / (1.0 - p)).ln();
    let tempered = Temperature::given(0.5).unwrap().apply(labels.clone()).unwrap();
    for (p, q) in labels.labels().unwrap().probabilities.iter().zip(&tempered.labels().unwrap().probabilities)
    {
        assert!((logit(*q) - 2.0 * logit(*p)).abs() < 1e-9);
    }
    let values = disagreeing(30, SIGMA, 1);
    let (before, noise) =
        (values.values().unwrap().variance(), values.values().unwrap().aleatoric_variance[0]);
    let tempered = Temperature::given(3.0).unwrap().apply(values).unwrap();
    let after = tempered.values().unwrap();
    assert!(before.iter().zip(after.variance()).all(|(v, w)| (w / v - 9.0).abs() < 1e-12));
    assert_eq!(after.aleatoric_variance[0], 9.0 * noise);
    assert!(Temperature::given(0.0).is_err() && Temperature::given(f64::NAN).is_err());
}

/// Of data that need no temperature one in a hundred seems to; of data whose spread is wrong by a factor of two, all, and the
/// careful one lies between.
#[test]
fn the_careful_temperature_is_1_as_often_as_chance_demands() {
    let fitted = |spread: f64, seed: u64| {
        let errors: Vec<f64> = models::normals(100 + seed, 60).iter().map(|z| spread * z).collect();
        fit_noise_scale(&[0.0; 60], &[1.0; 60], &errors).unwrap()
    };
    let by_chance = (0..2000).filter(|seed| fitted(1.0, *seed).careful != 1.0).count();
    assert!((8..40).contains(&by_chance), "{by_chance} of 2000");
    for seed in 0..100 {
        let found = fitted(2.0, seed);
        assert!(found.careful > 1.0 && found.careful < found.temperature, "{found:?}");
        // At the careful one the likelihood ratio is that of the level.
        let loss = |t: f64| 60.0 * (t.ln() + 0.5 * found.temperature.powi(2) / (t * t));
        assert!((loss(found.careful) - loss(found.temperature) - 6.635 / 2.0).abs() < 1e-9);
        assert!((60.0 * (found.careful().nll_after - found.nll_after) - 6.635 / 2.0).abs() < 1e-9);
    }
}

#[test]
fn the_careful_temperature_of_classes_is_where_the_likelihood_ratio_says() {
    let (outputs, labels) = calibrated(0.3);
    let found = fit(&outputs, Likelihood::Categorical, &Targets::Classes(labels.clone())).unwrap();
    assert!(found.temperature < found.careful && found.careful < 1.0, "{found:?}");
    let plain = of_outputs(&outputs, Likelihood::Categorical, 3).unwrap();
    let at = found.careful().apply(plain).unwrap();
    let loss = nll(&at.classes().unwrap().probabilities, 3, &labels).unwrap();
    assert!((loss - found.careful().nll_after).abs() < 1e-9, "{loss} {found:?}");
    let (outputs, labels) = calibrated(1.0);
    let found = fit(&outputs, Likelihood::Categorical, &Targets::Classes(labels)).unwrap();
    assert_eq!((found.careful, found.careful().nll_after), (1.0, found.nll_before));
}

#[test]
fn total_uncertainty_is_the_sum_of_its_parts() {
    for (likelihood, sizes) in [(Likelihood::Categorical, [2, 4, 3]), (SIGMA, [2, 4, 2])] {
        let network = models::mlp(&sizes, Activation::Tanh);
        let draws: Vec<Vec<f64>> = (0..6).map(|seed| network.initialize(seed)).collect();
        let model = NetworkOutputs::new(network, likelihood).unwrap();
        let thetas: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
        let inputs = models::normals(5, 2 * 7);
        let of = |thetas: &[&[f64]]| {
            Prediction::from_outputs(&model.evaluate(thetas, &inputs).unwrap(), sizes[2], likelihood)
                .unwrap()
                .uncertainty()
        };
        let (many, one) = (of(&thetas), of(&thetas[..1]));
        let (aleatoric, epistemic) = (many.aleatoric.unwrap(), many.epistemic.unwrap());
        for ((t, a), e) in many.total.iter().zip(&aleatoric).zip(&epistemic) {
            assert!((t - a - e).abs() < 1e-14 && *e > 0.0 && *a > 0.0, "{t} {a} {e}");
        }
        assert!(one.epistemic.unwrap().iter().all(|e| *e == 0.0), "known weights");
    }
}
