//! The study of larger networks: scores, times and memory in one table.

use std::fmt::Write as _;

use super::super::results::digits;
use super::super::subject::Subject;
use super::super::{Experiment, MethodName, RunRecord, Setting};
use super::{records_of, study};
use riemla_workflow::report::{Section, Table, decimals};
use riemla_workflow::workflow::draws::AT_TEMPERATURE;

const INTRO: &str = "\
Averages over draws have a second NLL and ECE: at the temperature that \
`riemla predict` would fit to 2000 other images. One seed unless said otherwise. ECE in per cent; areas under the ROC curve (AUROC) of 1 − the largest probability, against \
the test images. Seconds of a fit are those of the curvature and its factorisation under a prior that is known, on all \
cores; its memory is the estimate that `riemla fit` prints. Seconds per draw are those of one thread, without the search \
for the strength, and include what else the machine did. A gradient norm that is not small against the root of the \
prior precision times the root of the number of weights says that the weights are not at a minimum.";

/// A column: its name, decimals in the table, and number.
type Column = (&'static str, usize, fn(&RunRecord) -> Option<f64>);

/// Columns of the table and of scale.csv.
const COLUMNS: [Column; 18] = [
    ("weights", 0, |record| Some(record.model.as_ref()?.weights as f64)),
    ("rows", 0, |record| Some(record.model.as_ref()?.training.samples as f64)),
    ("prior precision", 2, |record| record.model.as_ref()?.prior_precision),
    ("gradient norm", 2, |record| Some(record.model.as_ref()?.gradient_norm)),
    ("fit s", 1, |record| record.model.as_ref()?.fit_seconds),
    ("fit MB", 0, |record| record.model.as_ref()?.fit_megabytes),
    ("draws", 0, |record| Some(record.samples as f64)),
    ("s per draw", 2, |record| record.draws.seconds_per_sample),
    ("strength", 3, |record| record.draws.strength),
    ("virial ratio", 2, |record| record.draws.virial_ratio),
    ("accuracy", 1, |record| own_score(record, "accuracy")),
    ("NLL", 3, |record| own_score(record, "nll")),
    ("ECE", 1, |record| own_score(record, "ece")),
    ("NLL at a temperature", 3, |record| tempered_score(record, "nll")),
    ("ECE at a temperature", 1, |record| tempered_score(record, "ece")),
    ("AUROC fashion_mnist", 3, |record| score(record, "fashion_mnist", "auroc")),
    ("AUROC kmnist", 3, |record| score(record, "kmnist", "auroc")),
    ("unfinished", 2, |record| record.draws.unfinished_fraction),
];

/// Whether the experiment is such a study.
pub fn is_study(experiment: &Experiment) -> bool {
    !experiment.approximations.is_empty()
}

/// Its posteriors that were run, in the order of its file.
fn in_order<'a>(experiment: &Experiment, records: &'a [RunRecord]) -> Vec<&'a RunRecord> {
    let place = |record: &RunRecord| experiment.problems.iter().position(|p| p.name == record.key.problem);
    let mut own: Vec<&RunRecord> =
        records_of(experiment, records).filter(|record| record.not_run.is_none()).collect();
    own.sort_by_key(|record| (place(record), record.key.seed, record.key.method, record.key.setting));
    own
}

/// Its method; polished draws say so.
fn label(method: MethodName, setting: Setting) -> String {
    format!("{method}{}", if setting.polishes() { " polished" } else { "" })
}

fn label_of(record: &RunRecord) -> String {
    label(record.key.method, record.key.setting)
}

fn score(record: &RunRecord, test_set: &str, name: &str) -> Option<f64> {
    record.scores.iter().find(|s| s.test_set == test_set && s.score == name).map(|s| s.value)
}

fn own_score(record: &RunRecord, name: &str) -> Option<f64> {
    score(record, &record.key.problem, name)
}

/// Of averages, as new rows are predicted.
fn tempered_score(record: &RunRecord, name: &str) -> Option<f64> {
    score(record, &format!("{}{AT_TEMPERATURE}", record.key.problem), name)
}

/// The section of a study.
pub fn section(experiment: &Experiment, records: &[RunRecord]) -> Section {
    let missing = missing(experiment, records);
    let records = in_order(experiment, records);
    let mut section = study(experiment, INTRO);
    let mut table = Table::new("network, rows, approximation, method", COLUMNS.map(|(name, ..)| name));
    for record in &records {
        let name = format!("{}, {}", record.key.problem, label_of(record));
        table.row(name, COLUMNS.map(|(_, places, number)| decimals(number(record), places)));
    }
    section.table(table).text(leads(&records)).text(missing);
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
            records.iter().find(other).and_then(|r| own_score(r, "nll"))
        };
        let own = tempered_score(record, "nll").or_else(|| own_score(record, "nll"));
        if let (Some(map), Some(temperature), Some(own)) =
            (same(MethodName::Map), same(MethodName::MapTemperature), own)
        {
            let _ = write!(
                text,
                "{}{}: {} {:+.3} against map, {:+.3} against map-temperature",
                if text.is_empty() {
                    "Differences of NLL, draws at their temperature, below 0 where they are better. "
                } else {
                    "; "
                },
                record.key.problem,
                label_of(record),
                own - map,
                own - temperature
            );
        }
    }
    if text.is_empty() { text } else { text + "." }
}

/// What of the experiment's file was not run, with the time it would have taken where that is known.
fn missing(experiment: &Experiment, records: &[RunRecord]) -> String {
    let mut missing = Vec::new();
    for subject in Subject::all(experiment) {
        let pairs = subject.pairs(experiment, &[]);
        let left = pairs.iter().filter_map(|(setting, method)| {
            let same = |r: &&RunRecord| {
                (r.key.problem.as_str(), r.key.setting, r.key.method) == (subject.name(), *setting, *method)
            };
            match records_of(experiment, records).find(same) {
                Some(record) => Some(format!("{}: {}", label(*method, *setting), record.not_run.as_ref()?)),
                None => Some(label(*method, *setting)),
            }
        });
        let left: Vec<String> = left.collect();
        if left.len() == pairs.len() && !left.iter().any(|method| method.contains(':')) {
            missing.push(subject.name().to_string());
        } else if !left.is_empty() {
            missing.push(format!("{} ({})", subject.name(), left.join(", ")));
        }
    }
    if missing.is_empty() { String::new() } else { format!("Not run: {}.", missing.join("; ")) }
}

/// The numbers as CSV.
pub fn csv(experiment: &Experiment, records: &[RunRecord]) -> String {
    let names = COLUMNS.map(|(name, ..)| name).join(",").replace(' ', "_");
    let mut csv = format!("problem,approximation,seed,method,{names}\n");
    for record in in_order(experiment, records) {
        let name = &record.key.problem;
        let (problem, approximation) = name.rsplit_once(' ').unwrap_or((name, ""));
        let _ = write!(csv, "{problem},{approximation},{},{}", record.key.seed, label_of(record));
        COLUMNS.iter().for_each(|(_, _, number)| csv += &format!(",{}", digits(number(record))));
        csv += "\n";
    }
    csv
}
