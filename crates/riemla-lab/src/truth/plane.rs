//! Posteriors of densities in the plane.

use std::sync::Arc;

use riemla::curvature::{DiagonalPrecision, Gaussian};
use riemla::objective::Objective;
use riemla::posterior::{Method, Posterior, PosteriorConfig};
use riemla::random::{Purpose, stream};

use super::contender::Contender;
use super::density::Density;
use super::target::{Drawn, Target, Wanted};
use crate::experiments::{MethodName, Result, Rule, Setting};

/// A density with the Gaussian at its mode.
pub struct Plane {
    density: Density,
    gaussian: Arc<Gaussian>,
}

impl Plane {
    /// The target of a density.
    pub fn new(density: Density) -> Result<Self> {
        let precision = DiagonalPrecision::new(&density.precision(), &[0.0; 2])?;
        let gaussian = Gaussian::new(density.mode().to_vec(), Arc::new(precision))?;
        Ok(Self { density, gaussian: Arc::new(gaussian) })
    }

    fn sample(&self, config: PosteriorConfig, wanted: &Wanted<'_>) -> Result<Option<Drawn>> {
        let posterior = Posterior::new(Arc::new(self.density), self.gaussian.clone(), config)?;
        Drawn::of_posterior(&posterior, wanted).map(Some)
    }
}

impl Target for Plane {
    fn objective(&self, _linearized: bool) -> Result<Box<dyn Objective + '_>> {
        Ok(Box::new(self.density))
    }

    fn center(&self) -> &[f64] {
        self.gaussian.theta()
    }

    fn start(&self, seed: u64, index: u64) -> Vec<f64> {
        self.gaussian.draw(&mut stream(seed, Purpose::Start, index))
    }

    /// Densities have no outputs, rows or Fisher metric: what needs one of these is left out.
    fn draws(&self, wanted: &Wanted<'_>) -> Result<Option<Drawn>> {
        match wanted.contender {
            Contender::Straight(MethodName::La) => self.sample(PosteriorConfig::new(Method::La), wanted),
            Contender::Geodesics(MethodName::RiemLa, setting) => match setting {
                Setting::Loss(rule) | Setting::Preconditioned(rule) if rule != Rule::HeldOut => {
                    self.sample(setting.config(Method::RiemLa), wanted)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn functions(&self, _thetas: &[&[f64]], _linearized: bool) -> Result<Option<Vec<Vec<f64>>>> {
        Ok(None)
    }

    fn score(&self, _thetas: &[&[f64]], _linearized: bool) -> Result<Option<f64>> {
        Ok(None)
    }

    fn exact(&self, seed: u64, count: u64) -> Option<Vec<Vec<f64>>> {
        Some(self.density.exact(seed, count))
    }
}
