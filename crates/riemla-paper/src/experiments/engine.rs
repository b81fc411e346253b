//! Runs experiments: train, approximate, draw, score, write down.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::bench::Bench;
use super::cells::{Outcome, Run, Work};
use super::finished::{Now, Strange};
use super::fit;
use super::fitted::{Fitted, Ready};
use super::judged::{Judged, is_current, steps};
use super::layout::{set_directory, write_text};
use super::record::{CellKey, RunRecord};
use super::rows::rows;
use super::subject::Subject;
use super::truth::{Against, Plane};
use super::{Experiment, ExperimentError, MethodName, PriorName, Problem, Request, Result, Setting};
use crate::datasets::{Loaded, load};
use riemla_workflow::watch::Session;

/// Runs all that is not done yet. The output directory must be there.
pub fn run(request: &Request, session: Session<'_>) -> Result<Outcome> {
    let run = Run::new(&request.out, request.shard, request.units(), session)?;
    let mut engine = Engine { request, run };
    for experiment in &request.experiments {
        let file = request.out.join("experiments").join(format!("{}.toml", experiment.name));
        write_text(&file, &experiment.to_toml())?;
        engine.experiment(experiment)?;
    }
    Ok(engine.run.end())
}

struct Engine<'a> {
    request: &'a Request,
    run: Run<'a, RunRecord>,
}

impl Engine<'_> {
    fn experiment(&mut self, experiment: &Experiment) -> Result<()> {
        let subjects = Subject::all(experiment);
        if subjects.iter().all(|subject| self.request.cells(experiment, subject, 0).is_empty()) {
            self.run.fail(self.nothing_to_run(experiment));
            return Ok(());
        }
        let steps = |subject: &Subject<'_>| {
            (0..experiment.seeds).map(|seed| self.steps(experiment, subject, seed)).sum::<u64>()
        };
        self.run.session.watch.begin(&experiment.name, subjects.iter().map(steps).sum());
        for subject in &subjects {
            if self.run.session.stopped() {
                return Ok(());
            }
            let result = self.subject(experiment, subject);
            let what = match experiment.name == subject.name() {
                true => experiment.name.clone(),
                false => format!("{}: {}", experiment.name, subject.name()),
            };
            self.run.keep_going(&what, result)?;
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

    /// All seeds of a problem or density that have something to do.
    fn subject(&mut self, experiment: &Experiment, subject: &Subject<'_>) -> Result<()> {
        let is_done = |key: &CellKey| {
            self.run.log.get(key).is_some_and(|record| is_current(record, experiment, subject))
        };
        let todo = |seed: &u64| !self.cells(experiment, subject, *seed).iter().all(is_done);
        let (seeds, done): (Vec<u64>, Vec<u64>) = (0..experiment.seeds).partition(todo);
        self.run.skip(done.iter().map(|seed| self.steps(experiment, subject, *seed)).sum());
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
            cells.iter().filter_map(|key| self.run.log.get(key).cloned()).collect::<Vec<_>>()
        };
        let seeds: Vec<(u64, Vec<RunRecord>)> = seeds.iter().map(|seed| (*seed, records(seed))).collect();
        if seeds.iter().all(|(_, records)| records.is_empty()) {
            return Ok(());
        }
        let (loaded, strange) = match self.data(problem) {
            Ok(data) => data,
            Err(error) => {
                self.run.session.watch.note(&format!(
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
                let file = self.run.log.path().into();
                self.run.keep_going(&problem.name, Err(ExperimentError::Changed { file, what }))?;
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
        Ok((load(&problem.data, &self.request.data)?, strange))
    }

    fn problem(&mut self, experiment: &Experiment, problem: &Problem, seeds: &[u64]) -> Result<()> {
        let (loaded, strange) = self.data(problem)?;
        let (ready, subject) = (Ready { experiment, problem, strange }, Subject::Problem(problem));
        for &seed in seeds {
            let rows = rows(problem, &loaded, seed)?;
            let cells = self.cells(experiment, &subject, seed);
            let priors = self.request.priors_of(experiment).into_iter();
            for prior in priors.filter(|prior| cells.iter().any(|key| key.prior == *prior)) {
                let fit = fit::fit(&self.request.out, problem, &rows, seed, prior, self.run.session)?;
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
        self.run.own(self.request.cells(experiment, subject, seed))
    }

    /// Draws that progress is counted by.
    fn steps(&self, experiment: &Experiment, subject: &Subject<'_>, seed: u64) -> u64 {
        self.cells(experiment, subject, seed).iter().map(|key| steps(experiment, key)).sum()
    }

    fn cells_of(
        &mut self,
        experiment: &Experiment,
        subject: &Subject<'_>,
        bench: &dyn Bench,
        seed: u64,
        prior: PriorName,
    ) -> Result<()> {
        let mut keys = self.cells(experiment, subject, seed);
        keys.retain(|key| key.prior == prior);
        let (judged, session) =
            (Judged { request: self.request, experiment, subject, bench }, self.run.session);
        let work = Work {
            is_done: &|record| judged.is_done(record),
            // Nothing can be held against chains that are not there.
            is_needed: |key: &CellKey| key.method == MethodName::Nuts,
            steps: &|key| steps(experiment, key),
            run: &|key, log| judged.run(key, log, session),
        };
        self.run.cells(&work, &keys)
    }
}
