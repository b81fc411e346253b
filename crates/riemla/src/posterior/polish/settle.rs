//! What all chains of a seed share, found on pilots: the step size, and how long chains are.
//!
//! Pilots are the first draws of the seed before their polish, so that nothing but seed and settings matters.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::run::{Course, Proposals};
use super::{HamiltonianChain, Polish, Target};
use crate::random::{Purpose, Rng, attempt_stream, stream};
use crate::{Control, Error, Result};

/// Step size and length of chains, and what the search for them cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolishFound {
    /// The step size.
    pub step: f64,
    /// Gradients of a chain.
    pub gradients: usize,
    /// Whether the loss of the pilots settled before the longest chain that is tried; none if the length was given.
    pub settled: Option<bool>,
    /// How the loss of the pilots changed with the length of their chains; empty if the length was given.
    pub levels: Vec<LossLevel>,
    /// Gradients of the search, with those of the pilots' geodesics.
    pub search_gradients: usize,
}

/// The loss of pilots after some gradients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossLevel {
    /// Gradients of their chains so far.
    pub gradients: usize,
    /// Mean loss.
    pub loss: f64,
    /// Mean change since the level before.
    pub change: f64,
    /// Its standard error.
    pub error: f64,
}

/// Pilots of the step size.
pub(super) const STEP_PILOTS: u64 = 10;
/// Pilots of the length: a mean loss is then known to about √(K/2)/√20, that of 20 exact draws.
pub(super) const LENGTH_PILOTS: u64 = 20;
/// Proposals of every pilot in the search for the step. More cost more and find a step for where long chains are, not for where
/// draws begin.
const ROUNDS: usize = 8;
/// Gradients of the first level, and of the longest chain of [`PolishLength::Auto`].
const LEVELS: (usize, usize) = (50, 3200);
/// The loss has settled if it changed by fewer than so many standard errors while the chains doubled.
const SETTLED_ERRORS: f64 = 2.0;
/// Streams of the searches: attempt 0 is that of the draws themselves.
const SEARCH_ATTEMPTS: (u64, u64) = (1, 2);

/// A pilot between proposals. Chains do not move between threads, points do.
struct Pilot {
    theta: Vec<f64>,
    rng: Rng,
}

/// The step size at which `pilots` accept proposals with the probability asked for: dual averaging (Hoffman and
/// Gelman, 2014) of the mean over pilots. Returns the gradients that it took, too.
pub(super) fn find_step(
    target: &Target<'_>,
    polish: &Polish,
    starts: &[Vec<f64>],
    seed: u64,
    control: Control<'_>,
) -> Result<(f64, usize)> {
    let pilots = |attempt| -> Vec<Pilot> {
        let pilot = |(index, start): (u64, &Vec<f64>)| Pilot {
            theta: start.clone(),
            rng: attempt_stream(seed, Purpose::Polish, index, attempt),
        };
        (0..).zip(starts).map(pilot).collect()
    };
    let (first, mut gradients) = first_step(target, || pilots(SEARCH_ATTEMPTS.1), control)?;
    let mut moving = pilots(SEARCH_ATTEMPTS.0);
    let (mut log_step, mut error, mut average) = (first.ln(), 0.0, first.ln());
    for round in 1..=ROUNDS {
        control.check("the step of the polish was found")?;
        let proposals = Proposals { step: log_step.exp(), leaps: polish.leaps };
        let (acceptance, spent) = one_round(target, &mut moving, &proposals)?;
        gradients += spent;
        let t = round as f64;
        let weight = 1.0 / (t + OFFSET);
        error += weight * (polish.acceptance - acceptance - error);
        log_step = first.ln() - t.sqrt() / SHRINKAGE * error;
        average += t.powf(-FORGETTING) * (log_step - average);
    }
    let step = average.exp();
    Ok((if step.is_finite() && step > 0.0 { step } else { first }, gradients))
}

/// Constants of dual averaging: rounds that count little, shrinkage towards the first step, forgetting of early rounds.
/// Ten chains make the acceptance ten times as certain as one, so that larger moves are safe than Hoffman and Gelman's.
const OFFSET: f64 = 3.0;
const SHRINKAGE: f64 = 0.15;
const FORGETTING: f64 = 0.75;

/// A power of 2 at which a single leapfrog step is accepted with a probability near 0.8.
fn first_step(
    target: &Target<'_>,
    pilots: impl Fn() -> Vec<Pilot>,
    control: Control<'_>,
) -> Result<(f64, usize)> {
    let (mut step, mut direction, mut gradients) = (1.0f64, None, 0);
    for _ in 0..FIRST_TRIES {
        control.check("the step of the polish was found")?;
        let (acceptance, spent) = one_round(target, &mut pilots(), &Proposals { step, leaps: 1 })?;
        gradients += spent;
        let up = acceptance > 0.8;
        if direction.is_some_and(|direction| direction != up) {
            return Ok((step, gradients));
        }
        direction = Some(up);
        step *= if up { 2.0 } else { 0.5 };
    }
    // No step is accepted: draws stay where they are, which is right for any density, and a warning says so.
    Ok((step, gradients))
}

/// Powers of 2 that are tried.
const FIRST_TRIES: usize = 40;

/// One proposal of every pilot: the mean acceptance probability, and the gradients of all.
fn one_round(target: &Target<'_>, pilots: &mut [Pilot], proposals: &Proposals) -> Result<(f64, usize)> {
    let one = |pilot: &mut Pilot| -> Result<(f64, usize)> {
        let mut chain = HamiltonianChain::new(target.objective, target.mass, &pilot.theta)?;
        let transition = proposals.next(&mut chain, &mut pilot.rng);
        pilot.theta.copy_from_slice(chain.theta());
        Ok((transition.acceptance, transition.gradients + 1))
    };
    let all: Vec<_> = pilots.par_iter_mut().with_max_len(1).map(one).collect::<Result<_>>()?;
    let acceptance = all.iter().map(|(acceptance, _)| acceptance).sum::<f64>() / all.len() as f64;
    Ok((acceptance, all.iter().map(|(_, gradients)| gradients).sum()))
}

/// Runs the pilots' own chains until their loss has settled. Returns the levels, whether it did, and the gradients.
pub(super) fn find_length(
    target: &Target<'_>,
    proposals: &Proposals,
    starts: &[Vec<f64>],
    seed: u64,
    control: Control<'_>,
) -> Result<(Vec<LossLevel>, bool, usize)> {
    let mut pilots: Vec<Pilot> = (0..)
        .zip(starts)
        .map(|(index, start)| Pilot { theta: start.clone(), rng: stream(seed, Purpose::Polish, index) })
        .collect();
    let mut before: Vec<f64> = starts.iter().map(|start| target.objective.value(start)).collect();
    let (mut levels, mut spent, mut done, mut length) = (Vec::new(), 0, 0, LEVELS.0);
    loop {
        let before_count = if done == 0 { 0 } else { proposals.count(done) };
        let count = proposals.count(length) - before_count;
        let one = |pilot: &mut Pilot| -> Result<(f64, usize)> {
            let chain = HamiltonianChain::new(target.objective, target.mass, &pilot.theta)?;
            let mut course = Course::new(chain, pilot.rng.clone());
            if !course.run_to(count, proposals, control) {
                return Err(Error::Stopped { what: "the length of the polish was found".into() });
            }
            pilot.theta.copy_from_slice(course.chain.theta());
            let result = (course.chain.loss(), course.gradients());
            pilot.rng = course.rng;
            Ok(result)
        };
        let all: Vec<_> = pilots.par_iter_mut().with_max_len(1).map(one).collect::<Result<_>>()?;
        let losses: Vec<f64> = all.iter().map(|(loss, _)| *loss).collect();
        spent += all.iter().map(|(_, gradients)| gradients).sum::<usize>();
        let level = level(length, &losses, &before);
        levels.push(level);
        let settled = done > 0 && level.change.abs() <= SETTLED_ERRORS * level.error;
        if settled || length >= LEVELS.1 {
            return Ok((levels, settled, spent));
        }
        (before, done, length) = (losses, length, 2 * length);
    }
}

fn level(gradients: usize, losses: &[f64], before: &[f64]) -> LossLevel {
    let n = losses.len() as f64;
    let changes: Vec<f64> = losses.iter().zip(before).map(|(now, before)| now - before).collect();
    let change = changes.iter().sum::<f64>() / n;
    let squares: f64 = changes.iter().map(|c| (c - change).powi(2)).sum();
    let error = if n > 1.0 { (squares / ((n - 1.0) * n)).sqrt() } else { f64::MAX };
    LossLevel { gradients, loss: losses.iter().sum::<f64>() / n, change, error }
}
