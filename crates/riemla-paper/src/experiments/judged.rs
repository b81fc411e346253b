//! The cells of a problem or density under one seed and prior: drawn, judged, written down.

use super::bench::{Bench, Verdict};
use super::cell::{Drawn, Wanted};
use super::layout::set_directory;
use super::record::{CellKey, DrawSummary, Estimate, Records, RunRecord};
use super::subject::{Subject, requested};
use super::{Experiment, ExperimentError, Request, Result};
use riemla_workflow::watch::{Session, Silent};

/// Gradients that a draw usually takes.
const USUAL_GRADIENTS: f64 = 100.0;

/// Posteriors with their bench.
pub struct Judged<'a> {
    /// What is asked for.
    pub request: &'a Request,
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The problem or density.
    pub subject: &'a Subject<'a>,
    /// Takes and judges the draws.
    pub bench: &'a dyn Bench,
}

/// Draws of a cell that progress is counted by.
pub fn steps(experiment: &Experiment, key: &CellKey) -> u64 {
    if key.method.is_riemannian() { experiment.samples } else { 0 }
}

/// Whether a record has all that is asked for now, or would still take too long.
pub fn is_current(record: &RunRecord, experiment: &Experiment, subject: &Subject<'_>) -> bool {
    let wanted = requested(experiment, record.key.method);
    let too_long = record.not_run.is_some_and(|estimate| experiment.is_too_long(estimate));
    record.requested == wanted
        && (record.samples + record.failed >= wanted || too_long)
        && record.config == subject.config(experiment)
        && record.bins.is_none_or(|bins| bins == experiment.bins)
        && record.riemla_version == env!("CARGO_PKG_VERSION")
}

impl Judged<'_> {
    /// Whether a record is what the cell would give now.
    pub fn is_done(&self, record: &RunRecord) -> bool {
        is_current(record, self.experiment, self.subject) && record.made_from == *self.bench.made_from()
    }

    /// Runs a cell.
    pub fn run(&self, key: &CellKey, log: &Records, session: Session<'_>) -> Result<RunRecord> {
        if let Some(estimate) = self.too_long(key, log)? {
            session.watch.note(&format!("{key}: not run: {estimate}"));
            (0..steps(self.experiment, key)).for_each(|_| session.watch.step());
            return Ok(RunRecord { not_run: Some(estimate), ..self.record(key) });
        }
        let samples = requested(self.experiment, key.method);
        let set = set_directory(&self.request.out, key);
        let watch = if key.method.is_riemannian() { session.watch } else { &Silent };
        let origin = &self.bench.made_from().draws;
        let wanted =
            Wanted { set: &set, seed: key.seed, samples, origin, session: session.watched_by(watch) };
        let mut drawn = self.bench.draws(key, &wanted)?;
        // Draws that were there before were timed then.
        let before = log.get(key).and_then(|record| record.draws.seconds_per_sample);
        drawn.made.seconds_per_draw = drawn.made.seconds_per_draw.or(before);
        let verdict = match (&drawn.unfit, drawn.draws.is_empty()) {
            (Some(_), _) => Verdict::default(),
            (None, false) => self.bench.judge(key, &drawn)?,
            (None, true) => {
                let Some((_, reason)) = drawn.failed.first() else {
                    return Err(ExperimentError::Interrupted);
                };
                return Err(ExperimentError::no_draw(key, reason));
            }
        };
        let summary = DrawSummary::new(&drawn, verdict.virial_ratio.filter(|ratio| ratio.is_finite()));
        session.watch.note(&line(key, &drawn, &summary, &verdict));
        Ok(RunRecord {
            samples: drawn.draws.len() as u64,
            failed: if drawn.unfit.is_some() { samples } else { drawn.failed.len() as u64 },
            scores: verdict.scores,
            draws: summary,
            found_strength: drawn.made.found,
            truth: verdict.truth,
            ..self.record(key)
        })
    }

    /// What is known of a cell before its draws.
    fn record(&self, key: &CellKey) -> RunRecord {
        RunRecord {
            key: key.clone(),
            riemla_version: env!("CARGO_PKG_VERSION").into(),
            quick: self.request.quick,
            config: self.subject.config(self.experiment),
            bins: Some(self.experiment.bins),
            requested: requested(self.experiment, key.method),
            samples: 0,
            failed: 0,
            scores: Vec::new(),
            draws: DrawSummary::default(),
            model: self.bench.model(),
            found_strength: None,
            made_from: self.bench.made_from().clone(),
            truth: None,
            not_run: None,
        }
    }

    /// How long a cell with geodesics would take, if that is longer than the experiment allows: by the time of a gradient,
    /// and the gradients of draws from the same problem, if there are any.
    fn too_long(&self, key: &CellKey, log: &Records) -> Result<Option<Estimate>> {
        if self.experiment.longest_cell_seconds.is_none() || !key.method.is_riemannian() {
            return Ok(None);
        }
        let Some(gradient) = self.bench.gradient_seconds(key)? else { return Ok(None) };
        let same = |record: &&RunRecord| {
            (&record.key.experiment, &record.key.problem) == (&key.experiment, &key.problem)
        };
        let known = log.all().filter(same).find_map(|record| record.draws.gradients_per_sample);
        let seconds_per_draw = gradient * known.unwrap_or(USUAL_GRADIENTS);
        let (draws, threads) = (self.experiment.samples as f64, rayon::current_num_threads() as f64);
        let estimate = Estimate { seconds_per_draw, seconds: seconds_per_draw * (draws / threads).max(1.0) };
        Ok(Some(estimate).filter(|estimate| self.experiment.is_too_long(*estimate)))
    }
}

/// One line for logs.
fn line(key: &CellKey, drawn: &Drawn, summary: &DrawSummary, verdict: &Verdict) -> String {
    if let Some(reason) = &drawn.unfit {
        return format!("{}: skipped: {reason}", key);
    }
    let first: Vec<String> =
        verdict.scores.iter().take(2).map(|s| format!("{} {:.4}", s.score, s.value)).collect();
    let more = [("strength", summary.strength), ("virial ratio", summary.virial_ratio)];
    let more: String = more.iter().filter_map(|(n, v)| v.map(|v| format!(", {n} {v:.3}"))).collect();
    format!("{}: {} draws, {}{more}", key, drawn.draws.len(), first.join(", "))
}
