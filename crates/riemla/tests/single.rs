//! Products in single precision: close to double, the same bits on any number of threads, and only where asked for.

mod models;

use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure};
use riemla::linalg::vector::{distance, dot, norm};
use riemla::nn::{Activation, Arithmetic, LayerSpec, NetworkSpec, Shape};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, Objective, Probe, TwiceDifferentiable};
use riemla::posterior::{
    BatchPlan, BatchSize, Method, MetricChoice, Model, Polish, Posterior, PosteriorConfig, Strength,
};

fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|v| v.to_bits()).collect()
}

/// Wide enough for products in single precision in two layers of four, large enough for several chunks of blocks.
fn wide() -> NetworkLoss {
    let network = models::mlp(&[20, 100, 120, 80, 9], Activation::Tanh);
    models::loss(&network, Likelihood::Categorical, 1500, 1.0)
}

fn single(loss: &NetworkLoss) -> NetworkLoss {
    loss.multiplying_in(Arithmetic::Single).unwrap()
}

/// Everything an objective computes near a point, each a vector.
fn everything(loss: &dyn TwiceDifferentiable, start: &[f64]) -> Vec<Vec<f64>> {
    let v = models::normals(5, loss.dim());
    let theta: Vec<f64> = start.iter().zip(&v).map(|(s, v)| s + 0.01 * v).collect();
    let mut out = vec![0.0; loss.dim()];
    let mut all = vec![vec![loss.value(&theta)], vec![loss.curvature_along(&theta, &v)]];
    let mut push = |number: f64, out: &[f64]| all.extend([vec![number], out.to_vec()]);
    let value = loss.value_and_gradient(&theta, &mut out);
    push(value, &out);
    loss.hvp(&theta, &v, &mut out);
    push(0.0, &out);
    let curvature = loss.gradient_and_curvature(&theta, &v, &mut out);
    push(curvature, &out);
    let mut probe = loss.probe();
    probe.set_line(&theta, &v);
    let value = probe.value_on_line(0.01);
    probe.gradient(&mut out);
    push(value, &out);
    let value = probe.value_and_gradient_on_line(0.02, &mut out);
    push(value, &out);
    all
}

/// Values, gradients, curvatures and products with the Hessian, of the loss and of its linearisation.
#[test]
fn all_evaluations_agree_with_double() {
    let loss = wide();
    let theta = loss.network().initialize(1);
    let linearized = |loss: &NetworkLoss| {
        LinearizedLoss::new(loss.with(loss.likelihood(), loss.prior().clone()).unwrap(), &theta).unwrap()
    };
    let pairs = [
        (everything(&loss, &theta), everything(&single(&loss), &theta)),
        (everything(&linearized(&loss), &theta), everything(&linearized(&single(&loss)), &theta)),
    ];
    for (double, single) in pairs {
        assert!(double != single, "single precision was not used");
        for (i, (double, single)) in double.iter().zip(&single).enumerate() {
            let error = distance(double, single) / norm(double).max(1.0);
            assert!(error < 1e-6, "{i}: {error}");
        }
    }
}

/// Residual sums, convolutions and narrow layers around a wide one.
#[test]
fn other_layers_stay_as_they_are() {
    let linear = |outputs| LayerSpec::Linear { outputs, bias: true };
    let tanh = || LayerSpec::Activation { function: Activation::Tanh };
    let convolution = LayerSpec::Conv2d {
        channels: 2,
        kernel: [3, 3],
        stride: [1, 1],
        padding: [1, 1],
        dilation: [1, 1],
        groups: 1,
        bias: true,
    };
    let body = vec![linear(40), tanh()];
    let layers = |width| {
        let sum = LayerSpec::Residual { body: body.clone(), shortcut: Vec::new() };
        let mut layers = vec![convolution.clone(), tanh(), LayerSpec::Flatten, linear(width), tanh()];
        layers.extend(if width == 40 { vec![sum] } else { Vec::new() });
        layers.push(linear(3));
        NetworkSpec { input: Shape::Image { channels: 1, height: 6, width: 5 }, layers }
    };
    // 40 outputs of 60 inputs are wide, 31 are not.
    for (width, same) in [(40, false), (31, true)] {
        let loss = models::loss(&models::network(&layers(width)), Likelihood::Categorical, 60, 1.0);
        let theta = loss.network().initialize(2);
        let (double, single) = (everything(&loss, &theta), everything(&single(&loss), &theta));
        assert_eq!(double == single, same, "width {width}");
        for (double, single) in double.iter().zip(&single) {
            assert!(distance(double, single) < 1e-6 * norm(double).max(1.0), "width {width}");
        }
    }
}

#[test]
fn the_gradient_is_the_derivative() {
    let loss = single(&wide());
    let theta = loss.network().initialize(1);
    let v = models::normals(6, loss.dim());
    let mut gradient = vec![0.0; loss.dim()];
    loss.value_and_gradient(&theta, &mut gradient);
    // A wide difference: rounding of the values is divided by it.
    let at = |t: f64| loss.value(&theta.iter().zip(&v).map(|(x, v)| x + t * v).collect::<Vec<f64>>());
    let h = 3e-4;
    let (by_difference, slope) = ((at(h) - at(-h)) / (2.0 * h), dot(&gradient, &v));
    assert!((by_difference - slope).abs() < 1e-3 * slope.abs(), "{by_difference} {slope}");
}

#[test]
fn evaluations_have_the_bits_of_one_thread() {
    let loss = single(&wide());
    let theta = loss.network().initialize(1);
    let all = || everything(&loss, &theta).iter().map(|numbers| bits(numbers)).collect::<Vec<_>>();
    let one = on_threads(1, all);
    for threads in [2, 4] {
        assert!(on_threads(threads, all) == one, "{threads} threads");
    }
}

fn fitted() -> (NetworkLoss, Laplace) {
    let network = models::mlp(&[6, 40, 40, 3], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 200, 1.0);
    let theta = network.initialize(1);
    let config =
        LaplaceConfig { prior: PriorChoice::Keep, structure: Structure::Kronecker, ..Default::default() };
    let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
    (loss, laplace)
}

fn in_single(config: PosteriorConfig) -> PosteriorConfig {
    PosteriorConfig { arithmetic: Arithmetic::Single, ..config }
}

fn at_strength(method: Method) -> PosteriorConfig {
    PosteriorConfig {
        metric: MetricChoice::Preconditioned,
        strength: Strength::Fixed(0.1),
        ..PosteriorConfig::new(method)
    }
}

#[test]
fn draws_end_at_the_same_loss_and_have_the_bits_of_one_thread() {
    let (loss, laplace) = fitted();
    let batch = Some(BatchPlan::new(BatchSize::Rows(50), Default::default()));
    let polish = Some(Polish::of(20));
    for config in [
        at_strength(Method::RiemLa),
        at_strength(Method::LinRiemLa),
        PosteriorConfig { batch, ..at_strength(Method::RiemLa) },
        PosteriorConfig { polish, ..at_strength(Method::RiemLa) },
    ] {
        let draws = |config: &PosteriorConfig, threads: usize| {
            let posterior = Posterior::of_network(&loss, &laplace, config.clone()).unwrap();
            on_threads(threads, || posterior.sample(3, 4, Control::default())).unwrap().draws
        };
        let all = |config: &PosteriorConfig, threads: usize| {
            draws(config, threads).iter().map(|draw| bits(&draw.theta)).collect::<Vec<_>>()
        };
        let single = in_single(config.clone());
        let one = all(&single, 1);
        assert!([2, 4].into_iter().all(|threads| all(&single, threads) == one), "{config:?}");
        assert!(all(&config, 1) != one, "single precision was not used: {config:?}");
        let ends = |config: &PosteriorConfig| -> Vec<f64> {
            draws(config, 1).iter().map(|draw| draw.geodesic.unwrap().diagnostics.loss_end).collect()
        };
        for (double, single) in ends(&config).iter().zip(ends(&single)) {
            // What the setting promises: curves on batches are chaotic, and rounding alone moves their ends.
            assert!((single / double - 1.0).abs() < 1e-3, "{double} {single}");
        }
    }
}

/// Double is the default, is not written, and changes no bit; predictions are double in any case.
#[test]
fn double_is_the_default() {
    let (loss, laplace) = fitted();
    let config = at_strength(Method::RiemLa);
    assert_eq!(config.arithmetic, Arithmetic::Double);
    let json = serde_json::to_string(&config).unwrap();
    assert!(!json.contains("arithmetic"), "{json}");
    assert_eq!(serde_json::from_str::<PosteriorConfig>(&json).unwrap(), config);
    let single = in_single(config.clone());
    let written = serde_json::to_string(&single).unwrap();
    assert!(written.contains("\"arithmetic\":\"single\""), "{written}");
    assert_eq!(serde_json::from_str::<PosteriorConfig>(&written).unwrap(), single);
    let error = serde_json::from_str::<PosteriorConfig>(&written.replace("single", "half")).unwrap_err();
    assert!(error.to_string().contains("half"), "{error}");

    let theta = laplace.gaussian.theta();
    let (mut gradient, mut again) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
    let value = loss.value_and_gradient(theta, &mut gradient);
    let back = single_and_back(&loss).value_and_gradient(theta, &mut again);
    assert_eq!((value.to_bits(), bits(&gradient)), (back.to_bits(), bits(&again)));

    let inputs = models::normals(8, 6 * 10);
    let outputs = [config, single].map(|config| {
        let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
        let outputs = posterior.model().outputs().unwrap().evaluate(&[theta], &inputs).unwrap();
        bits(&outputs[0])
    });
    assert_eq!(outputs[0], outputs[1]);
}

fn single_and_back(loss: &NetworkLoss) -> NetworkLoss {
    single(loss).multiplying_in(Arithmetic::Double).unwrap()
}

/// The metric of convex models does not depend on the arithmetic.
#[test]
fn the_metric_is_chosen_as_in_double() {
    let network = models::mlp(&[4, 3], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 40, 1.0);
    let config = LaplaceConfig { prior: PriorChoice::Keep, ..Default::default() };
    let laplace = Laplace::fit(&loss, &network.initialize(1), &config, Control::default()).unwrap();
    let config = in_single(PosteriorConfig::new(Method::RiemLa));
    let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
    assert_eq!(posterior.config().metric, MetricChoice::Fisher);
    assert_eq!(posterior.config().arithmetic, Arithmetic::Single);
}

/// A loss that says nothing of networks.
struct Hidden(NetworkLoss);

impl Objective for Hidden {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn value(&self, theta: &[f64]) -> f64 {
        self.0.value(theta)
    }
    fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.0.value_and_gradient(theta, gradient)
    }
    fn probe(&self) -> Box<dyn Probe + '_> {
        self.0.probe()
    }
}

impl Model for Hidden {}

#[test]
fn where_it_has_no_meaning_it_is_refused() {
    let (loss, laplace) = fitted();
    for method in [Method::La, Method::LinLa, Method::Map] {
        let error =
            Posterior::of_network(&loss, &laplace, in_single(PosteriorConfig::new(method))).err().unwrap();
        assert!(error.to_string().contains("evaluates no loss"), "{error}");
    }
    let polished = PosteriorConfig { polish: Some(Polish::of(10)), ..PosteriorConfig::new(Method::La) };
    assert!(Posterior::of_network(&loss, &laplace, in_single(polished)).is_ok());
    let (gaussian, config) = (laplace.gaussian.clone(), in_single(PosteriorConfig::new(Method::RiemLa)));
    let error = Posterior::new(Arc::new(Hidden(loss)), gaussian, config).err().unwrap();
    assert!(error.to_string().contains("no products in single precision"), "{error}");
    for (name, arithmetic) in [("double", Arithmetic::Double), ("single", Arithmetic::Single)] {
        assert_eq!(name.parse::<Arithmetic>().unwrap(), arithmetic);
        assert_eq!(arithmetic.to_string(), name);
    }
    let error = "half".parse::<Arithmetic>().unwrap_err().to_string();
    assert!(error.contains("half") && error.contains("double or single"), "{error}");
}
