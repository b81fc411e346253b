//! A large loss is evaluated by all threads, with the bits of one.

mod models;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, TwiceDifferentiable};
use riemla::posterior::{Method, Posterior, PosteriorConfig, Strength};

fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

/// K = 13 103 on 3000 samples: large enough for several chunks of blocks.
fn large() -> NetworkLoss {
    let network = models::mlp(&[20, 100, 100, 9], Activation::Tanh);
    models::loss(&network, Likelihood::Categorical, 3000, 1.0)
}

/// Everything an objective computes near a point.
fn everything(loss: &dyn TwiceDifferentiable, start: &[f64]) -> Vec<u64> {
    let v = models::normals(5, loss.dim());
    let theta: Vec<f64> = start.iter().zip(&v).map(|(s, v)| s + 0.01 * v).collect();
    let mut all = vec![loss.value(&theta), loss.curvature_along(&theta, &v)];
    let mut out = vec![0.0; loss.dim()];
    all.push(loss.value_and_gradient(&theta, &mut out));
    all.extend(&out);
    loss.hvp(&theta, &v, &mut out);
    all.extend(&out);
    all.push(loss.gradient_and_curvature(&theta, &v, &mut out));
    all.extend(&out);
    let mut probe = loss.probe();
    probe.set_line(&theta, &v);
    all.push(probe.value_on_line(0.01));
    probe.gradient(&mut out);
    all.extend(&out);
    all.push(probe.value_and_gradient_on_line(0.02, &mut out));
    all.extend(&out);
    all.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn evaluations_have_the_bits_of_one_thread() {
    let exact = large();
    let theta = exact.network().initialize(1);
    let linearized = LinearizedLoss::new(large(), &theta).unwrap();
    for loss in [&exact as &dyn TwiceDifferentiable, &linearized] {
        let one = on_threads(1, || everything(loss, &theta));
        for threads in [2, 4] {
            assert!(on_threads(threads, || everything(loss, &theta)) == one, "{threads} threads");
        }
    }
}

#[test]
fn few_draws_have_the_bits_of_one_thread() {
    let loss = large();
    let theta = loss.network().initialize(1);
    let config =
        LaplaceConfig { prior: PriorChoice::Keep, structure: Structure::Diagonal, ..Default::default() };
    let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
    let config =
        PosteriorConfig { method: Method::RiemLa, strength: Strength::Fixed(0.1), ..Default::default() };
    let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
    let draws = |threads| {
        let set = on_threads(threads, || posterior.sample(3, 2, Control::default())).unwrap();
        let bits = |theta: &[f64]| theta.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        set.draws.iter().map(|draw| bits(&draw.theta)).collect::<Vec<_>>()
    };
    let one = draws(1);
    assert_eq!(one.len(), 2);
    for threads in [2, 4] {
        assert!(draws(threads) == one, "{threads} threads");
    }
}
