//! The study of larger networks: scores, times and memory in one table.

use std::fmt::Write as _;

use super::super::results::digits;
use super::super::{Experiment, MethodName, RunRecord};
use riemla_workflow::report::{Section, Table, decimals};

const INTRO: &str = "\
One seed unless said otherwise. ECE in per cent; areas under the ROC curve (AUROC) of 1 − the largest probability, against \
the test images. Seconds of a fit are those of the curvature and its factorisation under a prior that is known, on all \
cores; its memory is the estimate that `riemla fit` prints. Seconds per draw are those of one thread, without the search \
for the strength, and include what else the machine did. A gradient norm that is not small against the root of the \
prior precision times the root of the number of weights says that the weights are not at a minimum.";

/// Columns of the table and of scale.csv.
const COLUMNS: [&str; 16] = [
    "weights",
    "rows",
    "prior precision",
    "gradient norm",
    "fit s",
    "fit MB",
    "draws",
    "s per draw",
    "strength",
    "virial ratio",
    "accuracy",
    "NLL",
    "ECE",
    "AUROC fashion_mnist",
    "AUROC kmnist",
    "unfinished",
];

/// Whether the experiment is such a study.
pub fn is_study(experiment: &Experiment) -> bool {
    !experiment.approximations.is_empty()
}

/// Its posteriors, in the order of its file.
fn records_of<'a>(experiment: &Experiment, records: &'a [RunRecord]) -> Vec<&'a RunRecord> {
    let place = |record: &RunRecord| experiment.problems.iter().position(|p| p.name == record.key.problem);
    let mut own: Vec<&RunRecord> = records.iter().filter(|r| r.key.experiment == experiment.name).collect();
    own.sort_by_key(|record| (place(record), record.key.seed, record.key.method));
    own
}

fn score(record: &RunRecord, test_set: &str, name: &str) -> Option<f64> {
    record.scores.iter().find(|s| s.test_set == test_set && s.score == name).map(|s| s.value)
}

fn numbers(record: &RunRecord) -> [Option<f64>; COLUMNS.len()] {
    let (model, draws) = (record.model.as_ref(), &record.draws);
    let own = |name: &str| score(record, &record.key.problem, name);
    [
        model.map(|m| m.weights as f64),
        model.map(|m| m.training.samples as f64),
        model.and_then(|m| m.prior_precision),
        model.map(|m| m.gradient_norm),
        model.and_then(|m| m.fit_seconds),
        model.and_then(|m| m.fit_megabytes),
        Some(record.samples as f64),
        draws.seconds_per_sample,
        draws.strength,
        draws.virial_ratio,
        own("accuracy"),
        own("nll"),
        own("ece"),
        score(record, "fashion_mnist", "auroc"),
        score(record, "kmnist", "auroc"),
        draws.unfinished_fraction,
    ]
}

/// The section of a study.
pub fn section(experiment: &Experiment, records: &[RunRecord]) -> Section {
    let records = records_of(experiment, records);
    let mut section =
        Section::new(experiment.title.clone(), format!("{}\n\n{INTRO}", experiment.about.trim()));
    let mut table = Table::new("network, rows, approximation, method", COLUMNS.map(String::from));
    for record in &records {
        let name = format!("{}, {}", record.key.problem, record.key.method);
        let places = [0, 0, 2, 2, 1, 0, 0, 2, 3, 2, 1, 3, 1, 3, 3, 2];
        let cells = numbers(record).into_iter().zip(places).map(|(n, places)| decimals(n, places));
        table.row(name, cells.collect::<Vec<String>>());
    }
    section.table(table).text(leads(&records)).text(missing(experiment, &records));
    section
}

/// NLL of riem-la against map, network by network.
fn leads(records: &[&RunRecord]) -> String {
    let mut text = String::new();
    for record in records.iter().filter(|record| record.key.method == MethodName::RiemLa) {
        let same = |method| {
            let other = |r: &&&RunRecord| {
                (&r.key.problem, r.key.seed, r.key.method) == (&record.key.problem, record.key.seed, method)
            };
            records.iter().find(other).and_then(|r| score(r, &r.key.problem, "nll"))
        };
        let own = score(record, &record.key.problem, "nll");
        if let (Some(map), Some(temperature), Some(own)) =
            (same(MethodName::Map), same(MethodName::MapTemperature), own)
        {
            let _ = write!(
                text,
                "{}{}: riem-la {:+.3} against map, {:+.3} against map-temperature",
                if text.is_empty() { "Differences of NLL, below 0 where riem-la is better. " } else { "; " },
                record.key.problem,
                own - map,
                own - temperature
            );
        }
    }
    if text.is_empty() { text } else { text + "." }
}

/// What of the experiment's file was not run.
fn missing(experiment: &Experiment, records: &[&RunRecord]) -> String {
    let mut missing = Vec::new();
    for problem in &experiment.problems {
        let there = |method: MethodName| {
            records.iter().any(|r| r.key.problem == problem.name && r.key.method == method)
        };
        let left: Vec<&str> = experiment
            .methods
            .iter()
            .map(|e| e.method)
            .filter(|m| !there(*m))
            .map(MethodName::name)
            .collect();
        match left.len() {
            0 => {}
            n if n == experiment.methods.len() => missing.push(problem.name.clone()),
            _ => missing.push(format!("{} ({})", problem.name, left.join(", "))),
        }
    }
    if missing.is_empty() { String::new() } else { format!("Not run: {}.", missing.join("; ")) }
}

/// The numbers as CSV.
pub fn csv(experiment: &Experiment, records: &[RunRecord]) -> String {
    let mut csv = format!("problem,approximation,seed,method,{}\n", COLUMNS.join(",").replace(' ', "_"));
    for record in records_of(experiment, records) {
        let name = &record.key.problem;
        let (problem, approximation) = name.rsplit_once(' ').unwrap_or((name, ""));
        let _ = write!(csv, "{problem},{approximation},{},{}", record.key.seed, record.key.method.name());
        numbers(record).into_iter().for_each(|n| csv += &format!(",{}", digits(n)));
        csv += "\n";
    }
    csv
}
