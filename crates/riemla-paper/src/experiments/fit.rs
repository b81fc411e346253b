//! The trained weights θ* of a problem: trained once per seed, kept on disk, shared by all presets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, PriorSearch, PriorTrial, SearchWay};
use riemla::nn::Network;
use riemla::objective::{Likelihood, NetworkLoss, Objective as _, Prior, PriorPrecision};
use riemla::posterior::{Method, NetworkOutputs, Outputs as _};
use riemla::train::{self, Schedule, TrainReport, TrainStatus};
use riemla_files::identity::differences;
use riemla_files::json::FORMAT_VERSION;
use riemla_files::{Digest, Existing, Model, TrainingRecord, Turn};
use serde::{Deserialize, Serialize};

use super::config::{Optimizer, Problem, Split, Training};
use super::layout::{REMEDY, read_json, slug, write_json};
use super::rows::{Rows, rows, values};
use super::{ExperimentError, NetworkChoice, PriorName, Result};
use crate::datasets::{DataDirs, load};
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::Predictor;
use riemla_workflow::workflow::predictor::Way;

/// A trained network.
pub struct Fit {
    /// The network.
    pub network: Arc<Network>,
    /// The loss on the training rows, under the prior that weight decay means.
    pub loss: NetworkLoss,
    /// The weights.
    pub theta: Vec<f64>,
    /// How training ended.
    pub training: TrainingRecord,
}

/// Everything that the weights depend on: kept beside them, and compared when they are used again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Key {
    format_version: u64,
    data: String,
    split: Split,
    standardize: bool,
    network: NetworkChoice,
    likelihood: Likelihood,
    training: Training,
    seed: u64,
    riemla_version: String,
    trained_on: Digest,
}

impl Key {
    fn new(problem: &Problem, rows: &Rows, seed: u64) -> Self {
        let Problem { data, split, standardize, network, likelihood, training, .. } = problem.clone();
        // Only the test changes with these rows.
        let training = Training { test_rows: None, ..training };
        Self {
            format_version: FORMAT_VERSION,
            data,
            split,
            standardize,
            network,
            likelihood,
            training,
            seed,
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            trained_on: Digest::of_data(&rows.train),
        }
    }
}

/// The directory of a problem's weights under a seed.
pub fn directory(out: &Path, problem: &Problem, seed: u64, prior: PriorName) -> PathBuf {
    let name = slug(problem.fit.as_ref().unwrap_or(&problem.name));
    let name = if prior.comes_with_weights() { format!("{name}-{}", prior.name()) } else { name };
    out.join("fits").join(name).join(format!("seed-{seed}"))
}

/// The weights from disk, or trained and put there; those of the searched prior are others than the paper's.
pub fn fit(
    out: &Path,
    problem: &Problem,
    rows: &Rows,
    seed: u64,
    prior: PriorName,
    session: Session<'_>,
) -> Result<Fit> {
    let directory = directory(out, problem, seed, prior);
    let key_file = directory.with_extension("json");
    let key = Key::new(problem, rows, seed);
    // One process trains, others that share the cells wait for its weights.
    let _turn = match key_file.exists() {
        true => None,
        false => match Turn::wait(&key_file.with_extension("lock"), session.stop)? {
            None => return Err(ExperimentError::Interrupted),
            turn => turn,
        },
    };
    if let Some(found) = read_json::<Key>(&key_file)? {
        let differences = differences(&found, &key);
        if !differences.is_empty() {
            let what = format!("training of {}: {}", problem.name, differences.join("; "));
            return Err(ExperimentError::Changed { file: key_file, what });
        }
        let model = Model::read(&directory)?;
        let training = model.training.ok_or_else(|| {
            let file = directory.display();
            ExperimentError::Unfit(format!("{file}: it does not say how it was trained; {REMEDY}"))
        })?;
        let loss = if prior.comes_with_weights() {
            let prior = Prior::new(&model.prior_precision, loss(problem, rows)?.network())?;
            loss(problem, rows)?.with(model.likelihood, prior)?
        } else {
            loss(problem, rows)?
        };
        return Ok(Fit { network: loss.network().clone(), loss, theta: model.theta, training });
    }
    session.watch.note(&format!("{}: training, seed {seed}", problem.name));
    let fit = match prior {
        PriorName::Searched => search_new(problem, rows, (seed, SearchWay::Auto), session)?,
        PriorName::Alternated => search_new(problem, rows, (seed, SearchWay::InTurn), session)?,
        _ => train_new(problem, rows, seed, session)?,
    };
    let model = Model {
        network: fit.network.spec().clone(),
        likelihood: fit.loss.likelihood(),
        prior_precision: PriorPrecision::Scalar(fit.loss.prior().scalar().unwrap_or_default()),
        encoding: None,
        training: Some(fit.training.clone()),
        theta: fit.theta.clone(),
    };
    model.write(&directory, Existing::Replace)?;
    write_json(&key_file, &key)?;
    Ok(fit)
}

/// The same with its rows and approximation, of a problem whose data are in `data`.
pub fn trained(
    problem: &Problem,
    seed: u64,
    prior: PriorName,
    out: &Path,
    data: &DataDirs,
) -> Result<(Rows, Fit, Laplace)> {
    let rows = rows(problem, &load(&problem.data, data)?, seed)?;
    let fit = fit(out, problem, &rows, seed, prior, Session::silent())?;
    let laplace = fit.laplace(problem, &rows, prior)?;
    Ok((rows, fit, laplace))
}

/// The loss whose gradient the authors' optimiser follows.
fn loss(problem: &Problem, rows: &Rows) -> Result<NetworkLoss> {
    let network = Arc::new(Network::new(&problem.network.spec())?);
    let prior = Prior::isotropic(problem.training.weight_decay, network.dim())?;
    Ok(NetworkLoss::new(network, rows.train.clone(), problem.likelihood, prior)?)
}

fn train_new(problem: &Problem, rows: &Rows, seed: u64, session: Session<'_>) -> Result<Fit> {
    let loss = loss(problem, rows)?;
    let mut theta = loss.network().initialize(seed);
    let report = optimize(problem, rows, &loss, &mut theta, seed, session)?;
    if session.stopped() || report.status == TrainStatus::Stopped {
        return Err(ExperimentError::Interrupted);
    }
    if report.status == TrainStatus::NonFinite {
        return Err(ExperimentError::Unfit(format!(
            "training {} (seed {seed}) diverged; lower its learning_rate",
            problem.name
        )));
    }
    let method = format!("{:?}", problem.training.optimizer).to_lowercase();
    Ok(recorded(loss, theta, rows, seed, method, &report))
}

/// Weights, prior and noise of the largest evidence, as `riemla train` finds them.
fn search_new(
    problem: &Problem,
    rows: &Rows,
    (seed, way): (u64, SearchWay),
    session: Session<'_>,
) -> Result<Fit> {
    let search = PriorSearch { seed, way, ..PriorSearch::default() };
    let tried = |trial: &PriorTrial| {
        let PriorPrecision::Scalar(precision) = trial.prior_precision else { return };
        let evidence = trial.log_marginal_likelihood.unwrap_or(f64::NAN);
        let (name, gradients) = (&problem.name, trial.gradients);
        session.watch.note(&format!(
            "{name}: prior precision {precision:.3}, log marginal likelihood {evidence:.1} after {gradients} gradients"
        ));
    };
    let control = Control::default().stopping(session.stop).observing(&tried);
    let found = search.run(&loss(problem, rows)?, control)?;
    if found.stopped {
        return Err(ExperimentError::Interrupted);
    }
    let method = if found.in_turn { "in turn with the prior" } else { "search" };
    Ok(recorded(found.loss, found.theta, rows, seed, method.into(), &found.report))
}

fn recorded(
    loss: NetworkLoss,
    theta: Vec<f64>,
    rows: &Rows,
    seed: u64,
    method: String,
    report: &TrainReport,
) -> Fit {
    // Of the sum over all data, whatever the optimiser looked at.
    let mut gradient = vec![0.0; theta.len()];
    let value = loss.value_and_gradient(&theta, &mut gradient);
    let training = TrainingRecord {
        class_weights: None,
        method,
        seed: Some(seed),
        samples: rows.train.len(),
        loss: value,
        gradient_norm: gradient.iter().map(|g| g * g).sum::<f64>().sqrt(),
        iterations: report.iterations,
        status: format!("{:?}", report.status),
        data: Some(Digest::of_data(&rows.train)),
        held_out: None,
    };
    Fit { network: loss.network().clone(), loss, theta, training }
}

fn optimize(
    problem: &Problem,
    rows: &Rows,
    loss: &NetworkLoss,
    theta: &mut [f64],
    seed: u64,
    session: Session<'_>,
) -> Result<TrainReport> {
    let Training { learning_rate, cosine, epochs, weight_decay, .. } = problem.training;
    let learning_rate =
        if cosine { Schedule::Cosine { initial: learning_rate } } else { Schedule::Constant(learning_rate) };
    let control = session.control();
    Ok(match problem.training.optimizer {
        Optimizer::GradientDescent => {
            let config = train::GradientDescent { learning_rate, epochs, ..Default::default() };
            train::gradient_descent(loss, theta, &config, control)?
        }
        Optimizer::Adam => {
            let config = train::Adam { learning_rate, epochs, ..Default::default() };
            train::adam(loss, theta, &config, control)?
        }
        Optimizer::Lbfgs => train::lbfgs(loss, theta, &train::Lbfgs::default(), control)?,
        Optimizer::Sgd => {
            let n = rows.train.len();
            let batch_size = problem.training.batch_size.unwrap_or(n).min(n);
            // One step follows the sum over its batch plus weight decay; ours the estimate of the
            // whole loss, N/B times that. The same decay per step is N/B times the prior.
            let share = batch_size as f64 / n as f64;
            let prior = Prior::isotropic(weight_decay / share, theta.len())?;
            let stochastic = loss.with(problem.likelihood, prior)?;
            let rule = train::Rule::Sgd { momentum: 0.0 };
            let config =
                train::MiniBatch { rule, learning_rate, epochs, batch_size, seed, gradient_scale: share };
            train::minibatch(&stochastic, theta, &config, control)?
        }
    })
}

impl Fit {
    /// The Laplace approximation under a prior. θ* stays; all presets share it.
    ///
    /// With a fixed prior the noise of a regression is the root mean square of the training errors:
    /// optimising the noise alone would need a search of its own, and ends close to it.
    pub fn laplace(&self, problem: &Problem, rows: &Rows, prior: PriorName) -> Result<Laplace> {
        let choice = match prior {
            PriorName::Optimized => PriorChoice::Optimize,
            PriorName::Fixed => PriorChoice::Fixed(PriorPrecision::Scalar(problem.fixed_prior)),
            PriorName::Given | PriorName::Searched | PriorName::Alternated => PriorChoice::Keep,
        };
        let (structure, subset) = (problem.structure, problem.subset.clone());
        let config = LaplaceConfig { prior: choice, structure, subset, ..LaplaceConfig::default() };
        if let (PriorName::Fixed, Likelihood::Gaussian { .. }) = (prior, problem.likelihood) {
            let sigma_noise = self.training_error(rows)?;
            let likelihood = Likelihood::Gaussian { sigma_noise };
            let loss = self.loss.with(likelihood, self.loss.prior().clone())?;
            return Ok(Laplace::fit(&loss, &self.theta, &config, Control::default())?);
        }
        Ok(Laplace::fit(&self.loss, &self.theta, &config, Control::default())?)
    }

    /// Predictions of weights under an approximation, which knows noise and centre.
    pub fn predictor(
        &self,
        laplace: &Laplace,
        linearized: bool,
        thetas: Vec<Vec<f64>>,
    ) -> riemla::Result<Predictor> {
        let outputs = Arc::new(NetworkOutputs::new(self.network.clone(), laplace.likelihood)?);
        let method = if linearized { Method::LinRiemLa } else { Method::RiemLa };
        let model = riemla::predict::Predictor::new(outputs, method, laplace.gaussian.clone());
        Ok(Predictor { model, thetas, way: Way::Draws, scales: Vec::new() })
    }

    fn training_error(&self, rows: &Rows) -> Result<f64> {
        let model = NetworkOutputs::new(self.network.clone(), self.loss.likelihood())?;
        let outputs = model.evaluate(&[&self.theta], rows.train.inputs())?;
        Ok(riemla::score::rmse(&outputs[0], values(&rows.train))?)
    }
}
