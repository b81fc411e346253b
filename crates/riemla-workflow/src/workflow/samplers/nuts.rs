//! `nuts`: Markov chains for the posterior itself.

use std::path::Path;
use std::sync::Arc;

use riemla::Control;
use riemla::curvature::Gaussian;
use riemla::error::check_len;
use riemla::objective::{Objective, Restricted};
use riemla::posterior::{Draw, FEW_DRAWS, Model, Moving};
use riemla::random::{Purpose, stream};
use riemla::reference::{
    Chains, Convergence, ESS_LIMIT, FEWEST_DRAWS, Nuts, NutsStep, R_HAT_LIMIT, Reference, Transition, nuts,
};
use riemla_files::ours::CHAINS_FILE;
use riemla_files::{RunConfig, RunInfo, SavedPosterior, TrainingData};
use serde::{Deserialize, Serialize};

use super::problem::{Problem, looks, summary};
use super::{Finished, Keeper, Sampler};
use crate::of_run;
use crate::workflow::diagnostics::Diagnosis;
use crate::workflow::draw_table::DrawTable;
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::sample_config::SampleConfig;

/// Training rows whose predictions are looked at.
const ROWS: usize = 100;

/// `chains.json`: what the chains did. A function of the run that is kept with it and the number of draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainRecord {
    /// Draws in the set.
    pub draws: u64,
    /// Steps of all chains after the warm-up: the draws, and what chains had beyond the shortest one.
    pub steps: u64,
    /// Gradients of the warm-up of all chains.
    pub warmup_gradients: u64,
    /// Gradients after it.
    pub gradients: u64,
    /// Steps after the warm-up whose integration broke down.
    pub divergences: usize,
    /// Mean acceptance probability.
    pub acceptance: f64,
    /// Mean number of doublings.
    pub tree_depth: f64,
    /// Steps after the warm-up that were ended by the largest depth.
    pub longest_trajectories: usize,
}

/// The same with the convergence of the draws.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainSummary {
    /// Number of chains.
    pub chains: usize,
    /// Convergence of the predictions for training rows, the worst of them; none for very few draws.
    pub predictions: Option<Convergence>,
    /// Convergence of the loss.
    pub loss: Option<Convergence>,
    /// Convergence of the weights, the worst of them.
    pub weights: Option<Convergence>,
    /// What the chains did.
    pub record: Option<ChainRecord>,
}

const REMEDY: &str =
    "remove it and run the same `riemla sample` again: the chains are run again and give the same draws";

impl ChainRecord {
    fn new(draws: u64, chains: &Chains, settings: &Nuts) -> Self {
        let all: Vec<&Transition> = chains.transitions().collect();
        let mean = |of: fn(&Transition) -> f64| {
            all.iter().map(|transition| of(transition)).sum::<f64>() / all.len().max(1) as f64
        };
        Self {
            draws,
            steps: all.len() as u64,
            warmup_gradients: chains.chains.iter().map(|chain| chain.warmup_gradients).sum(),
            gradients: all.iter().map(|transition| transition.gradients).sum(),
            divergences: chains.divergences(),
            acceptance: mean(|transition| transition.acceptance),
            tree_depth: mean(|transition| transition.depth as f64),
            longest_trajectories: all.iter().filter(|t| t.depth >= settings.max_depth).count(),
        }
    }

    /// Reads it from the directory of a set, if it is there; an error if it is of another run.
    pub fn read(directory: &Path, run: &RunInfo) -> Result<Option<Self>> {
        Ok(of_run::read(&directory.join(CHAINS_FILE), run, REMEDY)?)
    }
}

/// Chains to be run.
pub(super) struct Sampling {
    target: Target,
    settings: Nuts,
}

/// What the chains draw from, and where they start.
struct Target {
    model: Arc<dyn Model>,
    gaussian: Arc<Gaussian>,
    /// What the chains move on.
    moving: Moving,
    seed: u64,
    /// Inputs whose predictions are looked at; empty if there are none.
    inputs: Vec<f64>,
}

struct Drawn {
    target: Target,
    settings: Nuts,
    /// None if the set was complete already.
    chains: Option<Chains>,
}

impl Sampling {
    /// Of any model; the chains start around the centre of the Gaussian. Checks settings and the number of weights.
    pub(super) fn new(
        model: Arc<dyn Model>,
        gaussian: Arc<Gaussian>,
        settings: Nuts,
        config: &SampleConfig,
    ) -> Result<Self> {
        settings.check()?;
        check_len("weights of the Gaussian", model.dim(), gaussian.theta().len())?;
        let (weights, most) = (gaussian.subset().len(), config.most_weights);
        if weights > most {
            return Err(WorkflowError::unfit(format!(
                "NUTS on {weights} weights would take very long: a draw costs hundreds of gradients, and chains \
                 converge slowly; fit fewer weights (`riemla fit --subset last-layer`), or allow it with --max-weights {weights}"
            )));
        }
        let moving = match Moving::tail(&*model, &gaussian)? {
            Some(tail) => tail,
            None => Moving::all(model.clone(), gaussian.clone()),
        };
        let target = Target { model, gaussian, moving, seed: config.seed, inputs: Vec::new() };
        Ok(Self { target, settings })
    }

    /// Of a network; predictions for some of its training rows are looked at.
    pub(super) fn of_network(
        saved: SavedPosterior,
        data: TrainingData,
        settings: Nuts,
        config: &SampleConfig,
    ) -> Result<Self> {
        let Problem { loss, laplace, .. } = Problem::new(saved, data, config)?;
        let data = loss.data();
        let step = data.len().div_ceil(ROWS).max(1);
        let inputs = data.inputs().chunks(data.features()).step_by(step).flatten().copied().collect();
        let mut sampling = Self::new(Arc::new(loss), laplace.gaussian, settings, config)?;
        sampling.target.inputs = inputs;
        Ok(sampling)
    }
}

impl Target {
    /// The uncertain weights alone.
    fn objective(&self) -> Restricted<'_> {
        self.moving.on_uncertain(self.moving.model())
    }

    /// The centre plus a draw of the Gaussian, shortened until the loss is finite.
    fn start(&self, objective: &dyn Objective, chain: usize) -> Vec<f64> {
        let Self { gaussian, seed, .. } = self;
        let center = gaussian.subset().gather(gaussian.theta());
        let tangent = gaussian.draw_tangent(&mut stream(*seed, Purpose::Start, chain as u64));
        let tangent = gaussian.subset().gather(&tangent);
        let at = |share: f64| center.iter().zip(&tangent).map(|(c, v)| c + share * v).collect::<Vec<f64>>();
        let shares = (0..60).map(|halvings| 0.5f64.powi(halvings));
        shares.map(at).find(|start| objective.value(start).is_finite()).unwrap_or(center)
    }

    /// Outputs of the model for the inputs that are looked at, per draw.
    fn predictions(&self, draws: &[Draw]) -> Result<Vec<Vec<f64>>> {
        let Some(outputs) = self.model.outputs().filter(|_| !self.inputs.is_empty()) else {
            return Ok(Vec::new());
        };
        let thetas: Vec<&[f64]> = draws.iter().map(|draw| draw.theta.as_slice()).collect();
        Ok(outputs.evaluate(&thetas, &self.inputs)?)
    }
}

impl Sampler for Sampling {
    fn config(&self) -> RunConfig {
        Reference::Nuts(self.settings).into()
    }

    fn dim(&self) -> usize {
        self.target.model.dim()
    }

    /// Chains cannot go on in the middle: they are run again from their starts, with the same bits, and
    /// only what is missing is new.
    fn draw(self: Box<Self>, keeper: &Keeper<'_>) -> Result<Box<dyn Finished>> {
        let known = match keeper.place() {
            Some((set, run)) => ChainRecord::read(set, &run)?,
            None => None,
        };
        let complete = known.is_some_and(|record| record.draws >= keeper.samples);
        if complete && keeper.missing().is_empty() {
            let Self { target, settings } = *self;
            return Ok(Box::new(Drawn { target, settings, chains: None }));
        }
        let objective = self.target.objective();
        let starts: Vec<Vec<f64>> =
            (0..self.settings.chains).map(|chain| self.target.start(&objective, chain)).collect();
        let count = self.settings.chains as u64;
        let rounds = keeper.samples.div_ceil(count);
        keeper.session.watch.begin("warm-up and draws of NUTS", count * (self.settings.warmup + rounds));
        let progress = |step: &NutsStep| {
            let index = step.draw.map(|draw| draw as u64 * count + step.chain as u64);
            if let Some(index) = index.filter(|index| *index < keeper.samples) {
                keeper.keep_weights(index, self.target.gaussian.embed(&step.theta));
            }
            keeper.session.watch.step();
        };
        let control = Control::default().observing(&progress).stopping(keeper.session.stop);
        let chains = nuts(&objective, &starts, rounds as usize, self.target.seed, &self.settings, control)?;
        let Self { target, settings } = *self;
        Ok(Box::new(Drawn { target, settings, chains: Some(chains) }))
    }
}

impl Finished for Drawn {
    /// Draws without a gap from the first on: chains that were faster have no more draws than the others.
    fn fair(&self, draws: Vec<Draw>) -> Vec<Draw> {
        draws
            .into_iter()
            .zip(0..)
            .take_while(|(draw, index)| draw.index == *index)
            .map(|(draw, _)| draw)
            .collect()
    }

    fn diagnose(&self, place: Option<(&Path, &RunInfo)>, draws: &[Draw]) -> Result<Diagnosis> {
        let Target { model, gaussian, .. } = &self.target;
        let looks = looks(&**model, draws)?;
        // A run that was stopped earlier than the one before it knows less about the draws than the files do.
        let of_chain = |c: usize| (draws.len() + self.settings.chains - 1 - c) / self.settings.chains;
        let known = |all: &&Chains| (0..).zip(&all.chains).all(|(c, one)| one.draws.len() >= of_chain(c));
        let chains = self.chains.as_ref().filter(known);
        let record = match chains {
            Some(chains) => Some(ChainRecord::new(draws.len() as u64, chains, &self.settings)),
            None => place.map(|(set, run)| ChainRecord::read(set, run)).transpose()?.flatten(),
        };
        if let (Some((set, run)), Some(_), Some(record)) = (place, chains, &record) {
            of_run::write(&set.join(CHAINS_FILE), run, record)?;
        }
        let table = chains.map(|chains| self.table(draws, chains));
        let losses: Vec<Vec<f64>> = looks.iter().map(|look| vec![look.loss]).collect();
        let weights: Vec<Vec<f64>> = draws.iter().map(|draw| gaussian.subset().gather(&draw.theta)).collect();
        let chains = ChainSummary {
            chains: self.settings.chains,
            predictions: self.worst(&self.target.predictions(draws)?)?,
            loss: self.worst(&losses)?,
            weights: self.worst(&weights)?,
            record,
        };
        let mut summary = summary(&**model, gaussian.theta(), draws, &looks, gaussian.subset().len());
        summary.gradients = chains.record.as_ref().map(|r| r.gradients as f64 / r.steps.max(1) as f64);
        let warnings = warnings(&chains, draws.len());
        summary.chains = Some(chains);
        Ok(Diagnosis { summary, table, warnings })
    }
}

impl Drawn {
    /// The worst convergence of several quantities, given per draw; draw i is of chain i mod C.
    fn worst(&self, values: &[Vec<f64>]) -> Result<Option<Convergence>> {
        let count = self.settings.chains;
        let rounds = values.len() / count;
        if rounds < FEWEST_DRAWS {
            return Ok(None);
        }
        let of = |k: usize| {
            let chain = |c: usize| (0..rounds).map(|round| values[round * count + c][k]).collect();
            let chains: Vec<Vec<f64>> = (0..count).map(chain).collect();
            Convergence::of(&chains.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let all = (0..values[0].len()).map(of).collect::<riemla::Result<Vec<_>>>()?;
        Ok(Some(Convergence::worst(all)))
    }

    /// What each step did; draw i is of chain i mod C.
    fn table(&self, draws: &[Draw], chains: &Chains) -> DrawTable {
        let count = self.settings.chains;
        let steps = || (0..draws.len()).map(|i| &chains.chains[i % count].transitions[i / count]);
        let mut table = DrawTable::new(draws.iter().map(|draw| draw.index));
        table.numbers("chain", (0..draws.len()).map(|i| Some((i % count) as f64)));
        table.numbers("loss", steps().map(|step| Some(step.loss)));
        table.numbers("acceptance", steps().map(|step| Some(step.acceptance)));
        table.numbers("tree_depth", steps().map(|step| Some(step.depth as f64)));
        table.numbers("gradients", steps().map(|step| Some(step.gradients as f64)));
        table.words("diverging", steps().map(|step| step.diverging.to_string()));
        table
    }
}

/// What is off with chains.
fn warnings(chains: &ChainSummary, draws: usize) -> Vec<String> {
    let mut found = Vec::new();
    // Weights of a network can be exchanged without another prediction; those of other models are what is asked for.
    let judged = match chains.predictions {
        Some(predictions) => ("predictions", Some(predictions)),
        None => ("weights", chains.weights),
    };
    for (what, convergence) in [judged, ("loss", chains.loss)] {
        let Some(c) = convergence.filter(|c| !c.is_good()) else { continue };
        let [r_hat, bulk, tail] = c.shown();
        found.push(format!(
            "the chains have not converged: the R-hat of the {what} is {r_hat} (should be at most {R_HAT_LIMIT}), the \
             effective sample size {bulk} in the bulk and {tail} in the tails (should be at least {ESS_LIMIT}); \
             take more draws (--samples), or sample a set of another --name with a longer --warmup"
        ));
    }
    if let Some(record) = chains.record.as_ref().filter(|record| record.divergences > 0) {
        found.push(format!(
            "{} of {} steps diverged: regions where the loss is steep may be missed; sample a set of another \
             --name with a longer --warmup, which may find smaller steps",
            record.divergences, record.steps
        ));
    }
    if draws < FEW_DRAWS || chains.loss.is_none() {
        found.push(format!(
            "only {draws} draws of {} chains: too few to judge whether the chains agree; take more (--samples)",
            chains.chains
        ));
    }
    found
}
