//! Drawing from a posterior: one draw by (seed, index), or many in parallel.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::{
    Calibration, Draw, GeodesicSummary, Method, PosteriorConfig, SampleSet, SearchStatus, Strength,
    Unfinished,
};
use crate::curvature::Laplace;
use crate::data::{Dataset, draw_batch};
use crate::geometry::{Counters, Geodesic, Integrator, Status, exponential_map};
use crate::linalg::vector::axpy;
use crate::objective::{LinearizedLoss, NetworkLoss, Restricted, TwiceDifferentiable};
use crate::random::{Purpose, stream};
use crate::{Error, Result};

/// A posterior that draws can be taken from.
pub struct Posterior {
    config: PosteriorConfig,
    laplace: Arc<Laplace>,
    data: Arc<Dataset>,
    loss: NetworkLoss,
    /// The full-data objective of the geodesics; none if each draw has its own batch, or no
    /// geodesics are needed.
    objective: Option<GeodesicLoss>,
    validation: Option<Validation>,
    /// Strengths found so far, by seed.
    calibrations: Mutex<HashMap<u64, Arc<Calibration>>>,
}

/// The objective that the metric is made of.
pub(super) type GeodesicLoss = Box<dyn TwiceDifferentiable + Send>;

/// A score of draws on held-out data, lower is better: see [`crate::predict::held_out_nll`].
pub type Validation = Box<dyn Fn(&[&[f64]]) -> f64 + Send + Sync>;

/// Progress and interruption of a parallel run.
#[derive(Default, Clone, Copy)]
pub struct Control<'a> {
    /// Called after every draw, from any thread, in any order.
    pub progress: Option<&'a (dyn Fn(&Draw) + Sync)>,
    /// Once set, no new draw is begun; what was drawn is kept.
    pub stop: Option<&'a AtomicBool>,
}

/// Redrawn tangents take their numbers from streams that no other draw uses.
const ATTEMPT_STRIDE: u64 = 1 << 40;

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
            config.strength.validate()?;
            config.integrator.validate()?;
        }
        let calibrations = Mutex::default();
        let mut posterior =
            Self { config, laplace, data, loss, objective: None, validation: None, calibrations };
        if posterior.config.method.is_riemannian() && posterior.config.batch.is_none() {
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

    /// The full-data loss under the prior and noise in force.
    pub fn loss(&self) -> &NetworkLoss {
        &self.loss
    }

    pub(super) fn validation(&self) -> Option<&Validation> {
        self.validation.as_ref()
    }

    /// The geodesics' loss on all data, if it is kept.
    pub(super) fn objective(&self) -> Option<&(dyn TwiceDifferentiable + Send)> {
        self.objective.as_deref()
    }

    /// The loss on all data: exact, or linearised for the methods that are.
    pub(super) fn full_objective(&self) -> Result<GeodesicLoss> {
        self.objective_of(self.loss.with(self.loss.likelihood(), self.loss.prior().clone())?)
    }

    /// Mean of (θ − θ*)·∇L(θ)/K over draws, with the full-data loss of this method (linearised for
    /// `lin-la` and `lin-riem-la`) and K the number of uncertain weights: 1 for exact draws.
    pub fn virial_ratio(&self, thetas: &[&[f64]]) -> Result<f64> {
        let built;
        let objective = match self.objective() {
            Some(objective) => objective,
            None => {
                built = self.full_objective()?;
                &*built
            }
        };
        let theta = &self.laplace.theta;
        let share = theta.len() as f64 / self.laplace.subset().len() as f64;
        Ok(share * super::virial_ratio(objective, theta, thetas))
    }

    /// The strength under `seed` and how it was found; `None` for a fixed strength.
    ///
    /// The search runs once per seed and is remembered. Nothing but the seed matters to it.
    pub fn calibration(&self, seed: u64) -> Result<Option<Arc<Calibration>>> {
        self.calibration_until(seed, None)
    }

    fn calibration_until(&self, seed: u64, stop: Option<&AtomicBool>) -> Result<Option<Arc<Calibration>>> {
        if !self.config.method.is_riemannian() || self.config.strength.fixed().is_some() {
            return Ok(None);
        }
        let known = || self.calibrations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&seed) {
            return Ok(Some(found.clone()));
        }
        // Not under the lock: two threads may do the same work, but none waits inside a pool.
        let found = Arc::new(super::calibrate::calibrate(self, seed, stop)?);
        if found.status != SearchStatus::Stopped {
            known().insert(seed, found.clone());
        }
        Ok(Some(found))
    }

    fn objective_of(&self, loss: NetworkLoss) -> Result<GeodesicLoss> {
        Ok(if self.config.method.is_linearized() {
            Box::new(LinearizedLoss::new(loss, &self.laplace.theta)?)
        } else {
            Box::new(loss)
        })
    }

    /// The loss on the batch of one draw.
    pub(super) fn batch_objective(&self, seed: u64, index: u64) -> Result<Option<GeodesicLoss>> {
        let Some(batch) = self.config.batch else { return Ok(None) };
        let mut rng = stream(seed, Purpose::Batch, index);
        let rows = draw_batch(&self.data, batch.size, batch.stratified, &mut rng)?;
        let (network, prior) = (self.loss.network().clone(), self.loss.prior().clone());
        let loss = NetworkLoss::on_batch(network, &self.data, &rows, self.loss.likelihood(), prior)?;
        Ok(Some(self.objective_of(loss)?))
    }

    /// Draw number `index` under `seed`: the same bits wherever and whenever it is taken.
    pub fn draw(&self, seed: u64, index: u64) -> Result<Draw> {
        match self.config.method {
            Method::Map => Ok(Draw { index, theta: self.laplace.theta.clone(), geodesic: None }),
            Method::La | Method::LinLa => {
                let mut theta = self.laplace.theta.clone();
                axpy(1.0, &self.tangent(seed, index, 0), &mut theta);
                Ok(Draw { index, theta, geodesic: None })
            }
            Method::RiemLa | Method::LinRiemLa => {
                let Some(calibration) = self.calibration(seed)? else {
                    return self.draw_geodesic(seed, index, self.config.strength.fixed().unwrap_or(1.0));
                };
                let pilot = calibration.draws.iter().find(|pilot| pilot.index == index);
                pilot.map_or_else(|| self.draw_geodesic(seed, index, calibration.strength), |d| Ok(d.clone()))
            }
        }
    }

    /// The tangent vector of a draw; all methods share it.
    pub(super) fn tangent(&self, seed: u64, index: u64, attempt: u64) -> Vec<f64> {
        let mut rng = stream(seed, Purpose::Draw, index + attempt * ATTEMPT_STRIDE);
        self.laplace.draw_tangent(&mut rng)
    }

    /// A draw at a given strength.
    pub(super) fn draw_geodesic(&self, seed: u64, index: u64, strength: f64) -> Result<Draw> {
        let batch = self.batch_objective(seed, index)?;
        let Some(objective) = batch.as_deref().or(self.objective.as_deref()) else {
            return Err(Error::Unsupported("this posterior has no geodesics".into()));
        };
        let mut spent = Counters::default();
        let redraws = if let Unfinished::Redraw(n) = self.config.unfinished { n } else { 0 };
        for attempt in 0..=redraws {
            let geodesic = {
                let v = self.tangent(seed, index, attempt as u64);
                self.geodesic(objective, (strength, &self.config.integrator), &v, 0)?
            };
            let accepted = geodesic.status == Status::Reached || self.config.unfinished == Unfinished::Keep;
            if accepted {
                let summary = GeodesicSummary::new(&geodesic, spent, attempt + 1);
                return Ok(Draw { index, theta: geodesic.end, geodesic: Some(summary) });
            }
            spent += geodesic.counters;
            if attempt == redraws {
                return Err(Error::Unfinished {
                    draw: index,
                    t: geodesic.t,
                    status: geodesic.status.to_string(),
                    attempts: attempt + 1,
                    remedy: "raise max_steps, loosen the tolerance, lower the strength, or keep unfinished geodesics".into(),
                });
            }
        }
        Err(Error::Unsupported("no attempt was made".into()))
    }

    /// The geodesic of `objective` from θ* with velocity `v`, on the uncertain weights only.
    pub(super) fn geodesic(
        &self,
        objective: &(dyn TwiceDifferentiable + Send),
        (strength, integrator): (f64, &Integrator),
        v: &[f64],
        path_points: usize,
    ) -> Result<Geodesic> {
        let theta = &self.laplace.theta;
        let subset = self.laplace.subset();
        if subset.len() == theta.len() {
            return exponential_map(objective, strength, integrator, theta, v, path_points);
        }
        let restricted = Restricted::new(objective, theta, subset.indices().collect());
        let (start, v) = (subset.gather(theta), subset.gather(v));
        let mut geodesic = exponential_map(&restricted, strength, integrator, &start, &v, path_points)?;
        geodesic.end = restricted.embed(&geodesic.end);
        geodesic.velocity = subset.scatter(&geodesic.velocity, theta.len());
        for point in &mut geodesic.path {
            point.theta = restricted.embed(&point.theta);
        }
        Ok(geodesic)
    }

    /// The geodesic of a draw with `points` evenly spaced points along it, for plots.
    pub fn trace_geodesic(&self, seed: u64, index: u64, points: usize) -> Result<Geodesic> {
        let batch = self.batch_objective(seed, index)?;
        match batch.as_deref().or(self.objective.as_deref()) {
            Some(objective) => {
                let found = self.calibration(seed)?.map(|calibration| calibration.strength);
                let strength = found.or(self.config.strength.fixed()).unwrap_or(1.0);
                let v = self.tangent(seed, index, 0);
                self.geodesic(objective, (strength, &self.config.integrator), &v, points)
            }
            None => Err(Error::Unsupported(format!("{} draws follow no geodesics", self.config.method))),
        }
    }

    /// Draws 0 to `count` − 1 in parallel over all cores.
    pub fn sample(&self, seed: u64, count: u64, control: Control<'_>) -> SampleSet {
        let indices: Vec<u64> = (0..count).collect();
        self.sample_indices(seed, &indices, control)
    }

    /// The draws with the given indices, in parallel: what is missing of an interrupted run.
    pub fn sample_indices(&self, seed: u64, indices: &[u64], control: Control<'_>) -> SampleSet {
        let stopped = || control.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let mut set = SampleSet {
            method: self.config.method,
            seed,
            draws: Vec::new(),
            failed: Vec::new(),
            stopped: false,
            calibration: None,
        };
        match self.calibration_until(seed, control.stop) {
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
                let draw = self.draw(seed, index);
                if let (Ok(draw), Some(progress)) = (&draw, control.progress) {
                    progress(draw);
                }
                (index, Some(draw))
            })
            .collect();
        for (index, result) in results {
            match result {
                Some(Ok(draw)) => set.draws.push(draw),
                Some(Err(error)) => set.failed.push((index, error)),
                None => set.stopped = true,
            }
        }
        set
    }
}
