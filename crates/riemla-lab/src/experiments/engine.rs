//! Runs experiments: train, approximate, draw, score, write down.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cell::{self, Drawn, Wanted};
use super::config::Problem;
use super::fit;
use super::fitted::{Fitted, Ready};
use super::layout::{CellPaths, write_text};
use super::record::{CellKey, DrawSummary, Records, RunRecord};
use super::rows::{data_of, rows};
use super::score::Score;
use super::{Experiment, ExperimentError, MethodName, Preset, PriorName, Result, Setting};
use crate::datasets::{DataDirs, load};
use crate::watch::Watch;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The experiments, resolved.
    pub experiments: Vec<Experiment>,
    /// Whether they are in their small versions.
    pub quick: bool,
    /// For the methods with geodesics, where the experiment has no settings of its own.
    pub presets: Vec<Preset>,
    /// Which priors.
    pub priors: Vec<PriorName>,
    /// Where to write.
    pub out: PathBuf,
    /// Where the data are.
    pub data: DataDirs,
}

/// How a run ended.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Whether a stop was requested before all was done.
    pub interrupted: bool,
    /// What could not be done, and why.
    pub failures: Vec<String>,
}

/// Runs all that is not done yet. The output directory must be there.
pub fn run(request: &Request, stop: &AtomicBool, watch: &dyn Watch) -> Result<Outcome> {
    let mut run =
        Run { request, stop, watch, records: Records::open(&request.out)?, outcome: Outcome::default() };
    for experiment in &request.experiments {
        let file = request.out.join("experiments").join(format!("{}.toml", experiment.name));
        write_text(&file, &experiment.to_toml())?;
        run.experiment(experiment)?;
    }
    run.outcome.interrupted = stop.load(Ordering::Relaxed);
    Ok(run.outcome)
}

struct Run<'a> {
    request: &'a Request,
    stop: &'a AtomicBool,
    watch: &'a dyn Watch,
    records: Records,
    outcome: Outcome,
}

impl Run<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn experiment(&mut self, experiment: &Experiment) -> Result<()> {
        let cells = experiment.problems.iter().flat_map(|problem| self.cells(experiment, problem, 0));
        let cells: Vec<CellKey> = cells.collect();
        if cells.is_empty() {
            let names = |priors: &[PriorName]| priors.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
            let has = if experiment.priors.is_empty() { "none".into() } else { names(&experiment.priors) };
            let version = if self.request.quick { "its small version" } else { "it" };
            let asked = names(&self.request.priors);
            let what = format!(
                "{}: nothing to run; {version} has the priors: {has}; asked for: {asked}",
                experiment.name
            );
            self.outcome.failures.push(what);
            return Ok(());
        }
        let per_seed = cells.iter().filter(|key| key.method.is_riemannian()).count() as u64;
        self.watch.begin(&experiment.name, experiment.samples * experiment.seeds * per_seed);
        for problem in &experiment.problems {
            if self.stopped() {
                return Ok(());
            }
            let result = self.problem(experiment, problem);
            let what = match experiment.name == problem.name {
                true => problem.name.clone(),
                false => format!("{}: {}", experiment.name, problem.name),
            };
            self.keep_going(&what, result)?;
        }
        Ok(())
    }

    /// A failure of one part is written down and does not stop the others.
    fn keep_going(&mut self, what: &str, result: Result<()>) -> Result<()> {
        match result {
            Ok(()) | Err(ExperimentError::Interrupted) => Ok(()),
            // Nothing can be kept any more.
            Err(error @ ExperimentError::File(riemla_files::Error::Io { .. })) => Err(error),
            Err(error) => {
                self.watch.note(&format!("{what}: {error}"));
                self.outcome.failures.push(format!("{what}: {error}"));
                Ok(())
            }
        }
    }

    fn problem(&mut self, experiment: &Experiment, problem: &Problem) -> Result<()> {
        let todo = |run: &Self, seed: u64| {
            run.cells(experiment, problem, seed).iter().any(|key| !run.is_done(experiment, problem, key))
        };
        let seeds: Vec<u64> = (0..experiment.seeds).filter(|seed| todo(self, *seed)).collect();
        let done = self.cells(experiment, problem, 0).iter().filter(|key| key.method.is_riemannian()).count();
        let skipped = (experiment.seeds - seeds.len() as u64) * done as u64 * experiment.samples;
        (0..skipped).for_each(|_| self.watch.step());
        if seeds.is_empty() {
            return Ok(());
        }
        let loaded = data_of(problem, &self.request.data)?;
        let mut strange = Vec::new();
        for name in &problem.out_of_distribution {
            strange.push((name.clone(), load(name, &self.request.data)?.data.inputs().to_vec()));
        }
        let ready = Ready { experiment, problem, strange };
        for seed in seeds {
            let rows = rows(problem, &loaded, seed)?;
            let fit = fit::fit(&self.request.out, problem, &rows, seed, self.stop, self.watch)?;
            for prior in self.priors(experiment) {
                let laplace = fit.laplace(problem, &rows, prior)?;
                let fitted = Fitted::new(&ready, &rows, &fit, laplace);
                self.prior(&fitted, seed, prior)?;
            }
        }
        Ok(())
    }

    /// The priors asked for that the experiment has.
    fn priors(&self, experiment: &Experiment) -> Vec<PriorName> {
        let asked = self.request.priors.iter().copied();
        asked.filter(|prior| experiment.priors.contains(prior)).collect()
    }

    /// The posteriors asked for, those without geodesics once.
    fn cells(&self, experiment: &Experiment, problem: &Problem, seed: u64) -> Vec<CellKey> {
        let mut keys = Vec::new();
        for prior in self.priors(experiment) {
            let plain = experiment.methods.iter().filter(|method| !method.is_riemannian());
            let pairs = plain.map(|method| (Setting::ANY, *method)).collect::<Vec<_>>();
            let curved = experiment.methods.iter().filter(|method| method.is_riemannian());
            let settings = self.settings(experiment, problem).into_iter();
            let more = settings.flat_map(|setting| curved.clone().map(move |method| (setting, *method)));
            for (setting, method) in pairs.into_iter().chain(more) {
                let (experiment, problem) = (experiment.name.clone(), problem.name.clone());
                keys.push(CellKey { experiment, problem, seed, prior, setting, method });
            }
        }
        keys
    }

    /// The settings of geodesics: the experiment's own, or the presets asked for.
    fn settings(&self, experiment: &Experiment, problem: &Problem) -> Vec<Setting> {
        let mut settings = experiment.settings.clone();
        if settings.is_empty() {
            settings = self.request.presets.iter().copied().map(Setting::from).collect();
        }
        settings.retain(|setting| problem.split.has_validation() || !setting.needs_validation());
        settings
    }

    fn is_done(&self, experiment: &Experiment, problem: &Problem, key: &CellKey) -> bool {
        let wanted = requested(experiment, key.method);
        let complete = |record: &RunRecord| {
            record.requested == wanted
                && record.samples + record.failed >= wanted
                && record.config == *problem
                && record.bins.is_none_or(|bins| bins == experiment.bins)
                && record.riemla_version == env!("CARGO_PKG_VERSION")
        };
        self.records.get(key).is_some_and(complete)
    }

    fn prior(&mut self, fitted: &Fitted<'_>, seed: u64, prior: PriorName) -> Result<()> {
        let Ready { experiment, problem, .. } = *fitted.ready;
        let keys = self.cells(experiment, problem, seed).into_iter().filter(|key| key.prior == prior);
        for key in keys.collect::<Vec<_>>() {
            if self.stopped() {
                return Err(ExperimentError::Interrupted);
            }
            let same = |record: &RunRecord| record.made_from == fitted.made_from;
            if self.is_done(experiment, problem, &key) && self.records.get(&key).is_some_and(same) {
                if key.method.is_riemannian() {
                    (0..experiment.samples).for_each(|_| self.watch.step());
                }
                continue;
            }
            let what = label(&key);
            let result = self.cell(fitted, key);
            self.keep_going(&what, result)?;
        }
        Ok(())
    }

    fn cell(&mut self, fitted: &Fitted<'_>, key: CellKey) -> Result<()> {
        let experiment = fitted.ready.experiment;
        let samples = requested(experiment, key.method);
        let pair = (key.setting, key.method);
        let paths = CellPaths::new(&self.request.out, &key.problem, key.seed, key.prior, pair);
        let quiet = crate::watch::Silent;
        let watch = if key.method.is_riemannian() { self.watch } else { &quiet };
        let origin = &fitted.made_from.draws;
        let wanted = Wanted { paths: &paths, seed: key.seed, samples, origin, stop: self.stop, watch };
        let mut drawn = cell::draws(fitted.posterior(&key)?, &wanted)?;
        // Draws that were there before were timed then.
        let before = self.records.get(&key).and_then(|record| record.draws.seconds_per_sample);
        drawn.seconds_per_sample = drawn.seconds_per_sample.or(before);
        if drawn.draws.is_empty() {
            let Some((_, reason)) = drawn.failed.first() else { return Err(ExperimentError::Interrupted) };
            return Err(ExperimentError::NoDraw { what: label(&key), reason: reason.clone() });
        }
        let thetas: Vec<&[f64]> = drawn.draws.iter().map(|draw| draw.theta.as_slice()).collect();
        let uncertain = key.method != MethodName::Map;
        let ratio = || -> Result<f64> { Ok(fitted.posterior(&key)?.virial_ratio(&thetas)?) };
        let virial = uncertain.then(ratio).transpose()?;
        let scores = fitted.scores(&key, thetas)?;
        let summary = DrawSummary::new(&drawn, virial.filter(|ratio| ratio.is_finite()));
        self.watch.note(&line(&key, &drawn, &summary, &scores));
        let record = fitted.record(key, (samples, self.request.quick), drawn, (scores, summary));
        self.records.put(record)?;
        layout_done(&paths)
    }
}

/// The seconds of a finished set are in its record now.
fn layout_done(paths: &CellPaths) -> Result<()> {
    if paths.log.is_file() { Ok(()) } else { super::layout::remove(&paths.seconds) }
}

/// The trained weights are one point: more draws would repeat it.
fn requested(experiment: &Experiment, method: MethodName) -> u64 {
    if method == MethodName::Map { 1 } else { experiment.samples }
}

fn label(key: &CellKey) -> String {
    let CellKey { problem, seed, prior, setting, method, .. } = key;
    format!("{problem}, seed {seed}, prior {}, {setting}, {}", prior.name(), method.name())
}

/// One line for logs.
fn line(key: &CellKey, drawn: &Drawn, summary: &DrawSummary, scores: &[Score]) -> String {
    let first: Vec<String> = scores.iter().take(2).map(|s| format!("{} {:.4}", s.score, s.value)).collect();
    let more = [("strength", summary.strength), ("virial ratio", summary.virial_ratio)];
    let more: String = more.iter().filter_map(|(n, v)| v.map(|v| format!(", {n} {v:.3}"))).collect();
    format!("{}: {} draws, {}{more}", label(key), drawn.draws.len(), first.join(", "))
}
