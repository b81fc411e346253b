//! Finding the strength of the metric by the rules of [`Strength`], and the length of draws on batches.
//!
//! The virial identity: for any density p ∝ exp(−L) on ℝᴷ that falls off at infinity and any fixed
//! point θ*, the divergence of (θ − θ*)p integrates to 0, so E[(θ − θ*)·∇L(θ)] = K. θ* need not be a
//! minimum and nothing is to be corrected. With g = ∇L(θ*) not zero, though, the few pilots add the
//! noise of g·v, whose mean over tangent vectors v is exactly 0: it is subtracted as a control
//! variate, the same for every strength. (Subtracting g·(θ − θ*) instead would be wrong: that mean
//! is not 0 for the posterior, −gᵀP⁻¹g if it is Gaussian.)
//!
//! L is the loss of the posterior that is approximated: on all data even if each geodesic sees only
//! a batch. A geodesic avoids the rises of its own batch's loss, not those of the others, so that on
//! the batch losses the draws would look narrower than they are.

use serde::{Deserialize, Deserializer, Serialize};

use super::pilots::Pilots;
use super::ratio::{Estimate, Height, Ratios, larger, or_nan};
use super::root::{Plan, Root, root};
use super::search::{self, SearchStatus};
use super::shorten::{Shortening, shorten};
use super::{Posterior, Strength};
use crate::geometry::{Counters, Geodesic, Status};
use crate::{Control, Error, Result};

/// Pilots that were run at one strength, together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The strength.
    pub strength: f64,
    /// The number of the first pilot: above 0 where pilots were added to an earlier trial.
    pub first: usize,
    /// What the rule looks at, of all pilots at this strength so far: a ratio that should be 1, or the held-out
    /// score.
    #[serde(deserialize_with = "or_infinite")]
    pub value: f64,
    /// Standard error of a ratio.
    #[serde(deserialize_with = "or_nan")]
    pub error: f64,
    /// How high the pilots ended, none where one did not; empty if the rule looks at the held-out score.
    pub heights: Vec<Option<Height>>,
    /// Pilot geodesics that reached their end.
    pub finished: usize,
    /// What it cost.
    pub counters: Counters,
}

/// JSON has no numbers that are not finite: it leaves their place open.
fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// A strength found by a rule, and the length of draws on batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The rule.
    pub rule: Strength,
    /// The strength a: between those that were tried.
    pub strength: f64,
    /// How the logarithms of the two ratios of the rule, of the whole loss and of the data's, change there with that of
    /// the strength, 0 where one is not known; none where neither is.
    pub slopes: Option<[f64; 2]>,
    /// How the search ended.
    pub status: SearchStatus,
    /// How far draws go towards the ends of their geodesics: below 1 where draws on batches are shortened
    /// ([`super::BatchLength`]).
    pub length: f64,
    /// The strengths tried, in order.
    pub trials: Vec<Trial>,
    /// What the trials and the search for the length cost together.
    pub counters: Counters,
    /// How many of their gradients were on all rows: to see how high pilots lie.
    pub on_all_rows: usize,
}

/// Pilots of a search, by the number of uncertain weights: the first line whose limit is above it. Draws of small models are
/// cheap, and each says little: the standard deviation of their heights is √(2/K) at least. Those of large networks are dear,
/// and one says what there is to know.
const PLANS: [(usize, Plan); 4] = [
    (200, Plan { few: 3, all: usize::MAX, added_up_to: 30, most: usize::MAX }),
    (1000, Plan { few: 3, all: usize::MAX, added_up_to: 6, most: usize::MAX }),
    (10_000, Plan { few: 2, all: usize::MAX, added_up_to: 6, most: usize::MAX }),
    (usize::MAX, Plan { few: 1, all: usize::MAX, added_up_to: 5, most: 5 }),
];

/// Pilots that a search takes on average (docs/decisions/0028-strength-search.md), where its plan does not end it earlier.
const USUAL_PILOTS: usize = 7;

impl Posterior {
    /// Geodesics that the search for the strength usually takes: for estimates of its time.
    pub fn usual_pilots(&self) -> usize {
        plan_for(self.gaussian().subset().len()).most.min(USUAL_PILOTS)
    }

    /// Whether pilots are on all rows where draws are on batches: where the length makes up for what batches do, the strength is
    /// that of the posterior itself. With the linearised network that did harm: docs/decisions/0027-batches.md.
    pub fn searches_on_all_rows(&self) -> Result<bool> {
        Ok(self.finds_length()? && !self.config().method.is_linearized())
    }
}

/// Applies the posterior's rule under `seed`, with the trials that are known.
pub(super) fn calibrate(
    posterior: &Posterior,
    seed: u64,
    known: &[Trial],
    control: Control<'_, Trial>,
) -> Result<Calibration> {
    let rule = posterior.config().strength;
    let shortened = posterior.finds_length()?;
    let on_all_rows = posterior.searches_on_all_rows()?;
    let pilots = Pilots::new(posterior, seed, on_all_rows)?;
    let natural = pilots.natural_strength();
    let plan = plan(posterior, &pilots);
    let mut search = Search { pilots, posterior, on_all_rows, known, control, trials: Vec::new() };
    let Root { strength, slopes, status } = match rule {
        Strength::Fixed(strength) => {
            Root { strength: strength / natural, slopes: None, status: SearchStatus::Converged }
        }
        Strength::HeldOut { .. } if posterior.validation.is_none() => {
            let remedy = "a held-out strength needs held-out data: call Posterior::with_held_out";
            return Err(Error::Unsupported(remedy.into()));
        }
        Strength::HeldOut { .. } => {
            let score = |x| Ok(search.trial(natural * x, plan.all)?.map(|[score, _]| score.value));
            let (strength, status) = search::minimum(score)?;
            Root { strength, slopes: None, status }
        }
        Strength::Virial { .. } | Strength::LossRise { .. } | Strength::Typical { .. } => {
            root(plan, |x, pilots| search.trial(natural * x, pilots))?
        }
    };
    let strength = rule.fixed().unwrap_or(natural * strength);
    let found = search.found(rule, strength, slopes);
    let found = if shortened && !control.is_stopped() {
        with_length(posterior, seed, found, control)?
    } else {
        found
    };
    let status = if control.is_stopped() { SearchStatus::Stopped } else { status };
    Ok(Calibration { status, ..found })
}

/// With the length of draws on batches at the strength that was found.
fn with_length(
    posterior: &Posterior,
    seed: u64,
    mut found: Calibration,
    control: Control<'_, Trial>,
) -> Result<Calibration> {
    let pilots = Pilots::new(posterior, seed, false)?;
    if let Some(Shortening { factor, counters, on_all_rows }) =
        shorten(&pilots, found.strength, control.quiet())?
    {
        found.length = factor;
        found.counters += counters;
        found.on_all_rows += on_all_rows;
    }
    Ok(found)
}

/// How many pilots.
fn plan(posterior: &Posterior, pilots: &Pilots<'_>) -> Plan {
    let (all, weights) = (pilots.len(), posterior.gaussian().subset().len());
    let plan = plan_for(weights);
    Plan { few: plan.few.min(all), all, ..plan }
}

fn plan_for(weights: usize) -> Plan {
    PLANS.iter().find(|(limit, _)| weights < *limit).unwrap_or(&PLANS[PLANS.len() - 1]).1
}

/// The strengths tried so far.
struct Search<'a> {
    pilots: Pilots<'a>,
    posterior: &'a Posterior,
    /// Whether draws are on batches and the pilots of the search are not.
    on_all_rows: bool,
    known: &'a [Trial],
    control: Control<'a, Trial>,
    trials: Vec<Trial>,
}

impl Search<'_> {
    /// What was found, at full length.
    fn found(self, rule: Strength, strength: f64, slopes: Option<[f64; 2]>) -> Calibration {
        let mut counters = Counters::default();
        self.trials.iter().for_each(|trial| counters += trial.counters);
        let heights = self.trials.iter().flat_map(|trial| &trial.heights).flatten().count();
        let on_all_rows = if self.on_all_rows { counters.gradients } else { heights };
        let (status, trials) = (SearchStatus::Converged, self.trials);
        Calibration { rule, strength, slopes, status, length: 1.0, trials, counters, on_all_rows }
    }

    /// What the rule looks at, of the first pilots at one strength; `None` if a stop was requested.
    fn trial(&mut self, strength: f64, pilots: usize) -> Result<Option<Ratios>> {
        let heights: Vec<Option<Height>> = self.heights(strength).collect();
        let first = heights.len();
        let known = self.known.iter().find(|trial| trial.strength == strength && trial.first == first);
        match known {
            Some(trial) => self.trials.push(trial.clone()),
            None => {
                let Some(trial) = self.run(strength, pilots, heights)? else { return Ok(None) };
                self.control.report(&trial);
                self.trials.push(trial);
            }
        }
        let rule = self.posterior.config().strength;
        if let (Strength::HeldOut { .. }, Some(&Trial { value, error, .. })) = (rule, self.trials.last()) {
            return Ok(Some([Estimate { value, error }, Estimate::NONE]));
        }
        let ends: Vec<Height> = self.heights(strength).flatten().collect();
        Ok(Some(self.pilots.ratios(rule, &ends)))
    }

    /// How high the pilots ended that were run at a strength so far.
    fn heights(&self, strength: f64) -> impl Iterator<Item = Option<Height>> {
        let at = self.trials.iter().filter(move |trial| trial.strength == strength);
        at.flat_map(|trial| trial.heights.iter().copied())
    }

    /// Runs the pilots after those whose heights are known.
    fn run(&self, strength: f64, pilots: usize, mut heights: Vec<Option<Height>>) -> Result<Option<Trial>> {
        let (control, first) = (self.control, heights.len());
        if control.is_stopped() {
            return Ok(None);
        }
        let geodesics = self.pilots.run(first..pilots, strength, control.quiet())?;
        if control.is_stopped() {
            return Ok(None);
        }
        let mut counters = Counters::default();
        geodesics.iter().for_each(|geodesic| counters += geodesic.counters);
        let finished = geodesics.iter().filter(|geodesic| geodesic.status == Status::Reached).count();
        let rule = self.posterior.config().strength;
        let Estimate { value, error } = if let Strength::HeldOut { .. } = rule {
            counters.values += finished;
            self.score(&geodesics)?
        } else {
            counters.gradients += finished;
            heights.extend(self.pilots.heights(first, &geodesics, 1.0)?);
            let ends: Vec<Height> = heights.iter().flatten().copied().collect();
            larger(self.pilots.ratios(rule, &ends))
        };
        let heights = heights.split_off(first.min(heights.len()));
        Ok(Some(Trial { strength, first, value, error, heights, finished, counters }))
    }

    /// The held-out score of finished pilots; none finished is the worst.
    fn score(&self, geodesics: &[Geodesic]) -> Result<Estimate> {
        let reached = geodesics.iter().filter(|geodesic| geodesic.status == Status::Reached);
        let thetas: Vec<&[f64]> = reached.map(|geodesic| geodesic.end.as_slice()).collect();
        let score = self.posterior.validation.as_ref().filter(|_| !thetas.is_empty());
        let value = score.map_or(Ok(f64::INFINITY), |score| score(&thetas))?;
        Ok(Estimate { value, error: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_models_take_no_more_pilots_and_large_networks_five_at_most() {
        let sizes = [1, 199, 200, 999, 1000, 9_999, 10_000, 1_000_000];
        let plans = sizes.map(plan_for);
        assert!(
            plans.is_sorted_by(|a, b| a.few >= b.few && a.added_up_to >= b.added_up_to && a.most >= b.most)
        );
        assert_eq!(
            [plan_for(199), plan_for(200)].map(|plan| plan.added_up_to),
            [30, 6],
            "the limits are from below"
        );
        assert_eq!([plan_for(999), plan_for(1000)].map(|plan| plan.few), [3, 2]);
        assert_eq!([plan_for(9_999), plan_for(10_000)].map(|plan| plan.most), [usize::MAX, 5]);
    }
}
