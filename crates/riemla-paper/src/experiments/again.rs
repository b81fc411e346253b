//! Whether a strength is found again: the search for it under several seeds of the draws, with the same trained weights,
//! and what finished draws say of it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use riemla::Control;
use riemla::posterior::{Calibration, JUDGES, Method, MetricChoice, Posterior, PosteriorConfig, Strength};
use riemla_workflow::watch::Silent;

use super::rows::{data_of, rows};
use super::{PriorName, Problem, Result, fit};
use crate::datasets::DataDirs;

/// Finished draws that are measured.
const DRAWS: u64 = 40;

/// One search.
#[derive(Debug, Clone)]
pub struct Again {
    /// Seed of the draws.
    pub seed: u64,
    /// Number of weights.
    pub weights: usize,
    /// What was found.
    pub found: Calibration,
    /// Gradients of the search, in those of a draw at the strength found.
    pub cost: f64,
    /// The ratio before the first draws had their last word, and its standard error.
    pub first_ratio: (f64, f64),
    /// The strength after it.
    pub strength: f64,
    /// What the rule wants to be 1, of finished draws, and its standard error.
    pub ratio: f64,
    /// Its standard error.
    pub error: f64,
    /// Mean rise of the loss of these draws over K/2, without any control variate.
    pub rise: f64,
    /// Mean virial ratio of these draws.
    pub virial: f64,
}

/// Searches the strength of the preconditioned metric for `riem-la` under seeds 0 to `seeds` − 1, on weights trained under
/// `training_seed`.
pub fn search_again(
    problem: &Problem,
    (prior, training_seed): (PriorName, u64),
    rule: Strength,
    seeds: u64,
    (out, data): (&Path, &DataDirs),
) -> Result<Vec<Again>> {
    let loaded = data_of(problem, data)?;
    let rows = rows(problem, &loaded, training_seed)?;
    let stop = AtomicBool::new(false);
    let fit = fit::fit(out, problem, &rows, (training_seed, prior), &stop, &Silent)?;
    let laplace = fit.laplace(problem, &rows, prior)?;
    let metric = MetricChoice::Preconditioned;
    let config = PosteriorConfig { metric, strength: rule, ..PosteriorConfig::new(Method::RiemLa) };
    let weights = laplace.gaussian.subset().len();
    let one = |seed: u64| -> Result<Option<Again>> {
        let posterior = Posterior::of_network(&fit.loss, &laplace, config.clone())?;
        let Some(found) = posterior.calibration(seed, &[], Control::default())? else { return Ok(None) };
        let posterior = posterior.with_strength(found.strength)?;
        let set = posterior.sample(seed, JUDGES, Control::default())?;
        let word = posterior.verdict(seed, &found, &set.draws)?;
        let strength = word.and_then(|word| word.better).unwrap_or(found.strength);
        let posterior = posterior.with_strength(strength)?;
        let set = posterior.sample(seed, DRAWS, Control::default())?;
        let per_draw = set.counters().gradients as f64 / set.draws.len() as f64;
        // Whatever the search ended with: this is to be seen.
        let judged = Calibration {
            slope: Some(found.slope.unwrap_or(-1.0)),
            status: riemla::posterior::SearchStatus::Converged,
            ..(*found).clone()
        };
        let verdict = posterior.verdict(seed, &judged, &set.draws)?;
        let (ratio, error) = verdict.map_or((f64::NAN, f64::NAN), |verdict| (verdict.ratio, verdict.error));
        let rises = posterior.loss_rises(&set.thetas())?;
        Ok(Some(Again {
            seed,
            weights,
            cost: found.counters.gradients as f64 / per_draw,
            first_ratio: word.map_or((f64::NAN, f64::NAN), |word| (word.ratio, word.error)),
            strength,
            ratio,
            error,
            rise: rises.iter().sum::<f64>() / (rises.len() as f64 * 0.5 * weights as f64),
            virial: posterior.virial_ratio(&set.thetas())?,
            found: (*found).clone(),
        }))
    };
    let found: Result<Vec<Option<Again>>> = (0..seeds).map(one).collect();
    Ok(found?.into_iter().flatten().collect())
}
