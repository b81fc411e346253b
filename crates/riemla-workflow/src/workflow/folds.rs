//! How much the trained weights count beside draws of a table with few rows: found by leaving out a part of the rows in turn
//! (docs/decisions/0038-trained-share.md).

use std::path::Path;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{LaplaceConfig, PriorChoice, Structure, Subset};
use riemla::data::{Dataset, Targets, split};
use riemla::nn::Network;
use riemla::objective::{NetworkLoss, TargetKind};
use riemla::posterior::{Method, PosteriorConfig, Strength};
use riemla::predict::{Unseen, log_loss_at, trained_share};
use riemla::train::Recipe;
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
    /// Whether the held-out rows chose the strength: then they have been seen.
    chosen_by_held_out: bool,
    config: SampleConfig,
    session: Session<'a>,
}

/// Whether a share may be asked for: only then are posterior and data kept while draws are taken.
pub(super) fn may_share(data: &TrainingData, config: &SampleConfig) -> bool {
    config.folds.is_some_and(|folds| folds >= 2) && data.train.len() <= MOST_ROWS
}

/// Removes what was found before, where it is not asked for any more.
pub(super) fn forget_share(config: &SampleConfig, set: &Path) -> Result<()> {
    let file = set.join(SHARE_FILE);
    if config.folds.is_some_and(|folds| folds < 2) && file.is_file() {
        std::fs::remove_file(&file).map_err(io(&file, "remove it"))?;
    }
    Ok(())
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
    let Some(count) = config.folds.filter(|folds| *folds >= 2) else { return Ok(None) };
    let whole = !taken.stopped && !taken.out_of_time && config.shard.is_none();
    let network = Network::new(&saved.model.network)?;
    let Some(posterior) = drawn_by(&taken.config).filter(|_| whole) else { return Ok(None) };
    if !is_for(saved, &network, &data.train, count) {
        return Ok(None);
    }
    let dim = saved.laplace.gaussian.theta().len();
    let run = RunInfo::new(taken.config.clone(), config.seed, dim, saved.origin());
    let before = TrainedShare::read(set, &run, taken.draws.len())?;
    if let Some(before) = before.filter(|before| before.folds == count) {
        return Ok(Some(before));
    }
    let chosen_by_held_out = matches!(posterior.strength, Strength::HeldOut { .. });
    let strength = taken.diagnosis.summary.strength.map_or(posterior.strength, Strength::Fixed);
    let of_fold = PosteriorConfig { strength, ..posterior };
    let draws = (taken.draws.len() as u64).min(DRAWS);
    let of_fold = SampleConfig::new(RunConfig::Posterior(of_fold), draws, config.seed);
    let folds = Folds { saved, data, chosen_by_held_out, config: of_fold, session };
    let found = unless_interrupted(folds.share(count, taken), session)?;
    if let Some(found) = &found {
        of_run::write(&set.join(SHARE_FILE), &run, found)?;
    }
    Ok(found)
}

/// Without a share where folds were interrupted, and where one failed: what was judged are folds that draw like the whole.
fn unless_interrupted(found: Result<TrainedShare>, session: Session<'_>) -> Result<Option<TrainedShare>> {
    let note = match found {
        Ok(found) => return Ok(Some(found)),
        Err(WorkflowError::Interrupted | WorkflowError::Library(riemla::Error::Stopped { .. })) => {
            "interrupted: the share of the trained weights was not found; the same command finds it".into()
        }
        Err(error @ (WorkflowError::Library(_) | WorkflowError::Unfit(_))) => {
            format!("no share of the trained weights, as a fold failed: {error}")
        }
        Err(error) => return Err(error),
    };
    session.watch.note(&note);
    Ok(None)
}

/// How draws were made, if as folds were judged: polished, by riem-la on all rows.
fn drawn_by(run: &RunConfig) -> Option<PosteriorConfig> {
    let RunConfig::Posterior(posterior) = run else { return None };
    let by_default =
        posterior.method == Method::RiemLa && posterior.polish.is_some() && posterior.batch.is_none();
    by_default.then(|| posterior.clone())
}

/// All weights, of classes or numbers, from few rows that all count once.
fn is_for(saved: &SavedPosterior, network: &Network, train: &Dataset, folds: usize) -> bool {
    let few = (LEAST_ROWS.max(folds)..=MOST_ROWS).contains(&train.len()) && train.weights().is_none();
    let kind = matches!(saved.laplace.likelihood.kind(), TargetKind::Classes | TargetKind::Values);
    let small =
        match in_few_eigenpairs(&saved.config, network, train.len(), saved.laplace.likelihood).structure {
            Structure::LowRank { rank } => rank.saturating_mul(network.dim()) <= MOST_NUMBERS,
            _ => network.dim() <= MOST_WEIGHTS,
        };
    few && small && kind && saved.config.subset == Subset::All
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
        if let Some(held_out) = self.data.validation.as_ref().filter(|_| !self.chosen_by_held_out) {
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
        let likelihood = laplace.likelihood;
        let loss = NetworkLoss::new(network, rows.clone(), likelihood, laplace.prior.clone())?;
        let seed = self.config.seed.wrapping_add(1 + k);
        let control = Control::default().stopping(self.session.stop);
        let (theta, _) = Recipe::default().train(&loss, seed, control)?;
        let prior_precision = self.saved.prior_precision();
        let model = Model { theta, likelihood, prior_precision, training: None, ..model.clone() };
        let quiet = Session::new(self.session.stop, &Silent);
        let config = LaplaceConfig { prior: PriorChoice::Keep, refit: None, ..config.clone() };
        let config = in_few_eigenpairs(&config, loss.network(), rows.len(), likelihood);
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
    use riemla::data::toy::sine_with_gap;
    use riemla::nn::{Activation, NetworkSpec};
    use riemla::objective::{Likelihood, Objective as _, Prior, PriorPrecision};
    use riemla::predict::Prediction;

    use super::*;

    /// The fit found another noise than the model came with, as of imported networks: folds are trained, fitted and predict with
    /// that of the fit, at a minimum of the loss that is sampled.
    #[test]
    fn folds_of_numbers_have_the_noise_of_the_fit() {
        let train = sine_with_gap(60, 0.1, 3).unwrap();
        let network = NetworkSpec::mlp(&[1, 4, 1], Activation::Tanh);
        let built = Arc::new(Network::new(&network).unwrap());
        let likelihood = Likelihood::Gaussian { sigma_noise: 1.0 };
        let prior_precision = PriorPrecision::Scalar(0.1);
        let prior = Prior::new(&prior_precision, &built).unwrap();
        let loss = NetworkLoss::new(Arc::clone(&built), train.clone(), likelihood, prior).unwrap();
        let (theta, _) = Recipe::default().train(&loss, 1, Control::default()).unwrap();
        let model = Model { network, likelihood, prior_precision, encoding: None, training: None, theta };
        let data = TrainingData { train: train.clone(), validation: None };
        let saved = fit_on(model, data.clone(), &LaplaceConfig::default(), None, Session::silent())
            .unwrap()
            .posterior;
        let found = saved.laplace.likelihood;
        let Likelihood::Gaussian { sigma_noise } = found else { panic!("{found:?}") };
        assert!(sigma_noise < 0.8, "{sigma_noise}");
        let posterior =
            PosteriorConfig { strength: Strength::Fixed(0.1), ..PosteriorConfig::new(Method::RiemLa) };
        let config = SampleConfig::new(RunConfig::Posterior(posterior), 2, 1);
        let (saved, data) = (&saved, &data);
        let folds = Folds { saved, data, chosen_by_held_out: false, config, session: Session::silent() };
        let (draws, trained) = folds.fold(0, &train).unwrap();
        for predictor in [draws, trained.clone()] {
            let Prediction::Values(values) = predictor.predict(&[0.3]).unwrap() else { panic!("numbers") };
            assert!((values.aleatoric_variance[0] - sigma_noise * sigma_noise).abs() < 1e-12);
        }
        let sampled = NetworkLoss::new(built, train, found, saved.laplace.prior.clone()).unwrap();
        let mut gradient = vec![0.0; sampled.dim()];
        sampled.value_and_gradient(&trained.thetas[0], &mut gradient);
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        assert!(norm < 1e-4, "{norm}");
    }

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
