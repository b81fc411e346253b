//! Posteriors of densities in the plane.

use std::sync::Arc;

use riemla::curvature::{DiagonalPrecision, Gaussian};
use riemla::objective::Objective;
use riemla::posterior::{MetricChoice, Posterior};
use riemla::random::{Purpose, stream};
use riemla_files::Origin;

use super::super::bench::Source;
use super::super::cell::{self, Drawn, Wanted};
use super::super::record::{CellKey, MadeFrom};
use super::super::{MethodName, Result};
use super::density::Density;
use super::target::Target;
use riemla_workflow::setting::Entry;

/// A density with the Gaussian at its mode.
pub struct Plane {
    density: Density,
    gaussian: Arc<Gaussian>,
    made_from: MadeFrom,
}

impl Plane {
    /// The target of a density.
    pub fn new(density: Density) -> Result<Self> {
        let precision = DiagonalPrecision::new(&density.precision(), &[0.0; 2])?;
        let gaussian = Arc::new(Gaussian::new(density.mode().to_vec(), Arc::new(precision))?);
        let draws = Origin::of_model(&density, &gaussian);
        let made_from = MadeFrom { draws, test: None, out_of_distribution: Vec::new() };
        Ok(Self { density, gaussian, made_from })
    }

    /// Whether a method can draw here: the Fisher metric, held-out rows and linearisations belong to networks.
    pub fn takes(entry: Entry) -> bool {
        match (entry.method, entry.setting) {
            (MethodName::La | MethodName::Mclmc, _) => true,
            (MethodName::RiemLa, Some(setting)) => {
                !setting.is_preset()
                    && setting.metric() != MetricChoice::Fisher
                    && !setting.needs_validation()
            }
            _ => false,
        }
    }
}

impl Source for Plane {
    fn draws(&self, key: &CellKey, wanted: &Wanted<'_>) -> Result<Drawn> {
        let Some(method) = key.method.posterior() else {
            return Err(riemla::Error::Unsupported(format!("{} is not a posterior", key.method)).into());
        };
        let (model, config) = (Arc::new(self.density), key.setting.config(method));
        cell::draws(Posterior::new(model, self.gaussian.clone(), config)?, wanted)
    }

    fn made_from(&self) -> &MadeFrom {
        &self.made_from
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

    fn exact(&self, seed: u64, count: u64) -> Option<Vec<Vec<f64>>> {
        Some(self.density.exact(seed, count))
    }
}
