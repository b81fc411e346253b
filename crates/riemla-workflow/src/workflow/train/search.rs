//! One network: weights, prior and noise by the search of the library, with progress and its cost.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Instant;

use riemla::Control;
use riemla::curvature::{PriorChoice, PriorSearch, PriorTrial, SearchWay};
use riemla::data::{Dataset, Targets};
use riemla::nn::{Network, NetworkSpec};
use riemla::objective::{Likelihood, NetworkLoss, Prior, PriorPrecision};
use riemla::train::{Recipe, TrainReport};
use riemla_files::{Encoding, Model, Task, TrainingRecord};
use serde::Serialize;

use super::prepare::classes;
use super::{PartScores, Prepared, TrainConfig};
use crate::likelihood::LikelihoodName;
use crate::scores::{Scorer, decoded_targets};
use crate::watch::Session;
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::predictor::Predictor;

/// Prior precision where the evidence cannot choose one, and noise (of a standardised target) to begin with.
const FIRST_PRIOR: f64 = 1.0;
const FIRST_NOISE: f64 = 0.5;
/// Trials after which the rest can be estimated.
const SEEN: usize = 5;

/// What a training took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SearchCost {
    /// Priors that were tried, for all networks together.
    pub trials: usize,
    /// Gradients of all descents.
    pub gradients: usize,
    /// Seconds.
    pub seconds: f64,
    /// Whether weights and prior of a network were taken in turn.
    pub in_turn: bool,
}

/// A trained network.
pub(super) struct Fitted {
    pub(super) spec: NetworkSpec,
    pub(super) likelihood: Likelihood,
    pub(super) prior: PriorPrecision,
    pub(super) theta: Vec<f64>,
    pub(super) log_marginal_likelihood: Option<f64>,
    pub(super) report: TrainReport,
}

impl Fitted {
    pub(super) fn model(&self, training: Option<TrainingRecord>, encoding: Option<Encoding>) -> Model {
        Model {
            network: self.spec.clone(),
            likelihood: self.likelihood,
            prior_precision: self.prior.clone(),
            training,
            encoding,
            theta: self.theta.clone(),
        }
    }
}

/// The likelihood that was asked for, or the usual one, and the outputs that a network needs for it.
fn likelihood_for(config: &TrainConfig, prepared: &Prepared) -> Result<(Likelihood, usize)> {
    let targets = match prepared.data.train.targets() {
        Targets::Values { outputs, .. } => *outputs,
        Targets::Classes(_) => classes(prepared),
    };
    // Columns of a table are different things: each has its own noise. Outputs of an array may be alike.
    let several = prepared.encoding.is_some() && targets > 1;
    let usual = match prepared.task {
        Task::Classification => LikelihoodName::Categorical,
        Task::Regression if several => LikelihoodName::GaussianPerOutput,
        Task::Regression => LikelihoodName::Gaussian,
        Task::Counts => LikelihoodName::Poisson,
        Task::Labels => LikelihoodName::MultiLabel,
    };
    let name = config.likelihood.unwrap_or(usual);
    if name == LikelihoodName::Bernoulli {
        let two = targets == 2;
        let unfit = || WorkflowError::unfit(format!("bernoulli is for two classes, and there are {targets}"));
        return if two { Ok((Likelihood::Bernoulli, 1)) } else { Err(unfit()) };
    }
    let likelihood = name.with_noise(FIRST_NOISE, targets)?;
    let outputs = likelihood.outputs_for(targets);
    likelihood.check(outputs, prepared.data.train.targets())?;
    Ok((likelihood, outputs))
}

/// A training under way.
pub(super) struct Run<'a> {
    pub(super) config: &'a TrainConfig,
    pub(super) prepared: &'a Prepared,
    pub(super) outputs: usize,
    pub(super) notes: Vec<String>,
    pub(super) cost: SearchCost,
    train: Arc<Dataset>,
    /// Whether weights and prior are taken in turn.
    in_turn: bool,
    pub(super) likelihood: Likelihood,
    session: Session<'a>,
}

impl<'a> Run<'a> {
    pub(super) fn new(config: &'a TrainConfig, prepared: &'a Prepared, session: Session<'a>) -> Result<Self> {
        let train = Arc::new(prepared.data.train.clone());
        let (likelihood, outputs) = likelihood_for(config, prepared)?;
        let (notes, cost) = (Vec::new(), SearchCost::default());
        Ok(Self { config, prepared, outputs, notes, cost, train, in_turn: false, likelihood, session })
    }

    pub(super) fn stopped(&self) -> bool {
        self.session.stopped()
    }

    /// Looks at the largest network that will be trained: whether weights and prior are taken in turn, for it and for all that are
    /// compared with it, since evidences of two ways are not.
    pub(super) fn settle_the_way(&mut self, largest: &NetworkSpec) -> Result<()> {
        let loss = self.loss(largest)?;
        let search = PriorSearch {
            prior: self.config.prior.clone(),
            way: self.config.search,
            ..PriorSearch::default()
        };
        let searched = matches!(self.config.prior, PriorChoice::Optimize | PriorChoice::OptimizePerLayer);
        self.in_turn = searched && search.takes_turns(&loss);
        if self.in_turn && self.config.search == SearchWay::Auto {
            let why = "a search over all priors would take about 15 000 gradients (--search ladder does it)";
            self.notes.push(format!("weights and prior precision were found in turn, from one start: {why}"));
        }
        Ok(())
    }

    fn loss(&self, spec: &NetworkSpec) -> Result<NetworkLoss> {
        let network = Arc::new(Network::new(spec)?);
        let prior = Prior::isotropic(FIRST_PRIOR, network.dim())?;
        Ok(NetworkLoss::new(network, self.train.clone(), self.likelihood, prior)?)
    }

    /// Trains one network; `name` is what the user reads while that is done.
    pub(super) fn fit(&mut self, name: &str, spec: &NetworkSpec) -> Result<Fitted> {
        let loss = self.loss(spec)?;
        let mut search = PriorSearch {
            prior: self.config.prior.clone(),
            // What is only compared with a network gets no more effort than that.
            way: if self.in_turn { SearchWay::InTurn } else { self.config.search },
            recipe: Recipe { iterations: self.config.iterations, ..Recipe::default() },
            seed: self.config.seed,
            ..PriorSearch::default()
        };
        let found = match self.search(name, &search, &loss) {
            Ok(found) => found,
            Err(error @ (riemla::Error::Unsupported(_) | riemla::Error::NotPositiveDefinite { .. }))
                if search.prior != PriorChoice::Keep =>
            {
                self.notes
                    .push(format!("the prior precision is {FIRST_PRIOR}, not by the evidence: {error}"));
                search.prior = PriorChoice::Keep;
                self.search(name, &search, &loss)?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Fitted {
            spec: spec.clone(),
            likelihood: found.loss.likelihood(),
            prior: found.loss.prior().to_precision(),
            theta: found.theta,
            log_marginal_likelihood: found.log_marginal_likelihood,
            report: found.report,
        })
    }

    fn search(
        &mut self,
        name: &str,
        search: &PriorSearch,
        loss: &NetworkLoss,
    ) -> riemla::Result<riemla::curvature::PriorFound> {
        let start = Instant::now();
        let begun = Mutex::new(false);
        let watch = self.session.watch;
        let observe = |trial: &PriorTrial| {
            let mut begun = begun.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if !*begun {
                watch.begin(name, trial.expected as u64);
                *begun = true;
            }
            watch.step();
            if trial.number == SEEN {
                let seconds = start.elapsed().as_secs_f64() * trial.expected as f64 / SEEN as f64;
                watch.estimate(&format!(
                    "{name}: about {} priors to try, roughly {seconds:.0} s; Ctrl-C keeps the best so far",
                    trial.expected
                ));
            }
        };
        watch.begin(name, 0);
        let found = search.run(loss, Control::default().stopping(self.session.stop).observing(&observe))?;
        self.cost.trials += found.trials;
        self.cost.gradients += found.gradients;
        self.cost.seconds += start.elapsed().as_secs_f64();
        self.cost.in_turn |= found.in_turn;
        Ok(found)
    }

    /// Scores of trained weights on both parts.
    pub(super) fn part_scores(&self, fitted: &Fitted) -> Result<Vec<PartScores>> {
        let predictor = Predictor::map(&fitted.model(None, self.prepared.encoding.clone()))?;
        let mut all = Vec::new();
        for (part, data) in self.parts() {
            let targets = decoded_targets(data.targets(), &predictor.scales);
            let scores = Scorer::default().all(&predictor.predict(data.inputs())?, &targets)?;
            all.push(PartScores { part, rows: data.len(), scores });
        }
        Ok(all)
    }

    /// Rows trained on and rows held out, with their names.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&'static str, &'a Dataset)> {
        let data = &self.prepared.data;
        [("train", Some(&data.train)), ("validation", data.validation.as_ref())]
            .into_iter()
            .filter_map(|(part, data)| Some((part, data?)))
    }
}
