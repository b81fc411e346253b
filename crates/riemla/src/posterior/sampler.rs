//! Drawing from a posterior: one draw by (seed, index), or many in parallel.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::geodesics::GeodesicLoss;
use super::{
    Calibration, Draw, Method, MetricChoice, PosteriorConfig, SampleSet, SearchControl, SearchStatus,
    Strength,
};
use crate::curvature::Laplace;
use crate::data::{Dataset, draw_batch};
use crate::error::stop_requested;
use crate::objective::NetworkLoss;
use crate::random::{Purpose, stream};
use crate::{Error, Result};

/// A posterior that draws can be taken from.
pub struct Posterior {
    pub(super) config: PosteriorConfig,
    pub(super) laplace: Arc<Laplace>,
    pub(super) data: Arc<Dataset>,
    pub(super) loss: NetworkLoss,
    /// The full-data loss that the metric is made of; none if each draw has its own batch, the
    /// metric is another, or no geodesics are needed.
    pub(super) objective: Option<GeodesicLoss>,
    pub(super) validation: Option<Validation>,
    /// Strengths found so far, by seed.
    calibrations: Mutex<HashMap<u64, Arc<Calibration>>>,
}

/// A score of draws on held-out data, lower is better: see [`crate::predict::held_out_nll`].
pub type Validation = Box<dyn Fn(&[&[f64]]) -> f64 + Send + Sync>;

/// Progress and interruption of a parallel run.
#[derive(Default, Clone, Copy)]
pub struct Control<'a> {
    /// Called after every draw, from any thread, in any order.
    pub progress: Option<&'a (dyn Fn(&Draw) + Sync)>,
    /// Once set, no new draw is begun and running geodesics end at their next step; what was drawn
    /// is kept, a geodesic cut short is not.
    pub stop: Option<&'a AtomicBool>,
}

impl Posterior {
    /// A posterior around `laplace`, fitted to `trained` on `data`.
    pub fn new(
        trained: &NetworkLoss,
        data: Arc<Dataset>,
        laplace: Arc<Laplace>,
        config: PosteriorConfig,
    ) -> Result<Self> {
        let loss = laplace.loss(trained)?;
        if let Some(batch) = config.batch {
            if !config.method.is_riemannian() {
                let message = format!("batches go with riem-la and lin-riem-la, not with {}", config.method);
                return Err(Error::Unsupported(message));
            }
            // Reports data that do not fit, or a bad batch, now rather than at the first draw.
            let (network, prior) = (loss.network().clone(), loss.prior().clone());
            NetworkLoss::on_batch(network, &data, &[0], loss.likelihood(), prior)?;
            draw_batch(&data, batch.size, batch.stratified, &mut stream(0, Purpose::Batch, 0))?;
        }
        if config.method.is_riemannian() {
            config.validate_geodesics()?;
        }
        let calibrations = Mutex::default();
        let mut posterior =
            Self { config, laplace, data, loss, objective: None, validation: None, calibrations };
        let of_loss = posterior.config.metric != MetricChoice::Fisher;
        if posterior.config.method.is_riemannian() && posterior.config.batch.is_none() && of_loss {
            posterior.objective = Some(posterior.full_objective()?);
        }
        Ok(posterior)
    }

    /// With the held-out score that [`Strength::HeldOut`] makes small.
    pub fn with_validation(mut self, score: Validation) -> Self {
        self.validation = Some(score);
        self.calibrations = Mutex::default();
        self
    }

    /// The same posterior at a given strength.
    pub fn with_strength(mut self, strength: f64) -> Result<Self> {
        self.config.strength = Strength::Fixed(strength);
        self.config.strength.validate()?;
        self.calibrations = Mutex::default();
        Ok(self)
    }

    /// The choices it was made with.
    pub fn config(&self) -> &PosteriorConfig {
        &self.config
    }

    /// The Laplace approximation it is built on.
    pub fn laplace(&self) -> &Laplace {
        &self.laplace
    }

    /// What a user should know before trusting draws: one warning if the metric is not smooth.
    pub fn warning(&self) -> Option<String> {
        let riemannian = self.config.method.is_riemannian();
        self.loss.network().smoothness_warning().filter(|_| riemannian)
    }

    /// The full-data loss under the prior and noise in force.
    pub fn loss(&self) -> &NetworkLoss {
        &self.loss
    }

    /// The strength under `seed` and how it was found; `None` for a fixed strength.
    ///
    /// The search runs once per seed and is remembered. Nothing but the seed matters to it.
    pub fn calibration(&self, seed: u64) -> Result<Option<Arc<Calibration>>> {
        self.calibration_with(seed, SearchControl::default())
    }

    /// As [`Posterior::calibration`], given up with the status `Stopped` once `control.stop` is set, and
    /// going on after the trials that are known.
    pub fn calibration_with(
        &self,
        seed: u64,
        control: SearchControl<'_>,
    ) -> Result<Option<Arc<Calibration>>> {
        let rule = self.config.strength.fixed().is_none() && self.config.metric != MetricChoice::Fisher;
        if !(self.config.method.is_riemannian() && rule) {
            return Ok(None);
        }
        let known = || self.calibrations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&seed) {
            return Ok(Some(found.clone()));
        }
        // Not under the lock: two threads may do the same work, but none waits inside a pool.
        let found = Arc::new(super::calibrate::calibrate(self, seed, control)?);
        if found.status != SearchStatus::Stopped {
            known().insert(seed, found.clone());
        }
        Ok(Some(found))
    }

    /// Draw number `index` under `seed`: the same bits wherever and whenever it is taken.
    pub fn draw(&self, seed: u64, index: u64) -> Result<Draw> {
        self.draw_until(seed, index, None)
    }

    /// As [`Posterior::draw`], given up with [`Error::Stopped`] once `stop` is set.
    pub fn draw_until(&self, seed: u64, index: u64, stop: Option<&AtomicBool>) -> Result<Draw> {
        match self.config.method {
            Method::Map => Ok(Draw { index, theta: self.laplace.theta.clone(), geodesic: None }),
            Method::La | Method::LinLa => {
                let theta = self.laplace.draw(&mut stream(seed, Purpose::Draw, index));
                Ok(Draw { index, theta, geodesic: None })
            }
            Method::RiemLa | Method::LinRiemLa => {
                let control = SearchControl { stop, ..SearchControl::default() };
                let Some(calibration) = self.calibration_with(seed, control)? else {
                    let strength = self.config.strength.fixed().unwrap_or(1.0);
                    return self.draw_geodesic(seed, index, strength, stop);
                };
                if calibration.status == SearchStatus::Stopped {
                    return Err(Error::Stopped { what: "the strength was found".into() });
                }
                self.draw_geodesic(seed, index, calibration.strength, stop)
            }
        }
    }

    /// Draws 0 to `count` − 1 in parallel over all cores.
    pub fn sample(&self, seed: u64, count: u64, control: Control<'_>) -> SampleSet {
        let indices: Vec<u64> = (0..count).collect();
        self.sample_indices(seed, &indices, control)
    }

    /// The draws with the given indices, in parallel: what is missing of an interrupted run.
    pub fn sample_indices(&self, seed: u64, indices: &[u64], control: Control<'_>) -> SampleSet {
        let stopped = || stop_requested(control.stop);
        let mut set = SampleSet {
            method: self.config.method,
            seed,
            draws: Vec::new(),
            failed: Vec::new(),
            stopped: false,
            calibration: None,
        };
        match self.calibration_with(seed, SearchControl { stop: control.stop, ..SearchControl::default() }) {
            Ok(found) => set.calibration = found,
            Err(error) => {
                set.failed = indices.iter().map(|&index| (index, error.clone())).collect();
                return set;
            }
        }
        let results: Vec<(u64, Option<Result<Draw>>)> = indices
            .par_iter()
            // One draw per task: their costs differ too much for larger pieces.
            .with_max_len(1)
            .map(|&index| {
                if stopped() {
                    return (index, None);
                }
                let draw = self.draw_until(seed, index, control.stop);
                if let (Ok(draw), Some(progress)) = (&draw, control.progress) {
                    progress(draw);
                }
                (index, Some(draw))
            })
            .collect();
        for (index, result) in results {
            match result {
                Some(Ok(draw)) => set.draws.push(draw),
                Some(Err(Error::Stopped { .. })) => set.stopped = true,
                Some(Err(error)) => set.failed.push((index, error)),
                None => set.stopped = true,
            }
        }
        set
    }
}
