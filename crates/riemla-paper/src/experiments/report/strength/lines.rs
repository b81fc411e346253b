//! The numbers of a study: one line per problem, prior, method and setting.

use super::super::super::{Experiment, MethodName, PriorName, ResultRow, RunRecord, Setting};
use super::super::numbers::Number;
use super::super::{records_of, unique};
use crate::experiments::results::mean;

/// A posterior, whatever its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The problem.
    pub problem: String,
    /// The prior.
    pub prior: PriorName,
    /// The method.
    pub method: MethodName,
}

impl Place {
    /// For rows of tables.
    pub fn name(&self) -> String {
        format!("{}, prior {}, {}", self.problem, self.prior.name(), self.method.name())
    }
}

/// What is known of a posterior under one setting: means over seeds.
#[derive(Debug, Clone)]
pub struct Line {
    /// Which posterior.
    pub place: Place,
    /// Under which setting.
    pub setting: Setting,
    /// Negative log-likelihood per test row.
    pub nll: Number,
    /// The strength, given or found.
    pub strength: Option<f64>,
    /// Virial ratio.
    pub virial: Option<f64>,
    /// Gradients per draw, without the search.
    pub gradients: Option<f64>,
    /// Gradients of the search in draws: divided by those of one.
    pub search: Option<f64>,
    /// Searches that met their condition, and all.
    pub converged: (usize, usize),
}

/// The lines of an experiment, in the order of its results.
pub fn lines(experiment: &Experiment, rows: &[ResultRow], records: &[RunRecord]) -> Vec<Line> {
    let records: Vec<&RunRecord> = records_of(experiment, records).collect();
    let of_study = rows.iter().filter(|row| row.experiment == experiment.name);
    of_study
        .filter(|row| matches!(row.score.as_str(), "nll" | "nlpd"))
        .map(|row| line(row, &records))
        .collect()
}

fn line(row: &ResultRow, records: &[&RunRecord]) -> Line {
    let place = Place { problem: row.train_set.clone(), prior: row.prior, method: row.method };
    let key = |r: &RunRecord| {
        (r.key.problem.as_str(), r.key.prior, r.key.method, r.key.setting)
            == (row.train_set.as_str(), row.prior, row.method, row.setting)
    };
    let mut costs = Vec::new();
    let mut converged = (0, 0);
    for record in records.iter().filter(|record| key(record)) {
        let Some(found) = &record.found_strength else { continue };
        converged.0 += usize::from(found.status == riemla::posterior::SearchStatus::Converged);
        converged.1 += 1;
        costs.extend(record.draws.gradients_per_sample.map(|each| found.counters.gradients as f64 / each));
    }
    Line {
        place,
        setting: row.setting,
        nll: row.into(),
        strength: row.draws.strength,
        virial: row.draws.virial_ratio,
        gradients: row.draws.gradients_per_sample,
        search: mean(costs),
        converged,
    }
}

/// The places of lines with geodesics, in order.
pub fn places(lines: &[Line]) -> Vec<Place> {
    let curved = lines.iter().filter(|line| line.place.method.is_riemannian());
    unique(curved.map(|line| &line.place)).into_iter().cloned().collect()
}

/// The settings of lines with geodesics, in order: given strengths first, then all others.
pub fn settings(lines: &[Line]) -> (Vec<Setting>, Vec<Setting>) {
    let curved = lines.iter().filter(|line| line.place.method.is_riemannian());
    let mut all: Vec<Setting> = curved.map(|line| line.setting).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().partition(|setting| setting.given_strength().is_some())
}

/// The line of a place and setting.
pub fn find<'a>(lines: &'a [Line], place: &Place, setting: Setting) -> Option<&'a Line> {
    lines.iter().find(|line| line.place == *place && line.setting == setting)
}
