//! The numbers of a study: one line per problem, prior, method and setting.

use std::collections::BTreeSet;

use super::super::super::{Experiment, MethodName, PriorName, ResultRow, RunRecord, Setting};
use super::super::{records_of, unique};
use crate::experiments::results::mean;

/// A posterior, whatever its setting: problem, prior and method.
pub type Place<'a> = (&'a str, PriorName, MethodName);

/// What is known of a posterior under one setting.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Means over seeds; the score is the negative log-likelihood per test row.
    pub row: &'a ResultRow,
    /// Gradients of the search in draws: divided by those of one.
    pub search: Option<f64>,
    /// Searches that met their condition, and all.
    pub converged: (usize, usize),
}

impl<'a> Line<'a> {
    /// Which posterior.
    pub fn place(&self) -> Place<'a> {
        (&self.row.train_set, self.row.prior, self.row.method)
    }
}

/// The lines of an experiment, in the order of its results.
pub fn lines<'a>(experiment: &Experiment, rows: &'a [ResultRow], records: &[RunRecord]) -> Vec<Line<'a>> {
    let records: Vec<&RunRecord> = records_of(experiment, records).collect();
    let of_study = rows.iter().filter(|row| row.experiment == experiment.name);
    of_study
        .filter(|row| matches!(row.score.as_str(), "nll" | "nlpd"))
        .map(|row| line(row, &records))
        .collect()
}

fn line<'a>(row: &'a ResultRow, records: &[&RunRecord]) -> Line<'a> {
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
    Line { row, search: mean(costs), converged }
}

/// The places of lines with geodesics, in order.
pub fn places<'a>(lines: &[Line<'a>]) -> Vec<Place<'a>> {
    unique(lines.iter().filter(|line| line.row.method.is_riemannian()).map(Line::place))
}

/// The settings of lines with geodesics, in order: given strengths first, then all others.
pub fn settings(lines: &[Line<'_>]) -> (Vec<Setting>, Vec<Setting>) {
    let curved = lines.iter().filter(|line| line.row.method.is_riemannian());
    let all: BTreeSet<Setting> = curved.map(|line| line.row.setting).collect();
    all.into_iter().partition(|setting| setting.given_strength().is_some())
}

/// The line of a place and setting.
pub fn find<'l, 'a>(lines: &'l [Line<'a>], place: Place<'_>, setting: Setting) -> Option<&'l Line<'a>> {
    lines.iter().find(|line| line.place() == place && line.row.setting == setting)
}
