//! riemla turns a trained neural network into a Bayesian one.
//!
//! A Laplace approximation at the trained weights gives a Gaussian of tangent vectors; each is
//! carried along a geodesic of a Riemannian metric built from the loss, so that the drawn weights
//! stay where the loss is low and predictions carry honest uncertainty ("Riemannian Laplace
//! approximations for Bayesian neural networks", NeurIPS 2023).
//!
//! ```
//! use std::sync::Arc;
//! use riemla::curvature::{Laplace, LaplaceConfig};
//! use riemla::data::toy::two_moons;
//! use riemla::nn::{Activation, Network, NetworkSpec};
//! use riemla::objective::{Likelihood, NetworkLoss, Prior};
//! use riemla::posterior::{Method, Posterior, PosteriorConfig};
//! use riemla::train::{Lbfgs, lbfgs};
//! use riemla::Control;
//!
//! let data = two_moons(60, 0.2, 1)?;
//! let network = Arc::new(Network::new(&NetworkSpec::mlp(&[2, 8, 2], Activation::Tanh))?);
//! let prior = Prior::isotropic(1.0, network.dim())?;
//! let loss = NetworkLoss::new(network.clone(), data, Likelihood::Categorical, prior)?;
//!
//! let mut theta = network.initialize(1);
//! lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default())?;
//! let laplace = Laplace::fit(&loss, &theta, &LaplaceConfig::default(), Control::default())?;
//!
//! let posterior = Posterior::of_network(&loss, &laplace, PosteriorConfig::new(Method::RiemLa))?;
//! let samples = posterior.sample(7, 10, Control::default())?;
//! let prediction = posterior.predict(&samples.thetas(), &[0.0, 0.5])?;
//! let classes = prediction.classes().expect("a classification");
//! assert!((classes.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
//! # Ok::<(), riemla::Error>(())
//! ```
//!
//! A model need not be a network: see [`posterior::Model`].

pub mod compare;
mod control;
pub mod curvature;
pub mod data;
pub mod error;
pub mod geometry;
pub mod linalg;
pub mod nn;
pub mod objective;
pub mod ode;
pub mod posterior;
pub mod predict;
pub mod random;
pub mod reference;
pub mod score;
mod strict;
pub mod testing;
pub mod train;

pub use control::Control;
pub use error::{Error, Result};
