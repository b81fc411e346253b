//! Warnings about draws, with numbers and remedies.

use std::fmt;

use super::polish::{DRIFT_ERRORS, LOW_ACCEPTANCE};
use super::{Misplaced, PolishReport, Posterior, SampleSet, SearchStatus};
use crate::Result;
use crate::geometry::{Diagnostics, Status};
use crate::linalg::vector::dot;
use crate::objective::check_failure;

/// Relative change of the speed from start to end, above which a geodesic counts as not solved.
pub const SPEED_LIMIT: f64 = 1e-2;
/// The same for its largest correction in one step of the constrained leapfrog, of which there are
/// dozens. At the default tolerance (1e-5) it is up to 1.2e-3 on the reference problems at strength 1.
pub const CORRECTION_LIMIT: f64 = 5e-3;
/// A virial ratio is far from 1 if it is so by more than this share...
pub const VIRIAL_SLACK: f64 = 0.2;
/// The same where a rule found the strength: the default rule aims at the rise of the loss, and where the posterior is
/// not Gaussian the two disagree somewhat (1.23 on a small convolutional network). That is no reason to distrust the rule.
pub const VIRIAL_SLACK_FOUND: f64 = 0.5;
/// ... and by more than this number of its standard errors.
pub const VIRIAL_ERRORS: f64 = 3.0;
/// Share of draws that were redrawn, above which the bias towards short geodesics is reported.
pub const REDRAWN_SHARE: f64 = 0.05;
/// A Newton step from θ* may gain this share of K/2, the mean rise of the loss of the draws (and a
/// loss of 1 in any case), before θ* counts as no minimum.
pub const NEWTON_SHARE: f64 = 0.1;
/// With fewer draws a standard deviation over them is wrong by more than 16 % on average.
pub const FEW_DRAWS: usize = 20;

/// Something about draws that a user should know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Speed is not constant along geodesics: the equation was not solved.
    Speed {
        /// Geodesics above the limit.
        count: usize,
        /// Out of this number.
        of: usize,
        /// Largest relative drift from start to end.
        drift: f64,
        /// Largest relative correction in one step.
        correction: f64,
    },
    /// Draws stay too close to θ*, overshoot or have left its basin ([`Misplaced`]).
    Virial {
        /// The ratio, 1 for exact draws.
        ratio: f64,
        /// Its Monte Carlo standard error.
        standard_error: f64,
        /// Draws it was measured on.
        draws: usize,
        /// How the draws were made, which decides what can be done.
        made: DrawsMade,
    },
    /// The chains that polished the draws have not settled, or hardly moved.
    Polish(PolishReport),
    /// The search for the length of these chains ended at the longest one that is tried.
    PolishNotSettled {
        /// Its gradients.
        gradients: usize,
    },
    /// Kept draws whose geodesics did not reach their ends.
    Unfinished {
        /// How many.
        count: usize,
        /// Out of this number.
        of: usize,
    },
    /// Draws whose first geodesic did not finish and was replaced.
    Redrawn {
        /// How many.
        count: usize,
        /// Out of this number.
        of: usize,
    },
    /// Draws that are missing.
    Failed {
        /// How many.
        count: usize,
        /// Number of draws requested.
        of: usize,
        /// The first reason.
        reason: String,
    },
    /// θ* is not a minimum of the loss under the current prior.
    NotAMinimum {
        /// ½gᵀP⁻¹g: the loss that one Newton step would still gain.
        decrement: f64,
        /// K/2: the mean rise of the loss from θ* to a draw.
        scale: f64,
        /// ‖∇L(θ*)‖ on the uncertain weights.
        gradient_norm: f64,
    },
    /// The metric is not smooth.
    NotSmooth(String),
    /// Few draws.
    FewDraws {
        /// How many.
        draws: usize,
    },
}

/// How draws were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DrawsMade {
    /// Drawn from the Gaussian.
    Gaussian,
    /// Carried along geodesics of the loss on all data.
    Geodesics,
    /// Each carried along a geodesic of the loss on its own batch.
    Batches,
    /// Ends of short Markov chains.
    Polished,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speed { count, of, drift, correction } => write!(
                f,
                "the speed of {count} of {of} geodesics is not constant (largest change {drift:.1e}, limit \
                 {SPEED_LIMIT:.0e}; largest correction in one step {correction:.1e}, limit \
                 {CORRECTION_LIMIT:.0e}): they were not followed accurately; tighten the tolerance"
            ),
            Self::Virial { ratio, standard_error, draws, made } => {
                let misplaced = Misplaced::of(*ratio);
                let remedy = misplaced.remedy(*made);
                write!(
                    f,
                    "the draws {misplaced}: their virial ratio is {ratio:.2} ± {standard_error:.2} over \
                     {draws} draws, but should be 1; {remedy}"
                )
            }
            Self::Polish(report) => polish_in_words(report, f),
            Self::PolishNotSettled { gradients } => write!(
                f,
                "the loss of the pilot chains still changed after {gradients} gradients, the longest polish that is \
                 chosen automatically: give a larger number of gradients, or compare with nuts"
            ),
            Self::Unfinished { count, of } => write!(
                f,
                "{count} of {of} geodesics did not reach their end but were kept: these draws are too close to \
                 the trained weights; raise max_steps, loosen the tolerance or lower the strength"
            ),
            Self::Redrawn { count, of } => write!(
                f,
                "{count} of {of} draws were redrawn because a geodesic did not finish: the draws are \
                 biased towards directions that are easy to follow; raise max_steps or lower the strength"
            ),
            Self::Failed { count, of, reason } => {
                write!(f, "{count} of {of} draws are missing; the first: {reason}")
            }
            Self::NotAMinimum { decrement, scale, gradient_norm } => write!(
                f,
                "the trained weights are not a minimum of the loss under the current prior: a Newton step \
                 would lower the loss by {decrement:.2}, draws raise it by about {scale:.1} (gradient norm \
                 {gradient_norm:.1e}); train longer, or refit the weights under this prior"
            ),
            Self::NotSmooth(message) => f.write_str(message),
            Self::FewDraws { draws } => write!(
                f,
                "only {draws} draws: standard deviations over them are uncertain by about {:.0} %; use at \
                 least {FEW_DRAWS}, better 100",
                100.0 / (2.0 * (*draws as f64 - 1.0).max(1.0)).sqrt()
            ),
        }
    }
}

/// The warnings that apply to a set of draws, the gravest first. Costs one gradient of the loss on
/// all data, and one more per draw.
pub fn warnings(set: &SampleSet, posterior: &Posterior) -> Result<Vec<Warning>> {
    let mut found = Vec::new();
    if !set.failed.is_empty() {
        let (count, reason) = (set.failed.len(), set.failed[0].1.to_string());
        found.push(Warning::Failed { count, of: count + set.draws.len(), reason });
    }
    geodesics(set, &mut found);
    polish(set, &mut found);
    let random = posterior.config().method != super::Method::Map;
    if random {
        found.extend(minimum(posterior)?);
        found.extend(virial(set, posterior)?);
    }
    found.extend(posterior.warning().map(Warning::NotSmooth));
    if random && set.draws.len() < FEW_DRAWS {
        found.push(Warning::FewDraws { draws: set.draws.len() });
    }
    Ok(found)
}

/// What chains that have not settled did, and what to do.
fn polish_in_words(report: &PolishReport, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let PolishReport { drift, drift_error, acceptance, .. } = report;
    if *acceptance < LOW_ACCEPTANCE {
        return write!(
            f,
            "only {:.0} % of the steps of the polish were accepted: the draws stay near their starts; polish with more \
             gradients",
            100.0 * acceptance
        );
    }
    let way = if *drift < 0.0 { "fell" } else { "rose" };
    write!(
        f,
        "the draws need more polish: over the second half of their chains the loss still {way} by {:.2} ± {drift_error:.2} \
         on average (more than {DRIFT_ERRORS} standard errors); double the gradients, or choose them automatically",
        drift.abs()
    )
}

/// Chains that did not settle.
fn polish(set: &SampleSet, found: &mut Vec<Warning>) {
    if let Some(report) = PolishReport::of(&set.draws)
        && (report.drifts() || report.acceptance < LOW_ACCEPTANCE)
    {
        found.push(Warning::Polish(report));
    }
    if let Some(polish) = set.polish.as_ref().filter(|polish| polish.settled == Some(false)) {
        found.push(Warning::PolishNotSettled { gradients: polish.gradients });
    }
}

fn geodesics(set: &SampleSet, found: &mut Vec<Warning>) {
    let all: Vec<_> = set.draws.iter().filter_map(|draw| draw.geodesic).collect();
    let of = all.len();
    let count = all.iter().filter(|g| g.status != Status::Reached).count();
    if count > 0 {
        found.push(Warning::Unfinished { count, of });
    }
    let count = all.iter().filter(|g| g.attempts > 1).count();
    if count as f64 > REDRAWN_SHARE * of as f64 {
        found.push(Warning::Redrawn { count, of });
    }
    let largest = |of: fn(&Diagnostics) -> f64| {
        all.iter().map(|g| of(&g.diagnostics)).fold(0.0, |a, b| if a >= b { a } else { b })
    };
    // A NaN is not steady.
    let steady = |d: &Diagnostics| d.speed_drift <= SPEED_LIMIT && d.speed_correction <= CORRECTION_LIMIT;
    let count = all.iter().filter(|g| !steady(&g.diagnostics)).count();
    if count > 0 {
        let (drift, correction) = (largest(|d| d.speed_drift), largest(|d| d.speed_correction));
        found.push(Warning::Speed { count, of, drift, correction });
    }
}

/// The Newton decrement against the mean rise of the loss.
fn minimum(posterior: &Posterior) -> Result<Option<Warning>> {
    let gaussian = posterior.gaussian();
    let mut gradient = vec![0.0; gaussian.theta().len()];
    let model = posterior.model().as_ref();
    model.value_and_gradient(gaussian.theta(), &mut gradient);
    check_failure(model)?;
    let gradient = gaussian.subset().gather(&gradient);
    let mut step = gradient.clone();
    gaussian.precision().solve(&mut step);
    let decrement = 0.5 * dot(&gradient, &step);
    let scale = 0.5 * gradient.len() as f64;
    let gradient_norm = dot(&gradient, &gradient).sqrt();
    let small = decrement <= (NEWTON_SHARE * scale).max(1.0);
    Ok((!small).then_some(Warning::NotAMinimum { decrement, scale, gradient_norm }))
}

fn virial(set: &SampleSet, posterior: &Posterior) -> Result<Option<Warning>> {
    if set.draws.len() < 2 {
        return Ok(None);
    }
    let (ratio, standard_error) = posterior.virial_ratio_with_error(&set.thetas())?;
    let found = set.calibration.as_ref().is_some_and(|found| found.status == SearchStatus::Converged);
    let slack = if found { VIRIAL_SLACK_FOUND } else { VIRIAL_SLACK };
    let far = (ratio - 1.0).abs() > slack.max(VIRIAL_ERRORS * standard_error);
    let config = posterior.config();
    let made = match (config.method.is_riemannian(), &config.batch) {
        _ if config.polish.is_some() => DrawsMade::Polished,
        (false, _) => DrawsMade::Gaussian,
        (true, None) => DrawsMade::Geodesics,
        (true, Some(_)) => DrawsMade::Batches,
    };
    let warning = Warning::Virial { ratio, standard_error, draws: set.draws.len(), made };
    Ok((far || ratio.is_nan()).then_some(warning))
}
