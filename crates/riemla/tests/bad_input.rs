//! Mistakes of the caller give typed errors with numbers, never a panic.

mod models;

use std::sync::Arc;

use models::{GAUSSIAN, data, loss, mlp};
use riemla::Control;
use riemla::curvature::{Curvature, Evidence, Laplace, LaplaceConfig, PriorChoice, Subset};
use riemla::data::{Dataset, draw_batch};
use riemla::geometry::{ConstrainedLeapfrog, Integrator};
use riemla::nn::{Activation, LayerSpec, Network, NetworkSpec, Shape};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, Objective, Prior, PriorPrecision};
use riemla::posterior::{
    BatchDesign, BatchPlan, Method, NetworkOutputs, Outputs as _, Posterior, PosteriorConfig, Unfinished,
};
use riemla::predict::{Prediction, Predictor};
use riemla::random::{Purpose, stream};
use riemla::train::{Lbfgs, MiniBatch, Rule, Schedule, lbfgs, minibatch};
use riemla::{Error, Result};

/// Panics unless the result is an error of the given variant.
macro_rules! assert_error {
    ($result:expr, $variant:pat) => {
        match $result.map(|_| ()) {
            Err($variant) => (),
            other => panic!("{}: {other:?} instead of {}", stringify!($result), stringify!($variant)),
        }
    };
}

fn loss_with(sizes: &[usize], data: &Dataset, likelihood: Likelihood) -> Result<NetworkLoss> {
    let network = mlp(sizes, Activation::Tanh);
    let prior = Prior::isotropic(1.0, network.dim())?;
    NetworkLoss::new(network, data.clone(), likelihood, prior)
}

#[test]
fn data_sets() -> Result<()> {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_error!(
            Dataset::classification(vec![0.0, bad], 1, vec![0, 1]),
            Error::NotFinite { index: 1, .. }
        );
        assert_error!(Dataset::regression(vec![0.0], 1, vec![bad], 1), Error::NotFinite { index: 0, .. });
    }
    assert_error!(Dataset::classification(vec![], 2, vec![]), Error::Range { .. });
    assert_error!(Dataset::classification(vec![1.0], 0, vec![0]), Error::Range { .. });
    assert_error!(Dataset::classification(vec![1.0; 5], 2, vec![0, 1]), Error::Shape { .. });
    assert_error!(Dataset::classification(vec![1.0; 4], 2, vec![0, 1, 0]), Error::Shape { .. });
    assert_error!(Dataset::regression(vec![1.0; 4], 2, vec![0.0; 2], 0), Error::Shape { .. });
    let classes = Dataset::classification(vec![1.0; 4], 2, vec![0, 3])?;
    assert_error!(
        loss_with(&[2, 4, 3], &classes, Likelihood::Categorical),
        Error::Label { row: 1, label: 3, classes: 3 }
    );
    assert_error!(loss_with(&[2, 1], &classes, Likelihood::Bernoulli), Error::Label { label: 3, .. });
    assert_error!(loss_with(&[2, 4, 2], &classes, GAUSSIAN), Error::Unsupported(_));
    assert_error!(loss_with(&[3, 4, 4], &classes, Likelihood::Categorical), Error::Shape { .. });
    let values = Dataset::regression(vec![1.0; 4], 2, vec![0.0; 4], 2)?;
    assert_error!(loss_with(&[2, 4, 2], &values, Likelihood::Categorical), Error::Unsupported(_));
    assert_error!(loss_with(&[2, 4, 1], &values, GAUSSIAN), Error::Shape { .. });
    // One sample is enough.
    let one = Dataset::classification(vec![1.0, 2.0], 2, vec![1])?;
    let loss = loss_with(&[2, 4, 2], &one, Likelihood::Categorical)?;
    let mut theta = loss.network().initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default())?;
    let laplace = Arc::new(Laplace::fit(&loss, &theta, &LaplaceConfig::default(), Control::default())?);
    let posterior = Posterior::of_network(&loss, &laplace, PosteriorConfig::paper(Method::RiemLa))?;
    assert_eq!(posterior.sample(1, 3, Control::default()).unwrap().draws.len(), 3);
    Ok(())
}

#[test]
fn likelihoods_and_priors() -> Result<()> {
    let classes = Dataset::classification(vec![1.0; 4], 2, vec![0, 1])?;
    assert_error!(loss_with(&[2, 4, 2], &classes, Likelihood::Bernoulli), Error::Range { .. });
    assert_error!(loss_with(&[2, 4, 1], &classes, Likelihood::Categorical), Error::Range { .. });
    let values = Dataset::regression(vec![1.0; 4], 2, vec![0.0; 2], 1)?;
    let loss = loss_with(&[2, 4, 1], &values, GAUSSIAN)?;
    for sigma_noise in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let bad = Likelihood::Gaussian { sigma_noise };
        assert_error!(loss_with(&[2, 4, 1], &values, bad), Error::Range { .. });
        assert_error!(loss.with(bad, loss.prior().clone()), Error::Range { .. });
    }
    assert_error!(loss.with(Likelihood::Bernoulli, loss.prior().clone()), Error::Unsupported(_));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert_error!(Prior::isotropic(bad, 3), Error::Range { .. });
        let per_layer = PriorPrecision::PerLayer(vec![1.0, bad]);
        assert_error!(Prior::new(&per_layer, loss.network()), Error::Range { .. });
    }
    let three = PriorPrecision::PerLayer(vec![1.0; 3]);
    assert_error!(Prior::new(&three, loss.network()), Error::Shape { .. });
    let short = Prior::isotropic(1.0, loss.dim() - 1)?;
    assert_error!(loss.with(GAUSSIAN, short.clone()), Error::Shape { .. });
    assert_error!(
        NetworkLoss::new(loss.network().clone(), values.clone(), GAUSSIAN, short),
        Error::Shape { .. }
    );
    Ok(())
}

fn spec(input: Shape, layers: Vec<LayerSpec>) -> NetworkSpec {
    NetworkSpec { input, layers }
}

#[test]
fn networks() {
    let image = Shape::Image { channels: 1, height: 4, width: 3 };
    let linear = |outputs| LayerSpec::Linear { outputs, bias: true };
    let conv = |kernel, stride| LayerSpec::Conv2d {
        channels: 2,
        kernel,
        stride,
        padding: [0, 0],
        dilation: [1, 1],
        groups: 1,
        bias: true,
    };
    let pool = |kernel, stride| LayerSpec::MaxPool { kernel, stride };
    let tanh = LayerSpec::Activation { function: Activation::Tanh };
    let two = Shape::Features(2);
    let range = [
        spec(two, vec![]),
        spec(two, vec![tanh.clone()]),
        spec(Shape::Features(0), vec![linear(1)]),
        spec(two, vec![linear(0)]),
        spec(two, vec![linear(usize::MAX)]),
        spec(two, vec![linear(1 << 41)]),
        spec(Shape::Image { channels: usize::MAX, height: 4, width: 4 }, vec![LayerSpec::Flatten, linear(1)]),
        spec(image, vec![conv([5, 1], [1, 1]), LayerSpec::Flatten]),
        spec(image, vec![conv([1, 1], [0, 1]), LayerSpec::Flatten]),
        spec(image, vec![conv([0, 1], [1, 1]), LayerSpec::Flatten]),
        spec(image, vec![pool([5, 1], None), LayerSpec::Flatten, linear(1)]),
        spec(image, vec![pool([2, 2], Some([1, 0])), LayerSpec::Flatten, linear(1)]),
        spec(image, vec![pool([0, 2], None), LayerSpec::Flatten, linear(1)]),
    ];
    for spec in range {
        assert_error!(Network::new(&spec), Error::Range { .. });
    }
    let shape = [
        spec(image, vec![linear(1)]),
        spec(image, vec![conv([1, 1], [1, 1])]),
        spec(two, vec![conv([1, 1], [1, 1])]),
        spec(two, vec![pool([1, 1], None)]),
    ];
    for spec in shape {
        assert_error!(Network::new(&spec), Error::Shape { .. });
    }
}

#[test]
fn files_with_unknown_keys() {
    let parse = |text: &str| serde_json::from_str::<NetworkSpec>(text);
    let good = r#"{"input": 2, "layers": [{"type": "linear", "outputs": 1}, {"type": "flatten"}]}"#;
    parse(good).unwrap();
    for bad in [
        r#"{"input": 2, "layers": [], "extra": 1}"#,
        r#"{"input": 2, "layers": [{"type": "linear", "outputs": 1, "biass": false}]}"#,
        r#"{"input": 2, "layers": [{"type": "flatten", "outputs": 1}]}"#,
        r#"{"input": 2, "layers": [{"type": "dense", "outputs": 1}]}"#,
        r#"{"input": 2, "layers": [{"type": "activation", "function": "swish"}]}"#,
        r#"{"input": {"channels": 1, "height": 2, "width": 2, "depth": 1}, "layers": []}"#,
        r#"{"input": -2, "layers": []}"#,
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    let likelihood = |text: &str| serde_json::from_str::<Likelihood>(text);
    likelihood(r#"{"type": "categorical"}"#).unwrap();
    assert!(likelihood(r#"{"type": "gaussian", "sigma": 1.0}"#).is_err());
    assert!(likelihood(r#"{"type": "categorical", "sigma_noise": 1.0}"#).is_err());
}

#[test]
fn weights_and_subsets() -> Result<()> {
    let network = mlp(&[2, 3, 2], Activation::Tanh);
    let loss = || loss(&network, Likelihood::Categorical, 10, 1.0);
    let config = LaplaceConfig::default();
    let (short, mut nan) = (vec![0.0; network.dim() - 1], network.initialize(1));
    nan[3] = f64::NAN;
    assert_error!(Laplace::fit(&loss(), &short, &config, Control::default()), Error::Shape { .. });
    assert_error!(
        Laplace::fit(&loss(), &nan, &config, Control::default()),
        Error::NotFinite { index: 3, .. }
    );
    assert_error!(LinearizedLoss::new(loss(), &short), Error::Shape { .. });
    assert_error!(LinearizedLoss::new(loss(), &nan), Error::NotFinite { .. });
    assert_error!(
        lbfgs(&loss(), &mut short.clone(), &Lbfgs::default(), Control::default()),
        Error::Shape { .. }
    );
    let model = NetworkOutputs::new(network.clone(), Likelihood::Categorical)?;
    assert_error!(model.evaluate(&[&short], &[0.0; 2]), Error::Shape { .. });
    assert_error!(model.evaluate(&[&nan], &[0.0; 3]), Error::Shape { .. });
    assert_error!(model.evaluate(&[&nan], &[0.0, f64::NAN]), Error::NotFinite { .. });
    let none = Prediction::from_outputs(&[], 2, Likelihood::Categorical);
    assert_error!(none, Error::Range { .. });
    for names in [vec![], vec!["5.weight".to_string()]] {
        assert_error!(Subset::Parameters(names).ranges(&network), Error::Range { .. });
    }
    // A Laplace approximation of another network.
    let other = models::loss(&mlp(&[2, 5, 2], Activation::Tanh), Likelihood::Categorical, 10, 1.0);
    let laplace = Laplace::fit(&loss(), &network.initialize(1), &config, Control::default())?;
    let outputs = NetworkOutputs::new(other.network().clone(), Likelihood::Categorical)?;
    let predictor = Predictor::new(Arc::new(outputs), Method::LinLa, laplace.gaussian.clone());
    assert_error!(predictor.predict_closed_form(&[0.0; 2]), Error::Shape { .. });
    let config = PosteriorConfig::paper(Method::La);
    assert_error!(Posterior::of_network(&other, &laplace, config), Error::Shape { .. });
    Ok(())
}

#[test]
fn evidence() {
    let indefinite = Evidence::new(vec![-1.0, 2.0], 1.0, -3.0);
    assert_error!(indefinite.log_marginal_likelihood(0.5, None), Error::NotPositiveDefinite { pivot: 0, .. });
    assert_error!(indefinite.best_precision(None), Error::Unsupported(_));
    let flat = Evidence::new(vec![1.0, 2.0], 0.0, -3.0);
    assert_error!(flat.optimum(), Error::Unsupported(_)); // ‖θ‖ = 0: the larger δ the better
    for bad in [0.0, -1.0, f64::NAN] {
        assert_error!(flat.log_marginal_likelihood(bad, None), Error::Range { .. });
        let regression = flat.clone().with_noise(0.1, 10, 1.0);
        assert_error!(regression.log_marginal_likelihood(1.0, Some(bad)), Error::Range { .. });
    }
}

#[test]
fn posteriors_and_batches() -> Result<()> {
    let network = mlp(&[2, 3, 2], Activation::Tanh);
    let data = Arc::new(data(&network, Likelihood::Categorical, 10, 5));
    let loss = loss(&network, Likelihood::Categorical, 10, 1.0);
    let keep = LaplaceConfig { prior: PriorChoice::Keep, ..Default::default() };
    let laplace = Arc::new(Laplace::fit(&loss, &network.initialize(1), &keep, Control::default())?);
    let make = |config| Posterior::of_network(&loss, &laplace, config);
    for size in [0, 11] {
        let batch = Some(BatchPlan::new(size, BatchDesign::Uniform));
        assert_error!(
            make(PosteriorConfig { batch, ..PosteriorConfig::paper(Method::RiemLa) }),
            Error::Range { .. }
        );
        assert_error!(
            draw_batch(data.len(), data.labels(), size, &mut stream(1, Purpose::Batch, 0)),
            Error::Range { .. }
        );
    }
    let batch = Some(BatchPlan::new(5, BatchDesign::Stratified));
    assert_error!(
        make(PosteriorConfig { batch, ..PosteriorConfig::paper(Method::La) }),
        Error::Unsupported(_)
    );
    assert_error!("laplace".parse::<Method>(), Error::Range { .. });
    assert!(Method::ALL.iter().all(|m| m.name().parse::<Method>() == Ok(*m)));
    for strength in [-1.0, f64::NAN, f64::INFINITY] {
        let config = PosteriorConfig { strength: strength.into(), ..PosteriorConfig::paper(Method::RiemLa) };
        assert_error!(make(config), Error::Range { .. });
    }
    let integrator = Integrator::ConstrainedLeapfrog(ConstrainedLeapfrog::with_tolerance(0.0));
    let config = PosteriorConfig {
        integrator,
        unfinished: Unfinished::Keep,
        ..PosteriorConfig::paper(Method::RiemLa)
    };
    assert_error!(make(config), Error::Range { .. });
    // Batches of other data than the network was made for.
    assert_error!(make(PosteriorConfig::paper(Method::La))?.trace_geodesic(1, 0, 5), Error::Unsupported(_));
    for batch_size in [0, 11] {
        let (rule, learning_rate) = (Rule::ADAM, Schedule::Constant(0.1));
        let config = MiniBatch { rule, learning_rate, epochs: 1, batch_size, seed: 1, gradient_scale: 1.0 };
        assert_error!(
            minibatch(&loss, &mut laplace.gaussian.theta().to_vec(), &config, Control::default()),
            Error::Range { .. }
        );
    }
    Ok(())
}

#[test]
fn huge_logits() -> Result<()> {
    for (sizes, likelihood) in
        [([2, 3, 2], Likelihood::Categorical), ([2, 3, 1], Likelihood::Bernoulli), ([2, 3, 1], GAUSSIAN)]
    {
        let network = mlp(&sizes, Activation::SOFTPLUS);
        let loss = || loss(&network, likelihood, 10, 1.0);
        for size in [1e100, 1e200, 1e300] {
            let theta: Vec<f64> = network.initialize(1).iter().map(|t| size * t.signum()).collect();
            let mut gradient = vec![0.0; theta.len()];
            loss().value_and_gradient(&theta, &mut gradient);
            for curvature in [Curvature::Ggn, Curvature::Hessian] {
                let config = LaplaceConfig { curvature, ..Default::default() };
                let _ = Laplace::fit(&loss(), &theta, &config, Control::default());
            }
            let _ = LinearizedLoss::new(loss(), &theta);
            lbfgs(
                &loss(),
                &mut theta.clone(),
                &Lbfgs { max_iterations: 5, ..Default::default() },
                Control::default(),
            )?;
            let outputs =
                NetworkOutputs::new(network.clone(), likelihood)?.evaluate(&[&theta], &[0.3, 0.1])?;
            let prediction = Prediction::from_outputs(&outputs, network.outputs(), likelihood)?;
            assert!(prediction.classes().is_some() == (likelihood != GAUSSIAN));
        }
    }
    Ok(())
}
