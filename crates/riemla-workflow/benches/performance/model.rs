//! The paper's banana problem: 265 points of the banana data, network 2-16-16-2.

use std::path::Path;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice};
use riemla::data::Dataset;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior, PriorPrecision};
use riemla::train::{GradientDescent, Schedule, gradient_descent};

pub struct Banana {
    pub network: Arc<Network>,
    pub loss: NetworkLoss,
    pub theta: Vec<f64>,
}

/// Trained by the paper's protocol: 2500 epochs of gradient descent, rate 1e-3, weight decay 1e-2.
pub fn banana(root: &Path) -> Banana {
    let path = root.join("testdata/banana.npz");
    let arrays = riemla_files::table::read_npz(&path, riemla_files::ReadOptions::default());
    let arrays = arrays.unwrap_or_else(|error| panic!("{error}"));
    let array = |wanted: &str| {
        let found = arrays.iter().find(|(name, _)| name == wanted);
        found.map(|(_, array)| array.values.clone()).unwrap_or_else(|| panic!("no array {wanted}"))
    };
    let labels = array("y").iter().map(|&y| y as usize).collect();
    let data = Dataset::classification(array("x"), 2, labels).unwrap();
    let network = Arc::new(Network::new(&NetworkSpec::mlp(&[2, 16, 16, 2], Activation::Tanh)).unwrap());
    let prior = Prior::isotropic(1e-2, network.dim()).unwrap();
    let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior).unwrap();
    let mut theta = network.initialize(0);
    let descent = GradientDescent {
        learning_rate: Schedule::Constant(1e-3),
        epochs: 2500,
        ..GradientDescent::default()
    };
    gradient_descent(&loss, &mut theta, &descent, Control::default()).unwrap();
    Banana { network, loss, theta }
}

impl Banana {
    /// The Laplace approximation with the prior optimised, or fixed at the paper's 0.02.
    pub fn laplace(&self, optimized: bool) -> Arc<Laplace> {
        let fixed = PriorChoice::Fixed(PriorPrecision::Scalar(0.02));
        let prior = if optimized { PriorChoice::Optimize } else { fixed };
        let config = LaplaceConfig { prior, ..LaplaceConfig::default() };
        Arc::new(Laplace::fit(&self.loss, &self.theta, &config, Control::default()).unwrap())
    }
}
