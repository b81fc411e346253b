//! A model with its Gaussian as the weights see it that move: what the others determine is computed once.

use std::sync::{Arc, OnceLock};

use super::{Model, Tail};
use crate::Result;
use crate::curvature::Gaussian;
use crate::objective::{Objective, Restricted};

/// The last weights of a model, from the first uncertain one on or some before it; those before stay at the centre of the
/// Gaussian (docs/decisions/0037-fixed-layers.md).
pub struct Moving {
    first: usize,
    model: Arc<dyn Model>,
    gaussian: Arc<Gaussian>,
    /// The model's loss with linearised outputs, made when it is first needed.
    linearized: OnceLock<Box<dyn Objective>>,
}

impl Moving {
    /// All weights.
    pub fn all(model: Arc<dyn Model>, gaussian: Arc<Gaussian>) -> Self {
        Self { first: 0, model, gaussian, linearized: OnceLock::new() }
    }

    /// Those that [`Model::tail`] has for the uncertain weights of the Gaussian; none if it has none.
    pub fn tail(model: &dyn Model, gaussian: &Gaussian) -> Result<Option<Self>> {
        let (theta, subset) = (gaussian.theta(), gaussian.subset());
        if subset.len() == theta.len() {
            return Ok(None);
        }
        let Some(Tail { first, model }) = model.tail(theta, subset)? else { return Ok(None) };
        let gaussian = gaussian.after(first)?;
        crate::error::check_len("weights of the tail of a model", gaussian.theta().len(), model.dim())?;
        Ok(Some(Self {
            first,
            model: Arc::from(model),
            gaussian: Arc::new(gaussian),
            linearized: OnceLock::new(),
        }))
    }

    /// The model of these weights.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The Gaussian of these weights.
    pub fn gaussian(&self) -> &Gaussian {
        &self.gaussian
    }

    /// These weights of all.
    pub fn part<'a>(&self, all: &'a [f64]) -> &'a [f64] {
        &all[self.first..]
    }

    /// The loss of these weights: exact, or with linearised outputs.
    pub(super) fn objective(&self, linearized: bool) -> Result<&dyn Objective> {
        if !linearized {
            return Ok(&*self.model);
        }
        if let Some(linearized) = self.linearized.get() {
            return Ok(&**linearized);
        }
        let built = self.model.linearized(self.gaussian.theta())?;
        Ok(&**self.linearized.get_or_init(|| built))
    }

    /// An objective on these weights as one on the uncertain ones.
    pub fn on_uncertain<'a>(&'a self, objective: &'a dyn Objective) -> Restricted<'a> {
        let (theta, subset) = (self.gaussian.theta(), self.gaussian.subset());
        Restricted::new(objective, theta, subset.indices().collect())
    }

    /// Whether all of these weights are uncertain.
    pub(super) fn all_uncertain(&self) -> bool {
        self.gaussian.subset().len() == self.gaussian.theta().len()
    }
}
