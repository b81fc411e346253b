//! Reference values for the tests: extracts in testdata/ (origin in testdata/README.md).
#![allow(dead_code)] // each test binary uses its own part

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use riemla::data::Dataset;
use riemla::nn::{Activation, Network, NetworkSpec};
use riemla::objective::{Likelihood, LinearizedLoss, NetworkLoss, Prior};

/// Root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One reference problem.
pub struct Fixture {
    pub name: &'static str,
    pub arrays: HashMap<String, (Vec<usize>, Vec<f64>)>,
    pub network: Arc<Network>,
    pub data: Dataset,
    pub likelihood: Likelihood,
}

pub fn banana() -> Fixture {
    let arrays = read_npz(&root().join("testdata/banana.npz"));
    let labels = arrays["y"].1.iter().map(|&y| y as usize).collect();
    let data = Dataset::classification(arrays["x"].1.clone(), 2, labels).unwrap();
    let network = Network::new(&NetworkSpec::mlp(&[2, 16, 16, 2], Activation::Tanh)).unwrap();
    Fixture { name: "banana", arrays, network: Arc::new(network), data, likelihood: Likelihood::Categorical }
}

pub fn snelson() -> Fixture {
    let arrays = read_npz(&root().join("testdata/snelson15.npz"));
    let data = Dataset::regression(arrays["x"].1.clone(), 1, arrays["y"].1.clone(), 1).unwrap();
    let network = Network::new(&NetworkSpec::mlp(&[1, 15, 1], Activation::Tanh)).unwrap();
    let likelihood = Likelihood::Gaussian { sigma_noise: arrays["sigma2"].1[0].sqrt() };
    Fixture { name: "snelson15", arrays, network: Arc::new(network), data, likelihood }
}

pub fn both() -> [Fixture; 2] {
    [banana(), snelson()]
}

impl Fixture {
    pub fn array(&self, name: &str) -> &[f64] {
        &self.arrays.get(name).unwrap_or_else(|| panic!("{}: no array {name}", self.name)).1
    }

    pub fn scalar(&self, name: &str) -> f64 {
        self.array(name)[0]
    }

    /// Row `i` of an array whose last dimension is `len`.
    pub fn row(&self, name: &str, i: usize, len: usize) -> &[f64] {
        &self.array(name)[i * len..(i + 1) * len]
    }

    pub fn prior(&self, precision: f64) -> Prior {
        Prior::isotropic(precision, self.network.dim()).unwrap()
    }

    pub fn loss(&self, precision: f64) -> NetworkLoss {
        NetworkLoss::new(self.network.clone(), self.data.clone(), self.likelihood, self.prior(precision))
            .unwrap()
    }

    pub fn linearized(&self, precision: f64) -> LinearizedLoss {
        LinearizedLoss::new(self.loss(precision), self.array("theta")).unwrap()
    }
}

fn read_npz(path: &Path) -> HashMap<String, (Vec<usize>, Vec<f64>)> {
    let arrays = riemla_files::table::read_npz(path, riemla_files::ReadOptions::default());
    let arrays = arrays.unwrap_or_else(|error| panic!("{error}"));
    arrays.into_iter().map(|(name, array)| (name, (array.dims, array.values))).collect()
}

/// ‖a − b‖ / ‖b‖.
pub fn relative_error(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = b.iter().map(|v| v * v).sum::<f64>().sqrt();
    riemla::linalg::vector::distance(a, b) / norm
}

pub fn assert_close(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    let error = relative_error(a, b);
    assert!(error <= tolerance, "{what}: relative error {error:.3e} above {tolerance:.0e}");
}
