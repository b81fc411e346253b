//! Where only the last layers move, the others are computed once: the same losses, derivatives and draws.

mod common;
mod models;

use std::sync::Arc;

use common::assert_close;
use models::{GAUSSIAN, Hidden, data, network, normals, per_output, residual_cnn, residual_mlp, small_cnn};
use riemla::Control;
use riemla::curvature::{Gaussian, Laplace, LaplaceConfig, PriorChoice, Subset, SubsetRanges};
use riemla::geometry::Metric;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior, PriorPrecision, Restricted};
use riemla::posterior::{
    BatchDesign, BatchPlan, Method, MetricChoice, Model, Polish, PolishLength, Posterior, PosteriorConfig,
    Strength, Tail,
};

fn named(names: &[&str]) -> Subset {
    Subset::Parameters(names.iter().map(ToString::to_string).collect())
}

/// A loss with weights of rows, and another precision for every layer.
fn loss(network: &Arc<Network>, likelihood: Likelihood, n: usize) -> NetworkLoss {
    let layers = network.layer_ranges().len();
    let precisions = PriorPrecision::PerLayer((0..layers).map(|l| 0.2 + l as f64).collect());
    let weights = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
    let data = data(network, likelihood, n, 5).with_weights(weights).unwrap();
    let prior = Prior::new(&precisions, network).unwrap();
    NetworkLoss::new(network.clone(), data, likelihood, prior).unwrap()
}

/// Value, gradient, Hv, vᵀHv and a probe's numbers are those of the whole with the other weights held fixed.
fn check_same(tail: &dyn Objective, whole: &Restricted<'_>, s: &[f64], v: &[f64]) {
    let all = |objective: &dyn Objective| {
        let (mut gradient, mut product, mut on_line) = (s.to_vec(), s.to_vec(), s.to_vec());
        let value = objective.value_and_gradient(s, &mut gradient);
        let second = objective.second_derivatives().unwrap();
        second.hvp(s, v, &mut product);
        let mut probe = objective.probe();
        probe.set_line(s, v);
        let line = probe.value_and_gradient_on_line(0.3, &mut on_line);
        let numbers = vec![objective.value(s), value, second.curvature_along(s, v), line];
        [numbers, gradient, product, on_line]
    };
    for (tail, whole) in all(tail).iter().zip(&all(whole)) {
        assert_close("tail", tail, whole, 1e-12);
    }
}

/// The weights of a tail that move, among its own.
fn moving(network: &Network, subset: &SubsetRanges, first: usize) -> Vec<usize> {
    assert!(first > 0 && first < network.dim());
    subset.indices().map(|k| k - first).collect()
}

fn check_losses(spec: &NetworkSpec, likelihood: Likelihood, subset: &Subset, first_layer: usize) {
    let network = network(spec);
    let (loss, theta) = (loss(&network, likelihood, 40), network.initialize(3));
    let ranges = subset.ranges(&network).unwrap();
    let Tail { first, model } = Model::tail(&loss, &theta, &ranges).unwrap().unwrap();
    assert_eq!(first, network.layer_ranges()[first_layer].start, "{subset:?}");
    let indices = moving(&network, &ranges, first);
    let s: Vec<f64> = ranges.gather(&theta).iter().zip(normals(4, 999)).map(|(t, e)| t + 0.3 * e).collect();
    let v = normals(8, s.len());
    let rows: Vec<usize> = (0..40).rev().step_by(3).collect();
    let weights: Vec<f64> = rows.iter().map(|row| 1.0 + (row % 4) as f64).collect();
    let (part, batch) = (&theta[first..], model.on_rows(&rows, &weights).unwrap());
    let whole_batch = loss.on_weighted_rows(&rows, &weights).unwrap();
    for (tail, whole) in [(&*model, &loss), (&*batch, &whole_batch)] {
        let restricted = |whole| Restricted::new(whole, &theta, ranges.indices().collect());
        check_same(&Restricted::new(tail, part, indices.clone()), &restricted(whole), &s, &v);
        let (linear, whole_linear) =
            (tail.linearized(part).unwrap(), Model::linearized(whole, &theta).unwrap());
        check_same(&Restricted::new(&*linear, part, indices.clone()), &restricted(&*whole_linear), &s, &v);
    }
    let directions = [ranges.scatter(&v, theta.len())];
    let of_tail = model.row_curvatures(part, &[directions[0][first..].to_vec()]).unwrap();
    assert_close("rows", &of_tail, &loss.row_curvatures(&theta, &directions).unwrap(), 1e-12);
}

#[test]
fn losses_of_the_last_layers_are_those_of_the_whole() {
    let sizes = |outputs| NetworkSpec::mlp(&[3, 6, 5, outputs], Activation::Tanh);
    for (likelihood, outputs) in [
        (Likelihood::Categorical, 4),
        (Likelihood::Bernoulli, 1),
        (GAUSSIAN, 2),
        (per_output(&[0.3, 0.7]), 2),
        (Likelihood::Heteroscedastic, 2),
        (Likelihood::Poisson, 1),
        (Likelihood::MultiLabel, 3),
    ] {
        check_losses(&sizes(outputs), likelihood, &Subset::LastLayer, 2);
    }
    check_losses(&sizes(3), Likelihood::Categorical, &named(&["2.bias", "4.weight"]), 1);
    check_losses(&small_cnn(), Likelihood::Categorical, &Subset::LastLayer, 2);
    check_losses(&small_cnn(), Likelihood::Categorical, &named(&["3.weight"]), 1);
    // A sum of branches is not cut: the tail begins with all of it.
    check_losses(&residual_mlp(), Likelihood::Categorical, &named(&["1.body.3.weight", "3.bias"]), 3);
    check_losses(&residual_cnn(), GAUSSIAN, &named(&["2.body.0.weight"]), 4);
    check_losses(&residual_cnn(), GAUSSIAN, &Subset::LastLayer, 5);
}

#[test]
fn nothing_is_cut_where_a_weight_of_the_first_layer_moves() {
    for (spec, subset) in [
        (NetworkSpec::mlp(&[3, 6, 2], Activation::Tanh), named(&["0.bias", "2.weight"])),
        (residual_mlp(), named(&["0.body.0.bias"])),
        (NetworkSpec::mlp(&[3, 2], Activation::Tanh), Subset::LastLayer),
    ] {
        let network = network(&spec);
        let (loss, theta) = (loss(&network, Likelihood::Categorical, 10), network.initialize(1));
        let ranges = subset.ranges(&network).unwrap();
        assert!(Model::tail(&loss, &theta, &ranges).unwrap().is_none());
        assert!(loss.on_rows(&[1, 2]).unwrap().tail(&theta, network.dim() - 1).unwrap().is_none());
    }
}

/// A network that does everything but cut off its fixed layers.
impl Model for Hidden {
    fn linearized(&self, center: &[f64]) -> riemla::Result<Box<dyn Objective>> {
        Model::linearized(&self.0, center)
    }

    fn prior(&self) -> Option<&Prior> {
        Some(self.0.prior())
    }

    fn rows(&self) -> Option<usize> {
        self.0.rows()
    }

    fn labels(&self) -> Option<&[usize]> {
        self.0.labels()
    }

    fn on_rows(&self, rows: &[usize], weights: &[f64]) -> riemla::Result<Box<dyn Model>> {
        Model::on_rows(&self.0, rows, weights)
    }

    fn row_curvatures(&self, center: &[f64], directions: &[Vec<f64>]) -> riemla::Result<Vec<f64>> {
        self.0.row_curvatures(center, directions)
    }

    fn fisher_metric<'a>(
        &'a self,
        gaussian: &'a Gaussian,
        lin: bool,
    ) -> riemla::Result<Box<dyn Metric + 'a>> {
        self.0.fisher_metric(gaussian, lin)
    }

    fn is_convex_in(&self, subset: &SubsetRanges) -> bool {
        self.0.is_convex_in(subset)
    }
}

#[test]
fn draws_of_the_last_layers_are_those_of_the_whole() {
    let network = network(&NetworkSpec::mlp(&[2, 6, 5, 3], Activation::Tanh));
    let make = || loss(&network, Likelihood::Categorical, 60);
    let theta = network.initialize(2);
    let searched =
        |method| PosteriorConfig { metric: MetricChoice::Preconditioned, ..PosteriorConfig::new(method) };
    let base = |method| PosteriorConfig { strength: Strength::Fixed(0.3), ..searched(method) };
    let batch = |design| Some(BatchPlan::new(20, design));
    let polish = Some(Polish { length: PolishLength::Gradients(60), ..Polish::default() });
    for (subset, config) in [
        (Subset::LastLayer, base(Method::RiemLa)),
        (named(&["2.bias", "4.weight"]), base(Method::RiemLa)),
        (named(&["2.bias"]), base(Method::LinRiemLa)),
        (Subset::LastLayer, searched(Method::RiemLa)),
        // The Fisher metric.
        (Subset::LastLayer, PosteriorConfig::new(Method::RiemLa)),
        (Subset::LastLayer, PosteriorConfig { polish, ..base(Method::RiemLa) }),
        (Subset::LastLayer, PosteriorConfig { batch: batch(BatchDesign::Uniform), ..base(Method::RiemLa) }),
        (
            Subset::LastLayer,
            PosteriorConfig { batch: batch(BatchDesign::Stratified), ..base(Method::LinRiemLa) },
        ),
        (
            Subset::LastLayer,
            PosteriorConfig { batch: batch(BatchDesign::leverage()), ..base(Method::RiemLa) },
        ),
    ] {
        let fit = LaplaceConfig { subset, prior: PriorChoice::Keep, ..Default::default() };
        let laplace = Laplace::fit(&make(), &theta, &fit, Control::default()).unwrap();
        let draws = |model: Arc<dyn Model>| {
            let posterior = Posterior::new(model, laplace.gaussian.clone(), config.clone()).unwrap();
            let set = posterior.sample(5, 3, Control::default()).unwrap();
            let thetas: Vec<&[f64]> = set.draws.iter().map(|draw| draw.theta.as_slice()).collect();
            let rises = posterior.loss_rises(&thetas).unwrap();
            (set.draws.iter().flat_map(|draw| draw.theta.clone()).collect::<Vec<_>>(), rises)
        };
        let ((tail, tail_rises), (whole, rises)) = (draws(Arc::new(make())), draws(Arc::new(Hidden(make()))));
        assert_eq!(tail.len(), 3 * theta.len());
        assert_close("draws", &tail, &whole, 1e-8);
        assert_close("rises of the loss", &tail_rises, &rises, 1e-7);
    }
}
