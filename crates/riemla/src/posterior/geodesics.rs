//! The geodesics of a posterior's draws: which loss, which metric, which weights.

use super::sampler::Reach;
use super::{Draw, GeodesicSummary, MetricChoice, Model, Posterior, Unfinished};
use crate::geometry::{
    Counters, Geodesic, Integrator, LossGeometry, Status, exponential_map, geodesic_of_metric,
};
use crate::objective::{Objective, check_failure};
use crate::random::{Purpose, attempt_stream};
use crate::{Control, Error, Result};

/// The loss that one draw follows: that of all data, or of its own batch; of the weights that draws move on.
pub(super) struct DrawLoss {
    batch: Option<Box<dyn Model>>,
    /// The batch's loss with linearised outputs, for the methods that are.
    linearized: Option<Box<dyn Objective>>,
}

impl DrawLoss {
    /// That of all data.
    pub fn on_all_rows() -> Self {
        Self { batch: None, linearized: None }
    }
}

impl Posterior {
    /// The loss of the posterior that is approximated, on all data: exact, or linearised for the
    /// methods that are.
    pub(super) fn objective(&self) -> Result<&dyn Objective> {
        self.whole.objective(self.config.method.is_linearized())
    }

    /// The same of the weights that draws move on ([`super::Moving`]).
    pub(super) fn moving_objective(&self) -> Result<&dyn Objective> {
        self.moving.objective(self.config.method.is_linearized())
    }

    /// The loss of draw `index`.
    pub(super) fn draw_loss(&self, seed: u64, index: u64) -> Result<DrawLoss> {
        let batch = self.batch(seed, index)?;
        let linearized = match &batch {
            Some(batch) if self.config.method.is_linearized() => {
                Some(batch.linearized(self.moving.gaussian().theta())?)
            }
            _ => None,
        };
        Ok(DrawLoss { batch, linearized })
    }

    /// The tangent vector of a draw; all methods share it.
    pub(super) fn tangent(&self, seed: u64, index: u64, attempt: u64) -> Vec<f64> {
        let mut rng = attempt_stream(seed, Purpose::Draw, index, attempt);
        self.gaussian.draw_tangent(&mut rng)
    }

    /// A draw of a given strength and length; an error if it was stopped on its way, whatever the policy.
    pub(super) fn draw_geodesic(
        &self,
        seed: u64,
        index: u64,
        Reach { strength, length }: Reach,
        control: Control<'_>,
    ) -> Result<Draw> {
        let loss = self.draw_loss(seed, index)?;
        let mut spent = Counters::default();
        let redraws = if let Unfinished::Redraw(n) = self.config.unfinished { n } else { 0 };
        let mut attempt = 0;
        loop {
            let v = self.tangent(seed, index, attempt as u64);
            let geodesic = self.follow(&loss, strength, &self.config.integrator, &v, 0, control)?;
            if geodesic.status == Status::Stopped {
                return Err(Error::Stopped { what: format!("draw {index} was finished") });
            }
            attempt += 1;
            let accepted = geodesic.status == Status::Reached || self.config.unfinished == Unfinished::Keep;
            if accepted {
                let summary = GeodesicSummary::new(&geodesic, spent, attempt);
                return Ok(Draw::new(index, self.shortened(geodesic.end, length), Some(summary)));
            }
            spent += geodesic.counters;
            if attempt > redraws {
                return Err(Error::Unfinished {
                    draw: index,
                    t: geodesic.t,
                    status: geodesic.status.to_string(),
                    attempts: attempt,
                    remedy: "raise max_steps, loosen the tolerance, lower the strength, or keep unfinished geodesics".into(),
                });
            }
        }
    }

    /// The geodesic from θ* with velocity `v`, of the uncertain weights only.
    pub(super) fn follow(
        &self,
        loss: &DrawLoss,
        strength: f64,
        integrator: &Integrator,
        v: &[f64],
        path_points: usize,
        control: Control<'_>,
    ) -> Result<Geodesic> {
        if self.config.metric == MetricChoice::Fisher {
            return self.fisher_geodesic(loss, integrator, v, path_points, control);
        }
        let objective: &dyn Objective = match (&loss.linearized, &loss.batch) {
            (Some(linearized), _) => &**linearized,
            (None, Some(batch)) => &**batch,
            (None, None) => self.moving_objective()?,
        };
        let preconditioned = self.config.metric == MetricChoice::Preconditioned;
        let preconditioner = preconditioned.then(|| self.gaussian.precision());
        let geometry = LossGeometry { strength, preconditioner };
        let (theta, subset) = (self.gaussian.theta(), self.gaussian.subset());
        let (start, v) = (subset.gather(theta), subset.gather(v));
        let restricted;
        let objective = match self.moving.all_uncertain() {
            true => objective,
            false => {
                restricted = self.moving.on_uncertain(objective);
                &restricted
            }
        };
        let geodesic = exponential_map(objective, geometry, integrator, &start, &v, path_points, control)?;
        Ok(self.embed(geodesic))
    }

    /// The geodesic of the Fisher metric.
    fn fisher_geodesic(
        &self,
        loss: &DrawLoss,
        integrator: &Integrator,
        v: &[f64],
        path_points: usize,
        control: Control<'_>,
    ) -> Result<Geodesic> {
        let Integrator::DormandPrince(solver) = integrator else {
            return Err(Error::Unsupported("the Fisher metric requires dormand-prince".into()));
        };
        let model = loss.batch.as_deref().unwrap_or(self.moving.model());
        let (theta, subset) = (self.gaussian.theta(), self.gaussian.subset());
        let metric = model.fisher_metric(self.moving.gaussian(), self.config.method.is_linearized())?;
        let (start, v) = (subset.gather(theta), subset.gather(v));
        let geodesic = geodesic_of_metric(&*metric, solver, &start, &v, path_points, control)?;
        check_failure(model)?;
        Ok(self.embed(geodesic))
    }

    /// A geodesic of the uncertain weights among all.
    fn embed(&self, mut geodesic: Geodesic) -> Geodesic {
        let Self { gaussian, .. } = self;
        geodesic.end = gaussian.embed(&geodesic.end);
        geodesic.velocity = gaussian.subset().scatter(&geodesic.velocity, gaussian.theta().len());
        for point in &mut geodesic.path {
            point.theta = gaussian.embed(&point.theta);
        }
        geodesic
    }

    /// The geodesic of a draw's first tangent with `points` evenly spaced points along it, for plots.
    /// (A draw whose first geodesic did not finish may have been redrawn; its end is then another. One on a batch may lie
    /// before the end, [`super::BatchLength`].)
    pub fn trace_geodesic(&self, seed: u64, index: u64, points: usize) -> Result<Geodesic> {
        if !self.config.method.is_riemannian() {
            return Err(Error::Unsupported(format!("{} does not use geodesics", self.config.method)));
        }
        let strength = self.reach(seed, Control::default())?.strength;
        let (loss, v) = (self.draw_loss(seed, index)?, self.tangent(seed, index, 0));
        self.follow(&loss, strength, &self.config.integrator, &v, points, Control::default())
    }
}
