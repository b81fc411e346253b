//! The geodesics of a posterior's draws: which loss, which metric, which weights.

use std::sync::atomic::AtomicBool;

use super::{Draw, GeodesicSummary, MetricChoice, Posterior, Unfinished, Validation};
use crate::data::draw_batch;
use crate::geometry::{
    Counters, FisherMetric, Geodesic, Integrator, Status, corrected_exponential_map_until,
    exponential_map_until, geodesic_of_metric_until,
};
use crate::objective::{LinearizedLoss, NetworkLoss, Restricted, TwiceDifferentiable};
use crate::random::{Purpose, attempt_stream, stream};
use crate::{Error, Result};

/// The objective that the metric is made of.
pub(super) type GeodesicLoss = Box<dyn TwiceDifferentiable + Send>;

/// From velocity and number of path points to the geodesic.
type ExponentialMap<'a> = Box<dyn Fn(&[f64], usize) -> Result<Geodesic> + 'a>;

impl Posterior {
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

    /// [`Self::virial_ratio`] with its Monte Carlo standard error; infinite for one draw.
    pub fn virial_ratio_with_error(&self, thetas: &[&[f64]]) -> Result<(f64, f64)> {
        let each: Vec<f64> = thetas.iter().map(|theta| self.virial_ratio(&[theta])).collect::<Result<_>>()?;
        let n = each.len() as f64;
        let mean = each.iter().sum::<f64>() / n;
        let squares: f64 = each.iter().map(|v| (v - mean).powi(2)).sum();
        Ok((mean, if n > 1.0 { (squares / ((n - 1.0) * n)).sqrt() } else { f64::INFINITY }))
    }

    fn objective_of(&self, loss: NetworkLoss) -> Result<GeodesicLoss> {
        Ok(if self.config.method.is_linearized() {
            Box::new(LinearizedLoss::new(loss, &self.laplace.theta)?)
        } else {
            Box::new(loss)
        })
    }

    /// The loss on the batch of one draw.
    fn batch_loss(&self, seed: u64, index: u64) -> Result<Option<NetworkLoss>> {
        let Some(batch) = self.config.batch else { return Ok(None) };
        let mut rng = stream(seed, Purpose::Batch, index);
        let rows = draw_batch(&self.data, batch.size, batch.stratified, &mut rng)?;
        let (network, prior) = (self.loss.network().clone(), self.loss.prior().clone());
        NetworkLoss::on_batch(network, &self.data, &rows, self.loss.likelihood(), prior).map(Some)
    }

    /// The objective of the geodesic of one draw, if it has its own batch.
    pub(super) fn batch_objective(&self, seed: u64, index: u64) -> Result<Option<GeodesicLoss>> {
        self.batch_loss(seed, index)?.map(|loss| self.objective_of(loss)).transpose()
    }

    /// The exponential map of one draw at θ*, as a function of velocity and number of path points.
    fn follow<'a>(
        &'a self,
        seed: u64,
        index: u64,
        strength: f64,
        stop: Option<&'a AtomicBool>,
    ) -> Result<ExponentialMap<'a>> {
        if self.config.metric == MetricChoice::Fisher {
            let batch = self.batch_loss(seed, index)?;
            return Ok(Box::new(move |v, points| {
                self.fisher_geodesic(batch.as_ref().unwrap_or(&self.loss), v, points, stop)
            }));
        }
        let batch = self.batch_objective(seed, index)?;
        Ok(Box::new(move |v, points| {
            let Some(objective) = batch.as_deref().or(self.objective.as_deref()) else {
                return Err(Error::Unsupported("this posterior has no geodesics".into()));
            };
            self.geodesic(objective, (strength, &self.config.integrator), v, points, stop)
        }))
    }

    /// The geodesic of the Fisher metric from θ* with velocity `v`.
    fn fisher_geodesic(
        &self,
        loss: &NetworkLoss,
        v: &[f64],
        path_points: usize,
        stop: Option<&AtomicBool>,
    ) -> Result<Geodesic> {
        let Integrator::DormandPrince(solver) = &self.config.integrator else {
            return Err(Error::Unsupported("the Fisher metric goes with dormand-prince".into()));
        };
        let (theta, subset) = (&self.laplace.theta, self.laplace.subset());
        let metric = FisherMetric::new(loss, theta, subset)?;
        let metric = if self.config.method.is_linearized() { metric.linearized() } else { metric };
        let (start, v) = (subset.gather(theta), subset.gather(v));
        let geodesic = geodesic_of_metric_until(&metric, solver, &start, &v, path_points, stop)?;
        Ok(self.embed(geodesic))
    }

    /// A geodesic of the uncertain weights among all.
    fn embed(&self, mut geodesic: Geodesic) -> Geodesic {
        let (theta, subset) = (&self.laplace.theta, self.laplace.subset());
        let embed = |s: &[f64]| {
            let mut full = theta.clone();
            subset.indices().zip(s).for_each(|(k, v)| full[k] = *v);
            full
        };
        geodesic.end = embed(&geodesic.end);
        geodesic.velocity = subset.scatter(&geodesic.velocity, theta.len());
        for point in &mut geodesic.path {
            point.theta = embed(&point.theta);
        }
        geodesic
    }

    /// The tangent vector of a draw; all methods share it.
    pub(super) fn tangent(&self, seed: u64, index: u64, attempt: u64) -> Vec<f64> {
        let mut rng = attempt_stream(seed, Purpose::Draw, index, attempt);
        self.laplace.draw_tangent(&mut rng)
    }

    /// A draw at a given strength; an error if it was stopped on its way, whatever the policy.
    pub(super) fn draw_geodesic(
        &self,
        seed: u64,
        index: u64,
        strength: f64,
        stop: Option<&AtomicBool>,
    ) -> Result<Draw> {
        let follow = self.follow(seed, index, strength, stop)?;
        let mut spent = Counters::default();
        let redraws = if let Unfinished::Redraw(n) = self.config.unfinished { n } else { 0 };
        for attempt in 0..=redraws {
            let geodesic = follow(&self.tangent(seed, index, attempt as u64), 0)?;
            if geodesic.status == Status::Stopped {
                return Err(Error::Stopped { what: format!("draw {index} was finished") });
            }
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
        stop: Option<&AtomicBool>,
    ) -> Result<Geodesic> {
        let follow = |objective: &dyn TwiceDifferentiable, theta: &[f64], v: &[f64]| match self.config.metric
        {
            MetricChoice::Preconditioned => {
                let metric = (strength, self.laplace.precision());
                corrected_exponential_map_until(objective, metric, integrator, theta, v, path_points, stop)
            }
            _ => exponential_map_until(objective, strength, integrator, theta, v, path_points, stop),
        };
        let theta = &self.laplace.theta;
        let subset = self.laplace.subset();
        if subset.len() == theta.len() {
            return follow(objective, theta, v);
        }
        let restricted = Restricted::new(objective, theta, subset.indices().collect());
        let geodesic = follow(&restricted, &subset.gather(theta), &subset.gather(v))?;
        Ok(self.embed(geodesic))
    }

    /// The geodesic of a draw's first tangent with `points` evenly spaced points along it, for plots.
    /// (A draw whose first geodesic did not finish may have been redrawn; its end is then another.)
    pub fn trace_geodesic(&self, seed: u64, index: u64, points: usize) -> Result<Geodesic> {
        if !self.config.method.is_riemannian() {
            return Err(Error::Unsupported(format!("{} draws follow no geodesics", self.config.method)));
        }
        let found = self.calibration(seed)?.map(|calibration| calibration.strength);
        let strength = found.or(self.config.strength.fixed()).unwrap_or(1.0);
        self.follow(seed, index, strength, None)?(&self.tangent(seed, index, 0), points)
    }
}
