//! The draws of one posterior: taken as every sampling takes them, kept in a set of its own.

use std::path::Path;

use riemla::posterior::{Draw, Posterior};
use riemla_files::ours::LOG_FILE;
use riemla_files::samples::write_samples;
use riemla_files::{Origin, RunConfig, RunInfo};
use riemla_workflow::watch::{Session, Steps};
use riemla_workflow::workflow::{Kept, Made, SampleConfig, draw_model};

use super::Result;
use super::layout::{make, remove};
use super::truth::ChainVerdict;

/// Draws and how they came about.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    /// The draws, by index.
    pub draws: Vec<Draw>,
    /// Draws that failed, with the reason.
    pub failed: Vec<(u64, String)>,
    /// Strength, polish and seconds.
    pub made: Made,
    /// Gradients of all draws together, where they follow no geodesics.
    pub other_gradients: usize,
    /// How Markov chains ended.
    pub chains: Option<ChainVerdict>,
    /// Why the method has no draws here, though nothing failed.
    pub unfit: Option<String>,
}

impl Drawn {
    /// Draws without geodesics that took so many gradients together.
    pub fn of_gradients(thetas: Vec<Vec<f64>>, other_gradients: usize) -> Self {
        let draw = |(index, theta)| Draw::new(index, theta, None);
        Self { draws: (0..).zip(thetas).map(draw).collect(), other_gradients, ..Self::default() }
    }

    /// Gradients of all draws.
    pub fn gradients(&self) -> usize {
        let geodesics = self.draws.iter().filter_map(|draw| draw.geodesic);
        let chains = self.draws.iter().filter_map(|draw| draw.polish);
        self.other_gradients
            + geodesics.map(|geodesic| geodesic.counters.gradients).sum::<usize>()
            + chains.map(|chain| chain.gradients).sum::<usize>()
    }

    /// Gradients of the searches for strength, step size and length.
    pub fn search_gradients(&self) -> usize {
        let polish = self.made.polish.as_ref().map_or(0, |found| found.search_gradients);
        polish + self.made.found.as_ref().map_or(0, |found| found.counters.gradients)
    }
}

/// What is asked for.
pub struct Wanted<'a> {
    /// The directory of the set.
    pub set: &'a Path,
    /// Seed of the draws.
    pub seed: u64,
    /// How many.
    pub samples: u64,
    /// What they depend on besides method, settings and seed.
    pub origin: &'a Origin,
    /// Stopped by Ctrl-C; told of every draw.
    pub session: Session<'a>,
}

/// Takes the draws that are missing and returns all.
pub fn draws(posterior: Posterior, wanted: &Wanted<'_>) -> Result<Drawn> {
    let config = SampleConfig::new(posterior.config().clone(), wanted.samples, wanted.seed);
    let set = Some((wanted.set, wanted.origin.clone()));
    let watch = wanted.session.watch;
    let steps = Steps(watch);
    let Kept { mut draws, new, failed, made, remarks, stopped, .. } =
        draw_model(posterior, set, &config, wanted.session.watched_by(&steps))?;
    // Those that were there before count as done.
    ((new + failed.len()) as u64..wanted.samples).filter(|_| !stopped).for_each(|_| watch.step());
    remarks.iter().for_each(|remark| watch.note(remark));
    draws.retain(|draw| draw.index < wanted.samples);
    if !stopped || (draws.len() + failed.len()) as u64 >= wanted.samples {
        // A finished set needs no log; a longer one begins it again with these draws.
        remove(&wanted.set.join(LOG_FILE))?;
    }
    Ok(Drawn { draws, failed, made, ..Drawn::default() })
}

/// Keeps draws that were made all at once, in place of those that were there.
pub fn keep(wanted: &Wanted<'_>, config: RunConfig, dim: usize, drawn: Drawn) -> Result<Drawn> {
    make(wanted.set)?;
    let run = RunInfo::new(config, wanted.seed, dim, wanted.origin.clone());
    write_samples(wanted.set, &run, &drawn.draws)?;
    Ok(drawn)
}
