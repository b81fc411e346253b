//! How much the trained weights count beside draws of a table with few rows: found by leaving out a part of the rows in turn
//! (docs/decisions/0038-trained-share.md).

use std::path::Path;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{LaplaceConfig, PriorChoice, PriorSearch, Structure, Subset};
use riemla::data::{Dataset, Targets, split};
use riemla::nn::Network;
use riemla::objective::{NetworkLoss, TargetKind};
use riemla::posterior::{Method, PosteriorConfig, Strength};
use riemla::predict::{Unseen, log_loss_at, trained_share};
use riemla_files::ours::SHARE_FILE;
use riemla_files::{Model, RunConfig, RunInfo, SavedPosterior, TrainingData};
use serde::{Deserialize, Serialize};

use super::draws::{assembled, trained};
use super::error::{Result, WorkflowError, io};
use super::fit::{fit_on, in_few_eigenpairs};
use super::predictor::Predictor;
use super::sample::sample_in_memory;
use super::sample_config::SampleConfig;
use super::take::Taken;
use crate::of_run;
use crate::scores::decoded_targets;
use crate::watch::{Session, Silent};

/// Folds that `riemla sample` makes by default.
pub const FOLDS: usize = 5;
/// Rows trained on up to which folds are made: beyond, the held-out rows are enough for a temperature.
pub const MOST_ROWS: usize = 250;
/// Weights up to which there are folds, and numbers of eigenpairs where these are kept: of more, five fits and their draws take many
/// minutes.
const MOST_WEIGHTS: usize = 2000;
const MOST_NUMBERS: usize = 10_000_000;
/// Fewer say nothing.
const LEAST_ROWS: usize = 20;
/// Most draws of a fold.
const DRAWS: u64 = 30;
const REMEDY: &str = "remove it; `riemla sample` finds the share again";

/// How much the trained weights count beside the draws, and what says so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrainedShare {
    /// Their weight in the mixture with the average over draws, from 0 to 1.
    pub share: f64,
    /// Rows that it was found by: those left out in turn, and those that training held out.
    pub rows: usize,
    /// Folds.
    pub folds: usize,
    /// Draws of the set when it was found: with others it is found again.
    pub draws: usize,
    /// Mean log loss of these rows: by draws, by the trained weights, by the mixture.
    pub log_losses: [f64; 3],
}

impl TrainedShare {
    /// The share that belongs to a set of draws; none if none was found.
    pub(super) fn read(set: &Path, run: &RunInfo, draws: usize) -> Result<Option<Self>> {
        let found: Option<Self> = of_run::read(&set.join(SHARE_FILE), run, REMEDY)?;
        Ok(found.filter(|found| found.draws == draws))
    }
}

/// Predictions of rows that neither draws nor trained weights have seen, in the units of the data.
fn unseen(draws: &Predictor, trained: &Predictor, rows: &Dataset) -> Result<Unseen> {
    let targets = decoded_targets(rows.targets(), &draws.scales);
    let [of_draws, of_trained] = [draws.predict(rows.inputs())?, trained.predict(rows.inputs())?];
    Ok(Unseen { of_draws, of_trained, targets })
}

/// Folds of a posterior under way.
struct Folds<'a> {
    saved: &'a SavedPosterior,
    data: &'a TrainingData,
    config: SampleConfig,
    session: Session<'a>,
}

/// The share of the trained weights beside draws that are complete, found once per set; none where it is not for these.
pub(super) fn share_beside(
    saved: &SavedPosterior,
    data: &TrainingData,
    taken: &Taken,
    config: &SampleConfig,
    set: &Path,
    session: Session<'_>,
) -> Result<Option<TrainedShare>> {
    let (whole, file) =
        (!taken.stopped && !taken.out_of_time && config.shard.is_none(), set.join(SHARE_FILE));
    let network = Network::new(&saved.model.network)?;
    if config.folds < 2 && file.is_file() {
        // What was found before is not asked for any more.
        std::fs::remove_file(&file).map_err(io(&file, "remove it"))?;
    }
    if !whole || config.folds < 2 || !is_for(saved, &network, &data.train, config.folds, &taken.config) {
        return Ok(None);
    }
    let dim = saved.laplace.gaussian.theta().len();
    let run = RunInfo::new(taken.config.clone(), config.seed, dim, saved.origin());
    let before = TrainedShare::read(set, &run, taken.draws.len())?;
    if let Some(before) = before.filter(|before| before.folds == config.folds) {
        return Ok(Some(before));
    }
    let strength = taken.diagnosis.summary.strength;
    let find = || {
        let RunConfig::Posterior(mut posterior) = taken.config.clone() else { return Ok(None) };
        if let Some(strength) = strength {
            posterior.strength = Strength::Fixed(strength);
        }
        let draws = (taken.draws.len() as u64).min(DRAWS);
        let of_fold = SampleConfig::new(RunConfig::Posterior(posterior), draws, config.seed);
        let folds = Folds { saved, data, config: of_fold, session };
        folds.share(config.folds, taken).map(Some)
    };
    match find() {
        Err(WorkflowError::Interrupted | WorkflowError::Library(riemla::Error::Stopped { .. })) => {
            let remedy = "the same command finds it";
            session
                .watch
                .note(&format!("interrupted: the share of the trained weights was not found; {remedy}"));
            Ok(None)
        }
        // What was judged are folds that draw like the whole; draws stay as they are where one cannot.
        Err(error @ (WorkflowError::Library(_) | WorkflowError::Unfit(_))) => {
            session.watch.note(&format!("no share of the trained weights, as a fold failed: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
        Ok(found) => {
            if let Some(found) = &found {
                of_run::write(&file, &run, found)?;
            }
            Ok(found)
        }
    }
}

/// Polished draws of all weights, of classes or numbers, from few rows that all count once.
fn is_for(saved: &SavedPosterior, network: &Network, train: &Dataset, folds: usize, run: &RunConfig) -> bool {
    let by_default = |posterior: &PosteriorConfig| {
        posterior.method == Method::RiemLa && posterior.polish.is_some() && posterior.batch.is_none()
    };
    let few = (LEAST_ROWS.max(folds)..=MOST_ROWS).contains(&train.len()) && train.weights().is_none();
    let kind = matches!(saved.laplace.likelihood.kind(), TargetKind::Classes | TargetKind::Values);
    let asked = matches!(run, RunConfig::Posterior(posterior) if by_default(posterior));
    let small =
        match in_few_eigenpairs(&saved.config, network, train.len(), saved.laplace.likelihood).structure {
            Structure::LowRank { rank } => rank.saturating_mul(network.dim()) <= MOST_NUMBERS,
            _ => network.dim() <= MOST_WEIGHTS,
        };
    asked && few && small && kind && saved.config.subset == Subset::All
}

impl Folds<'_> {
    fn share(&self, folds: usize, taken: &Taken) -> Result<TrainedShare> {
        let train = &self.data.train;
        let parts = parts(train.targets(), folds, self.config.seed)?;
        self.session.watch.begin("leaving out rows in turn", folds as u64);
        let mut all = Vec::new();
        for (k, out) in parts.iter().enumerate() {
            let kept: Vec<usize> = (0..train.len()).filter(|row| !out.contains(row)).collect();
            let (draws, weights) = self.fold(k as u64, &train.select(&kept)?)?;
            all.push(unseen(&draws, &weights, &train.select(out)?)?);
            self.session.watch.step();
        }
        if let Some(held_out) = &self.data.validation {
            let thetas = taken.draws.iter().map(|draw| draw.theta.clone()).collect();
            let draws = assembled(self.saved, &taken.config, thetas)?;
            all.push(unseen(&draws, &trained(self.saved)?, held_out)?);
        }
        let share = trained_share(&all)?;
        let [draws, trained, mixed] = [0.0, 1.0, share].map(|share| log_loss_at(&all, share));
        let found = TrainedShare {
            share,
            rows: all.iter().map(|part| part.targets.len()).sum(),
            folds,
            draws: taken.draws.len(),
            log_losses: [draws?, trained?, mixed?],
        };
        self.session.watch.note(&format!(
            "share of the trained weights in predictions: {:.2}, chosen with {} rows left out in turn or held out",
            found.share, found.rows
        ));
        Ok(found)
    }

    /// Trains, fits and draws with the rows of a fold, under the prior and noise that were found with all.
    fn fold(&self, k: u64, rows: &Dataset) -> Result<(Predictor, Predictor)> {
        let SavedPosterior { model, laplace, config, .. } = self.saved;
        let network = Arc::new(Network::new(&model.network)?);
        let loss = NetworkLoss::new(network, rows.clone(), laplace.likelihood, laplace.prior.clone())?;
        let search = PriorSearch {
            prior: PriorChoice::Keep,
            seed: self.config.seed.wrapping_add(1 + k),
            ..PriorSearch::default()
        };
        let found = search.run(&loss, Control::default().stopping(self.session.stop))?;
        let prior_precision = self.saved.prior_precision();
        let model = Model { theta: found.theta, prior_precision, training: None, ..model.clone() };
        let quiet = Session::new(self.session.stop, &Silent);
        let config = LaplaceConfig { prior: PriorChoice::Keep, refit: None, ..config.clone() };
        let config = in_few_eigenpairs(&config, found.loss.network(), rows.len(), laplace.likelihood);
        let data = TrainingData { train: rows.clone(), validation: None };
        let fitted = fit_on(model.clone(), data, &config, None, quiet)?.posterior;
        let taken = sample_in_memory(&fitted, &self.config, quiet)?;
        if self.session.stopped() {
            return Err(WorkflowError::Interrupted);
        }
        let thetas = taken.draws.into_iter().map(|draw| draw.theta).collect();
        Ok((assembled(&fitted, &taken.config, thetas)?, Predictor::map(&model)?))
    }
}

/// Rows of each fold: classes are spread evenly, and numbers by their size (of several targets, the first).
fn parts(targets: &Targets, folds: usize, seed: u64) -> riemla::Result<Vec<Vec<usize>>> {
    let mut rows = split(targets.len(), &[targets.len()], seed)?.concat();
    match targets {
        Targets::Classes(labels) => rows.sort_by_key(|row| labels[*row]),
        Targets::Values { values, outputs } => {
            rows.sort_by(|a, b| values[a * outputs].total_cmp(&values[b * outputs]));
        }
    }
    let mut parts = vec![Vec::new(); folds];
    rows.into_iter().enumerate().for_each(|(place, row)| parts[place % folds].push(row));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_share_out_rows_and_classes() {
        let labels: Vec<usize> =
            (0..47).map(|row| usize::from(row % 5 == 0) + usize::from(row % 9 == 0)).collect();
        let targets = Targets::Classes(labels.clone());
        let of_seed = |seed| parts(&targets, 5, seed).unwrap();
        let parts = of_seed(3);
        let mut all: Vec<usize> = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..47).collect::<Vec<_>>());
        for class in 0..3 {
            let counts = parts.iter().map(|part| part.iter().filter(|row| labels[**row] == class).count());
            let (low, high) = (counts.clone().min(), counts.max());
            assert!(high.unwrap() <= low.unwrap() + 1, "class {class}: {low:?} to {high:?}");
        }
        assert_ne!(parts, of_seed(4));
    }

    #[test]
    fn folds_share_out_small_and_large_numbers() {
        let values: Vec<f64> = (0..23).flat_map(|row| [f64::from(row * row % 23), 0.0]).collect();
        let parts = parts(&Targets::Values { values: values.clone(), outputs: 2 }, 4, 3).unwrap();
        let means =
            parts.iter().map(|part| part.iter().map(|row| values[2 * row]).sum::<f64>() / part.len() as f64);
        let (low, high) = (means.clone().fold(f64::INFINITY, f64::min), means.fold(0.0, f64::max));
        assert!(high - low < 5.0, "{low} to {high}");
        assert_eq!(parts.concat().len(), 23);
    }
}
