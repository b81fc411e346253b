//! Draws from a posterior: on the disk, where nothing that was drawn is lost, or in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use riemla::curvature::Gaussian;
use riemla::posterior::{Model, Posterior};
pub use riemla_files::ours::SAMPLES_DIRECTORY;
use riemla_files::{InUse, Origin, SavedPosterior};

use super::error::Result;
use super::folds::{TrainedShare, forget_share, may_share, share_beside};
use super::sample_config::SampleConfig;
use super::samplers::{Geodesics, sampler, sampler_of_model};
use super::saved::{check_posterior, data_of, read_posterior};
use super::take::{Kept, Taken, collect, take};
use crate::watch::Session;

/// A set of draws on the disk.
#[derive(Debug, Clone)]
pub struct Sampled {
    /// Where the set is.
    pub directory: PathBuf,
    /// The draws and how they look.
    pub taken: Taken,
    /// How much the trained weights count beside them, where that was found.
    pub trained_share: Option<TrainedShare>,
}

/// Draws what is missing of a set of a posterior on the disk. Once the session is stopped or the budget is used up,
/// draws under way are given up and what is there is kept.
pub fn sample(directory: &Path, config: &SampleConfig, session: Session<'_>) -> Result<Sampled> {
    session.watch.begin("reading the posterior", 0);
    check_posterior(directory)?;
    let _in_use = InUse::claim(directory)?;
    let saved = read_posterior(directory)?;
    let config = &config.for_model(&saved);
    let set = directory.join(SAMPLES_DIRECTORY).join(config.set_name());
    let data = data_of(&saved, config.data.as_ref())?;
    let origin = saved.origin();
    let small = may_share(&data, config).then(|| (saved.clone(), data.clone()));
    let taken = take(sampler(saved, data, config)?, Some((&set, origin)), config, session)?;
    forget_share(config, &set)?;
    let trained_share = match &small {
        Some((saved, data)) => share_beside(saved, data, &taken, config, &set, session)?,
        None => None,
    };
    Ok(Sampled { directory: set, taken, trained_share })
}

/// The same draws of a posterior in memory, kept there.
pub fn sample_in_memory(
    saved: &SavedPosterior,
    config: &SampleConfig,
    session: Session<'_>,
) -> Result<Taken> {
    let config = &config.for_model(saved);
    let data = data_of(saved, config.data.as_ref())?;
    take(sampler(saved.clone(), data, config)?, None, config, session)
}

/// Draws from the posterior of any model around a Gaussian, or by NUTS that starts there; in memory, or in a directory
/// with what tells the model from others.
pub fn sample_model(
    model: Arc<dyn Model>,
    gaussian: Arc<Gaussian>,
    set: Option<(&Path, Origin)>,
    config: &SampleConfig,
    session: Session<'_>,
) -> Result<Taken> {
    take(sampler_of_model(model, gaussian, config)?, set, config, session)
}

/// Draws from a posterior of the library without a look at them, for those who judge them in their own way; there may
/// be none.
pub fn draw_model(
    posterior: Posterior,
    set: Option<(&Path, Origin)>,
    config: &SampleConfig,
    session: Session<'_>,
) -> Result<Kept> {
    collect(Box::new(Geodesics::of(posterior, config)), set, config, session)
}
