//! Runs experiments: train, approximate, draw, score, write down.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::bench::{Bench, Verdict};
use super::cell::{Drawn, Wanted};
use super::finished::{Now, Strange};
use super::fit;
use super::fitted::{Fitted, Ready};
use super::layout::{set_directory, write_text};
use super::record::{CellKey, DrawSummary, Records, RunRecord};
use super::rows::{data_of, rows};
use super::share::runs_file;
use super::subject::{Subject, requested};
use super::truth::{Against, Plane};
use super::{Experiment, ExperimentError, MethodName, PriorName, Problem, Result, Setting};
use crate::datasets::{DataDirs, Loaded, load};
use riemla_files::Shard;
use riemla_workflow::watch::Session;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The experiments, resolved.
    pub experiments: Vec<Experiment>,
    /// Whether they are in their small versions.
    pub quick: bool,
    /// For the methods with geodesics, where the experiment has no settings of its own.
    pub presets: Vec<Setting>,
    /// Which priors.
    pub priors: Vec<PriorName>,
    /// Where to write.
    pub out: PathBuf,
    /// Where the data are.
    pub data: DataDirs,
    /// The part of the cells that this process runs; all if none.
    pub shard: Option<Shard>,
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
pub fn run(request: &Request, session: Session<'_>) -> Result<Outcome> {
    let records = match request.shard {
        None => Records::merge(&request.out)?,
        shard => Records::of_shard(&request.out, shard)?,
    };
    let mut run = Run { request, own: request.own_cells(), session, records, outcome: Outcome::default() };
    for experiment in &request.experiments {
        let file = request.out.join("experiments").join(format!("{}.toml", experiment.name));
        write_text(&file, &experiment.to_toml())?;
        run.experiment(experiment)?;
    }
    run.outcome.interrupted = session.stopped();
    Ok(run.outcome)
}

struct Run<'a> {
    request: &'a Request,
    /// The cells of this process; none if they all are.
    own: Option<BTreeSet<CellKey>>,
    session: Session<'a>,
    records: Records,
    outcome: Outcome,
}

impl Run<'_> {
    fn stopped(&self) -> bool {
        self.session.stopped()
    }

    fn experiment(&mut self, experiment: &Experiment) -> Result<()> {
        let subjects = Subject::all(experiment);
        if subjects.iter().all(|subject| self.request.cells(experiment, subject, 0).is_empty()) {
            self.outcome.failures.push(self.nothing_to_run(experiment));
            return Ok(());
        }
        let steps = |subject: &Subject<'_>| {
            (0..experiment.seeds).map(|seed| self.steps(experiment, subject, seed)).sum::<u64>()
        };
        self.session.watch.begin(&experiment.name, subjects.iter().map(steps).sum());
        for subject in &subjects {
            if self.stopped() {
                return Ok(());
            }
            let result = self.subject(experiment, subject);
            let what = match experiment.name == subject.name() {
                true => experiment.name.clone(),
                false => format!("{}: {}", experiment.name, subject.name()),
            };
            self.keep_going(&what, result)?;
        }
        Ok(())
    }

    fn nothing_to_run(&self, experiment: &Experiment) -> String {
        let names = |priors: &[PriorName]| priors.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
        let has = if experiment.priors.is_empty() { "none".into() } else { names(&experiment.priors) };
        let version = if self.request.quick { "its small version" } else { "it" };
        let asked = names(&self.request.priors);
        format!("{}: nothing to run; {version} has the priors: {has}; requested: {asked}", experiment.name)
    }

    /// A failure of one part is written down and does not stop the others.
    fn keep_going(&mut self, what: &str, result: Result<()>) -> Result<()> {
        match result {
            Ok(()) | Err(ExperimentError::Interrupted) => Ok(()),
            // Nothing can be kept any more.
            Err(error @ ExperimentError::File(riemla_files::Error::Io { .. })) => Err(error),
            Err(error) => {
                self.session.watch.note(&format!("{what}: {error}"));
                self.outcome.failures.push(format!("{what}: {error}"));
                Ok(())
            }
        }
    }

    /// All seeds of a problem or density that have something to do.
    fn subject(&mut self, experiment: &Experiment, subject: &Subject<'_>) -> Result<()> {
        let todo = |run: &Self, seed: u64| {
            run.cells(experiment, subject, seed).iter().any(|key| !run.is_done(experiment, subject, key))
        };
        let (seeds, done): (Vec<u64>, Vec<u64>) = (0..experiment.seeds).partition(|seed| todo(self, *seed));
        let skipped: u64 = done.iter().map(|seed| self.steps(experiment, subject, *seed)).sum();
        (0..skipped).for_each(|_| self.session.watch.step());
        if let Subject::Problem(problem) = subject {
            self.finished(experiment, problem, &done)?;
        }
        match (subject, &experiment.truth) {
            _ if seeds.is_empty() => Ok(()),
            (Subject::Problem(problem), _) => self.problem(experiment, problem, &seeds),
            (Subject::Density(density), Some(plan)) => seeds.into_iter().try_for_each(|seed| {
                let (plane, chains) = (Plane::new(*density)?, self.chains(experiment, subject, seed));
                let bench = Against::new(&plane, plan, seed, chains);
                self.cells_of(experiment, subject, &bench, seed, PriorName::Given)
            }),
            (Subject::Density(_), None) => Ok(()),
        }
    }

    /// Finished seeds are not run again: it is a failure if they are of other data or weights than those of now.
    fn finished(&mut self, experiment: &Experiment, problem: &Problem, seeds: &[u64]) -> Result<()> {
        let subject = Subject::Problem(problem);
        let records = |seed: &u64| {
            let cells = self.cells(experiment, &subject, *seed);
            cells.iter().filter_map(|key| self.records.get(key).cloned()).collect::<Vec<_>>()
        };
        let seeds: Vec<(u64, Vec<RunRecord>)> = seeds.iter().map(|seed| (*seed, records(seed))).collect();
        if seeds.iter().all(|(_, records)| records.is_empty()) {
            return Ok(());
        }
        let (loaded, strange) = match self.data(problem) {
            Ok(data) => data,
            Err(error) => {
                self.session.watch.note(&format!(
                    "{}: finished results are not compared with the data: {error}",
                    problem.name
                ));
                return Ok(());
            }
        };
        for (seed, records) in seeds {
            let rows = rows(problem, &loaded, seed)?;
            let mut changed = BTreeSet::new();
            for record in &records {
                let now = Now::new(&self.request.out, problem, &rows, &strange, record)?;
                changed.extend(now.differences(&record.made_from));
            }
            if !changed.is_empty() {
                let changed = changed.into_iter().collect::<Vec<_>>().join("; ");
                let what = format!("finished results of seed {seed}: {changed}");
                let file = runs_file(&self.request.out, self.request.shard);
                self.keep_going(&problem.name, Err(ExperimentError::Changed { file, what }))?;
            }
        }
        Ok(())
    }

    /// The data of a problem, and inputs that its model should find strange, by name.
    fn data(&self, problem: &Problem) -> Result<(Loaded, Strange)> {
        let mut strange = Strange::new();
        for name in &problem.out_of_distribution {
            strange.push((name.clone(), load(name, &self.request.data)?.data.inputs().to_vec()));
        }
        Ok((data_of(problem, &self.request.data)?, strange))
    }

    fn problem(&mut self, experiment: &Experiment, problem: &Problem, seeds: &[u64]) -> Result<()> {
        let (loaded, strange) = self.data(problem)?;
        let (ready, subject) = (Ready { experiment, problem, strange }, Subject::Problem(problem));
        for &seed in seeds {
            let rows = rows(problem, &loaded, seed)?;
            let cells = self.cells(experiment, &subject, seed);
            let priors = self.request.priors_of(experiment).into_iter();
            for prior in priors.filter(|prior| cells.iter().any(|key| key.prior == *prior)) {
                let fit = fit::fit(&self.request.out, problem, &rows, seed, prior, self.session)?;
                let fitted = Fitted::new(&ready, &rows, &fit, prior)?;
                match &experiment.truth {
                    None => self.cells_of(experiment, &subject, &fitted, seed, prior)?,
                    Some(plan) => {
                        let bench =
                            Against::new(&fitted, plan, seed, self.chains(experiment, &subject, seed));
                        self.cells_of(experiment, &subject, &bench, seed, prior)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the chains of a target are.
    fn chains(&self, experiment: &Experiment, subject: &Subject<'_>, seed: u64) -> PathBuf {
        let key = subject.key(experiment, seed, PriorName::Given, Setting::ANY, MethodName::Nuts);
        set_directory(&self.request.out, &key)
    }

    /// The posteriors asked for that are run here.
    fn cells(&self, experiment: &Experiment, subject: &Subject<'_>, seed: u64) -> Vec<CellKey> {
        let mut cells = self.request.cells(experiment, subject, seed);
        cells.retain(|key| self.own.as_ref().is_none_or(|own| own.contains(key)));
        cells
    }

    /// Draws that progress is counted by.
    fn steps(&self, experiment: &Experiment, subject: &Subject<'_>, seed: u64) -> u64 {
        let cells = self.cells(experiment, subject, seed);
        cells.iter().filter(|key| key.method.is_riemannian()).count() as u64 * experiment.samples
    }

    fn is_done(&self, experiment: &Experiment, subject: &Subject<'_>, key: &CellKey) -> bool {
        let wanted = requested(experiment, key.method);
        let complete = |record: &RunRecord| {
            record.requested == wanted
                && record.samples + record.failed >= wanted
                && record.config == subject.config(experiment)
                && record.bins.is_none_or(|bins| bins == experiment.bins)
                && record.riemla_version == env!("CARGO_PKG_VERSION")
        };
        self.records.get(key).is_some_and(complete)
    }

    fn cells_of(
        &mut self,
        experiment: &Experiment,
        subject: &Subject<'_>,
        bench: &dyn Bench,
        seed: u64,
        prior: PriorName,
    ) -> Result<()> {
        let keys = self.cells(experiment, subject, seed).into_iter().filter(|key| key.prior == prior);
        for key in keys.collect::<Vec<_>>() {
            if self.stopped() {
                return Err(ExperimentError::Interrupted);
            }
            let same = |record: &RunRecord| record.made_from == *bench.made_from();
            if self.is_done(experiment, subject, &key) && self.records.get(&key).is_some_and(same) {
                if key.method.is_riemannian() {
                    (0..experiment.samples).for_each(|_| self.session.watch.step());
                }
                continue;
            }
            let (what, is_truth) = (key.label(), key.method == MethodName::Nuts);
            let result = self.cell(experiment, subject, bench, key);
            if is_truth {
                // Nothing can be held against chains that are not there.
                result?;
            } else {
                self.keep_going(&what, result)?;
            }
        }
        Ok(())
    }

    fn cell(
        &mut self,
        experiment: &Experiment,
        subject: &Subject<'_>,
        bench: &dyn Bench,
        key: CellKey,
    ) -> Result<()> {
        let samples = requested(experiment, key.method);
        let set = set_directory(&self.request.out, &key);
        let quiet = riemla_workflow::watch::Silent;
        let watch = if key.method.is_riemannian() { self.session.watch } else { &quiet };
        let origin = &bench.made_from().draws;
        let wanted =
            Wanted { set: &set, seed: key.seed, samples, origin, session: self.session.watched_by(watch) };
        let mut drawn = bench.draws(&key, &wanted)?;
        // Draws that were there before were timed then.
        let before = self.records.get(&key).and_then(|record| record.draws.seconds_per_sample);
        drawn.made.seconds_per_draw = drawn.made.seconds_per_draw.or(before);
        let verdict = match (&drawn.unfit, drawn.draws.is_empty()) {
            (Some(_), _) => Verdict::default(),
            (None, false) => bench.judge(&key, &drawn)?,
            (None, true) => {
                let Some((_, reason)) = drawn.failed.first() else {
                    return Err(ExperimentError::Interrupted);
                };
                return Err(ExperimentError::no_draw(&key, reason));
            }
        };
        let summary = DrawSummary::new(&drawn, verdict.virial_ratio.filter(|ratio| ratio.is_finite()));
        self.session.watch.note(&line(&key, &drawn, &summary, &verdict));
        let failed = if drawn.unfit.is_some() { samples } else { drawn.failed.len() as u64 };
        self.records.put(RunRecord {
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            quick: self.request.quick,
            config: subject.config(experiment),
            bins: Some(experiment.bins),
            requested: samples,
            samples: drawn.draws.len() as u64,
            failed,
            scores: verdict.scores,
            draws: summary,
            model: bench.model(),
            found_strength: drawn.made.found,
            truth: verdict.truth,
            made_from: bench.made_from().clone(),
            key,
        })
    }
}

/// One line for logs.
fn line(key: &CellKey, drawn: &Drawn, summary: &DrawSummary, verdict: &Verdict) -> String {
    if let Some(reason) = &drawn.unfit {
        return format!("{}: skipped: {reason}", key.label());
    }
    let first: Vec<String> =
        verdict.scores.iter().take(2).map(|s| format!("{} {:.4}", s.score, s.value)).collect();
    let more = [("strength", summary.strength), ("virial ratio", summary.virial_ratio)];
    let more: String = more.iter().filter_map(|(n, v)| v.map(|v| format!(", {n} {v:.3}"))).collect();
    format!("{}: {} draws, {}{more}", key.label(), drawn.draws.len(), first.join(", "))
}
