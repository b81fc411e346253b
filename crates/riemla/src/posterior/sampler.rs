//! Drawing from a posterior: one draw by (seed, index), or many in parallel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use super::batch::Leverages;
use super::{
    BatchLength, Calibration, Draw, Method, MetricChoice, Model, Moving, PolishFound, PosteriorConfig,
    SampleSet, SearchStatus, Strength, Trial,
};
use crate::curvature::{DiagonalPrecision, Gaussian, Laplace};
use crate::nn::Arithmetic;
use crate::objective::NetworkLoss;
use crate::random::{Purpose, stream};
use crate::{Control, Error, Result};

/// A posterior that draws can be taken from.
pub struct Posterior {
    pub(super) config: PosteriorConfig,
    pub(super) gaussian: Arc<Gaussian>,
    pub(super) model: Arc<dyn Model>,
    /// All weights: what is asked of any weights, not of draws alone.
    pub(super) whole: Arc<Moving>,
    /// What draws move on; the same where nothing is to be gained.
    pub(super) moving: Arc<Moving>,
    /// The leverages of the model's rows, found when they are first needed.
    pub(super) leverages: OnceLock<Leverages>,
    /// The variances of the Gaussian, found when chains first ask for them as their mass.
    pub(super) variances: OnceLock<DiagonalPrecision>,
    pub(super) validation: Option<Validation>,
    /// Strengths found so far, by seed.
    calibrations: Mutex<HashMap<u64, Arc<Calibration>>>,
    /// Steps and lengths of chains found so far, by seed.
    pub(super) polishes: Mutex<HashMap<u64, Arc<PolishFound>>>,
}

/// How far the draws of a set go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reach {
    /// Strength of the metric.
    pub strength: f64,
    /// Factor of the way to the ends of their geodesics.
    pub length: f64,
}

/// A score of draws on held-out data, lower is better: see [`Posterior::with_held_out`].
pub type Validation = Box<dyn Fn(&[&[f64]]) -> Result<f64> + Send + Sync>;

impl Posterior {
    /// A posterior of `model` around `gaussian`.
    pub fn new(model: Arc<dyn Model>, gaussian: Arc<Gaussian>, config: PosteriorConfig) -> Result<Self> {
        crate::error::check_len("weights of the Gaussian", model.dim(), gaussian.theta().len())?;
        let model = match config.arithmetic {
            Arithmetic::Double => model,
            Arithmetic::Single => Arc::from(model.multiplying_in_single()?),
        };
        let whole = Arc::new(Moving::all(model.clone(), gaussian.clone()));
        let posterior = Self {
            config: config.settled(&*model, gaussian.subset()),
            moving: Moving::tail(&*model, &gaussian)?.map_or_else(|| whole.clone(), Arc::new),
            whole,
            gaussian,
            model,
            leverages: OnceLock::new(),
            variances: OnceLock::new(),
            validation: None,
            calibrations: Mutex::default(),
            polishes: Mutex::default(),
        };
        posterior.check()?;
        Ok(posterior)
    }

    /// The posterior of a network around the Laplace approximation fitted to it, with the prior and the
    /// noise that the fit chose.
    pub fn of_network(trained: &NetworkLoss, laplace: &Laplace, config: PosteriorConfig) -> Result<Self> {
        Self::new(Arc::new(laplace.loss(trained)?), laplace.gaussian.clone(), config)
    }

    /// Reports what the method needs and the model lacks now rather than at the first draw.
    fn check(&self) -> Result<()> {
        let Self { config, moving, model, .. } = self;
        config.validate_polish()?;
        config.validate_arithmetic()?;
        if !config.method.is_riemannian() {
            if config.batch.is_some() {
                let message =
                    format!("batches can be used with riem-la and lin-riem-la, not with {}", config.method);
                return Err(Error::Unsupported(message));
            }
            return self.moving_objective().map(drop);
        }
        config.validate_geodesics(&**model)?;
        if let Some(plan) = config.batch {
            self.check_batch(plan)?;
        }
        if config.metric == MetricChoice::Fisher {
            moving.model().fisher_metric(moving.gaussian(), config.method.is_linearized())?;
        } else if config.batch.is_none() {
            self.moving_objective()?;
        }
        Ok(())
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
        Ok(self.forgetting())
    }

    /// The same posterior with draws on batches of a given length.
    pub fn with_length(mut self, length: BatchLength) -> Result<Self> {
        length.validate()?;
        if let Some(plan) = &mut self.config.batch {
            plan.length = length;
        }
        Ok(self.forgetting())
    }

    /// Without what was found for other settings.
    fn forgetting(mut self) -> Self {
        self.calibrations = Mutex::default();
        self.polishes = Mutex::default();
        self
    }

    /// The choices it was made with; the metric is never [`MetricChoice::Auto`] but what that stands for here.
    pub fn config(&self) -> &PosteriorConfig {
        &self.config
    }

    /// The Gaussian it is built on.
    pub fn gaussian(&self) -> &Arc<Gaussian> {
        &self.gaussian
    }

    /// The model, its loss on all data.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// What a user should know before trusting draws: one warning if the metric is not smooth.
    pub fn warning(&self) -> Option<String> {
        self.model.smoothness_warning().filter(|_| self.config.method.is_riemannian())
    }

    /// The strength under `seed` and how it was found, and the length of draws on batches; `None` where there is
    /// nothing to find: for methods without geodesics, and where strength (the Fisher metric has none) and length are given.
    ///
    /// The search runs once per seed and is remembered. Nothing but the seed matters to it. After a stop
    /// its status is [`SearchStatus::Stopped`]. `known` are trials of the same search that were made
    /// before: they are not made again.
    pub fn calibration(
        &self,
        seed: u64,
        known: &[Trial],
        control: Control<'_, Trial>,
    ) -> Result<Option<Arc<Calibration>>> {
        if !self.needs_calibration()? {
            return Ok(None);
        }
        let found = || self.calibrations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = found().get(&seed) {
            return Ok(Some(found.clone()));
        }
        // Not under the lock: two threads may do the same work, but none waits inside a pool.
        let calibration = Arc::new(super::calibrate::calibrate(self, seed, known, control)?);
        if calibration.status != SearchStatus::Stopped {
            found().insert(seed, calibration.clone());
        }
        Ok(Some(calibration))
    }

    /// Whether the strength, or the length of draws on batches, has yet to be found.
    pub fn needs_calibration(&self) -> Result<bool> {
        let rule = self.config.strength.fixed().is_none() && self.config.metric != MetricChoice::Fisher;
        Ok(self.config.method.is_riemannian() && (rule || self.finds_length()?))
    }

    /// Strength and length used with `seed`.
    pub(super) fn reach(&self, seed: u64, control: Control<'_>) -> Result<Reach> {
        match self.calibration(seed, &[], control.quiet())? {
            None => {
                let length = self.config.batch.and_then(|plan| plan.length.factor()).unwrap_or(1.0);
                Ok(Reach { strength: self.config.strength.fixed().unwrap_or(1.0), length })
            }
            Some(found) if found.status == SearchStatus::Stopped => {
                Err(Error::Stopped { what: "the strength was found".into() })
            }
            Some(found) => Ok(Reach { strength: found.strength, length: found.length }),
        }
    }

    /// Draw number `index` under `seed`: the same bits wherever and whenever it is taken. After a stop
    /// the error is [`Error::Stopped`].
    pub fn draw(&self, seed: u64, index: u64, control: Control<'_>) -> Result<Draw> {
        let reach = self.reach(seed, control)?;
        let draw = self.draw_unpolished(seed, index, reach, control)?;
        self.polished(seed, draw, control)
    }

    /// The draw before its polish.
    pub(super) fn draw_unpolished(
        &self,
        seed: u64,
        index: u64,
        reach: Reach,
        control: Control<'_>,
    ) -> Result<Draw> {
        match self.config.method {
            Method::Map => Ok(Draw::new(index, self.gaussian.theta().to_vec(), None)),
            Method::La | Method::LinLa => {
                let theta = self.gaussian.draw(&mut stream(seed, Purpose::Draw, index));
                Ok(Draw::new(index, theta, None))
            }
            Method::RiemLa | Method::LinRiemLa => self.draw_geodesic(seed, index, reach, control),
        }
    }

    /// Draws 0 to `count` − 1 in parallel over all cores.
    pub fn sample(&self, seed: u64, count: u64, control: Control<'_, Draw>) -> Result<SampleSet> {
        let indices: Vec<u64> = (0..count).collect();
        self.sample_indices(seed, &indices, control)
    }

    /// The draws with the given indices, in parallel: what is missing of an interrupted run.
    ///
    /// After a stop no new draw is begun and running geodesics end at their next step; what was drawn is
    /// kept, a geodesic cut short is not. An error is one of the model or of the search for the strength;
    /// a geodesic that does not finish is in [`SampleSet::failed`].
    pub fn sample_indices(
        &self,
        seed: u64,
        indices: &[u64],
        control: Control<'_, Draw>,
    ) -> Result<SampleSet> {
        let mut set = SampleSet {
            method: self.config.method,
            seed,
            draws: Vec::new(),
            failed: Vec::new(),
            stopped: false,
            calibration: self.calibration(seed, &[], control.quiet())?,
            polish: self.polish_found(seed, control.quiet())?,
        };
        self.prepare_batches()?;
        let results: Vec<(u64, Result<Draw>)> = indices
            .par_iter()
            // One draw per task: their costs differ too much for larger pieces.
            .with_max_len(1)
            .map(|&index| {
                let draw = control
                    .check("a draw was begun")
                    .and_then(|()| self.draw(seed, index, control.quiet()))
                    .inspect(|draw| control.report(draw));
                (index, draw)
            })
            .collect();
        for (index, result) in results {
            match result {
                Ok(draw) => set.draws.push(draw),
                Err(Error::Stopped { .. }) => set.stopped = true,
                Err(error @ Error::Unfinished { .. }) => set.failed.push((index, error)),
                Err(error) => return Err(error),
            }
        }
        Ok(set)
    }
}
