//! Drawing from a posterior: one draw by (seed, index), or many in parallel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{Draw, GeodesicSummary, Method, PosteriorConfig, SampleSet, Unfinished};
use crate::curvature::Laplace;
use crate::data::{Dataset, draw_batch};
use crate::geometry::{Counters, Geodesic, Status, check_strength, exponential_map};
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
    objective: Option<Box<dyn TwiceDifferentiable + Send>>,
}

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
            check_strength(config.strength)?;
            config.integrator.validate()?;
        }
        let mut posterior = Self { config, laplace, data, loss, objective: None };
        if posterior.config.method.is_riemannian() && posterior.config.batch.is_none() {
            let all = posterior.loss.with(posterior.loss.likelihood(), posterior.loss.prior().clone())?;
            posterior.objective = Some(posterior.objective_of(all)?);
        }
        Ok(posterior)
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

    fn objective_of(&self, loss: NetworkLoss) -> Result<Box<dyn TwiceDifferentiable + Send>> {
        Ok(if self.config.method == Method::LinRiemLa {
            Box::new(LinearizedLoss::new(loss, &self.laplace.theta)?)
        } else {
            Box::new(loss)
        })
    }

    /// The loss on the batch of one draw.
    fn batch_objective(&self, seed: u64, index: u64) -> Result<Option<Box<dyn TwiceDifferentiable + Send>>> {
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
            Method::RiemLa | Method::LinRiemLa => self.draw_geodesic(seed, index),
        }
    }

    /// The tangent vector of a draw; all methods share it.
    fn tangent(&self, seed: u64, index: u64, attempt: u64) -> Vec<f64> {
        let mut rng = stream(seed, Purpose::Draw, index + attempt * ATTEMPT_STRIDE);
        self.laplace.draw_tangent(&mut rng)
    }

    fn draw_geodesic(&self, seed: u64, index: u64) -> Result<Draw> {
        let batch = self.batch_objective(seed, index)?;
        let Some(objective) = batch.as_deref().or(self.objective.as_deref()) else {
            return Err(Error::Unsupported("this posterior has no geodesics".into()));
        };
        let mut spent = Counters::default();
        let redraws = if let Unfinished::Redraw(n) = self.config.unfinished { n } else { 0 };
        for attempt in 0..=redraws {
            let geodesic = self.geodesic(objective, &self.tangent(seed, index, attempt as u64), 0)?;
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
    fn geodesic(
        &self,
        objective: &(dyn TwiceDifferentiable + Send),
        v: &[f64],
        path_points: usize,
    ) -> Result<Geodesic> {
        let PosteriorConfig { strength, integrator, .. } = &self.config;
        let theta = &self.laplace.theta;
        let subset = self.laplace.subset();
        if subset.len() == theta.len() {
            return exponential_map(objective, *strength, integrator, theta, v, path_points);
        }
        let restricted = Restricted::new(objective, theta, subset.indices().collect());
        let (start, v) = (subset.gather(theta), subset.gather(v));
        let mut geodesic = exponential_map(&restricted, *strength, integrator, &start, &v, path_points)?;
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
            Some(objective) => self.geodesic(objective, &self.tangent(seed, index, 0), points),
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
        let mut set = SampleSet {
            method: self.config.method,
            seed,
            draws: Vec::new(),
            failed: Vec::new(),
            stopped: false,
        };
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
