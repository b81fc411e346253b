//! The last word on a strength: what finished draws say of the rule that found it.

use rayon::prelude::*;

use super::pilots::Heights;
use super::ratio::{Estimate, Height, ratio};
use super::{Calibration, Draw, Posterior, SearchStatus};
use crate::geometry::Status;
use crate::objective::check_failure;
use crate::{Error, Result};

/// Draws that have the last word on the strength they were made at: enough to know the rise of the loss better than
/// the pilots of the search do, and few enough to be made again.
pub const JUDGES: u64 = 20;
/// Finished draws contradict the rule if the logarithm of their ratio is further from 0 than this...
pub const CONTRADICTION: f64 = 0.02;
/// ... and than this number of its standard errors.
pub const CONTRADICTION_ERRORS: f64 = 2.0;
/// A ratio that changes less than this with the strength, in logarithms, does not tell another strength.
const FLATTEST: f64 = 0.02;
/// Largest change of the logarithm of the strength: further out the line through few trials is not to be trusted.
const LARGEST_CHANGE: f64 = 1.0;

/// What finished draws say of the rule that found their strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// What should be 1 by the rule, measured on the draws.
    pub ratio: f64,
    /// Its standard error.
    pub error: f64,
    /// A strength that should meet the rule better; none if the draws do not contradict it, or do not tell one.
    pub better: Option<f64>,
}

impl Posterior {
    /// What draws at the strength of `found` say of its rule, with the tangents of `seed`. Costs a gradient of the loss
    /// per draw. `None` where there is nothing to say: the rule looks at held-out data, was not met by the pilots
    /// either, or the draws were shortened ([`super::BatchLength`]).
    pub fn verdict(&self, seed: u64, found: &Calibration, draws: &[Draw]) -> Result<Option<Verdict>> {
        let as_long = found.length == 1.0;
        let known = found.slope.filter(|_| found.status == SearchStatus::Converged && as_long);
        let Some(slope) = known else { return Ok(None) };
        if draws.is_empty() {
            return Err(Error::range("number of draws", 0, "at least 1"));
        }
        let heights = Heights::new(self, found.rule)?;
        let height = |draw: &Draw| {
            let geodesic = draw.geodesic.filter(|geodesic| geodesic.status == Status::Reached)?;
            let v = self.tangent(seed, draw.index, geodesic.attempts as u64 - 1);
            Some(heights.of(&v, &draw.theta, 1.0))
        };
        let ends: Vec<Height> = draws.par_iter().filter_map(height).collect();
        check_failure(self.moving_objective()?)?;
        let Estimate { value, error } = ratio(found.rule, self.gaussian().subset().len() as f64, &ends);
        let (off, unsure) = (value.ln(), error / value);
        let contradicts = off.abs() > CONTRADICTION.max(CONTRADICTION_ERRORS * unsure);
        let change = (-off / slope).clamp(-LARGEST_CHANGE, LARGEST_CHANGE);
        let better = (contradicts && slope < -FLATTEST).then(|| found.strength * change.exp());
        Ok(Some(Verdict { ratio: value, error, better }))
    }
}
