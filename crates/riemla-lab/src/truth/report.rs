//! The page of the comparison: made from saved files alone.

use std::path::{Path, PathBuf};

use super::figures;
use super::plan::{PLAN_FILE, TruthPlan};
use super::record::{TruthRecord, TruthRecords, records_file, truth_csv, truth_of};
use crate::experiments::layout::write_text;
use crate::experiments::{ExperimentError, Result};
use crate::method::MethodName;
use crate::report::{Report, Section, Table};

const DISTANCES: &str = "\
W1 is the Wasserstein-1 distance of the marginals, in deviations of the truth, mean over weights; in brackets \
what a second set of exact draws of that size would show. W1 of predictions is the same for the predictions \
on up to 100 test rows (sum of distances over sum of deviations). The weights of a network can be exchanged \
without another prediction, and chains do wander between such places: for networks the predictions count. \
Virial ratio and loss rise are 1 for exact draws and for Gaussian posteriors. Gradients per independent draw \
contain the search for the strength and the warm-up of chains; draws of all methods but NUTS are independent. A strength is not met if \
the rule has no solution and the end of its range was taken. On densities the search looks at all draws, on \
networks at ten: only there is its cost that of a user.";

/// Whether a directory holds a comparison with the truth.
pub fn has_truth(out: &Path) -> bool {
    records_file(out).is_file()
}

/// Writes `truth.csv`, `truth.md` and `truth.html` of a directory; returns where the last is.
pub fn write_truth_report(out: &Path) -> Result<PathBuf> {
    let records = TruthRecords::open(out)?;
    write_text(&out.join("truth.csv"), &truth_csv(records.as_slice()))?;
    let file = out.join(PLAN_FILE);
    let text = std::fs::read_to_string(&file).map_err(ExperimentError::io(&file, "read it"))?;
    let plan = TruthPlan::parse(&file.display().to_string(), &text)?;
    let mut report = Report::new(&plan.title);
    report.extend(sections(out, &plan, &in_order(&plan, records.as_slice()))?);
    write_text(&out.join("truth.md"), &report.to_markdown())?;
    let path = out.join("truth.html");
    write_text(&path, &report.to_html())?;
    Ok(path)
}

/// The records in the order of the plan, chains first; those of methods that were added later stand with
/// the others.
fn in_order(plan: &TruthPlan, records: &[TruthRecord]) -> Vec<TruthRecord> {
    let targets = targets(records);
    let mut sorted = records.to_vec();
    sorted.sort_by_key(|record| {
        let place = plan.contenders.iter().position(|contender| *contender == record.contender);
        let place =
            if record.contender.method == MethodName::Nuts { None } else { place.or(Some(usize::MAX)) };
        (targets.iter().position(|target| *target == record.target), place)
    });
    sorted
}

fn sections(out: &Path, plan: &TruthPlan, records: &[TruthRecord]) -> Result<[Section; 4]> {
    let targets = targets(records);
    let mut closest = Section::new("Who is closest", plan.about.trim().to_string());
    closest.text(untrusted(records, &targets)).table(ranking(records, &targets));
    closest.grid(figures::strips(records, &targets));
    let mut planes = Section::new("Densities in the plane", figures::INTRO);
    for density in &plan.densities {
        planes.grid(figures::plane(out, *density, records)?);
    }
    let mut numbers = Section::new("All numbers", DISTANCES);
    for target in &targets {
        numbers.table(table(records, target));
    }
    let mut chains = Section::new("The chains", CHAINS);
    chains.table(chain_table(records));
    Ok([closest, planes, numbers, chains])
}

const CHAINS: &str = "\
R-hat and effective sample sizes are the worst over what is judged: predictions and the loss for networks, \
coordinates and the loss for densities. Limits: R-hat 1.01, effective sample sizes 400.";

/// The targets, in the order of the records.
fn targets(records: &[TruthRecord]) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    for record in records {
        if !targets.contains(&record.target) {
            targets.push(record.target.clone());
        }
    }
    targets
}

/// What must not be taken for the truth.
fn untrusted(records: &[TruthRecord], targets: &[String]) -> String {
    let bad: Vec<&str> =
        targets.iter().filter(|target| !truth_of(records, target)).map(String::as_str).collect();
    if bad.is_empty() {
        return "All chains that stand for the truth converged.".into();
    }
    format!(
        "The chains of these did not converge, so that they are no truth, only the best there is (marked by *): {}.",
        bad.join("; ")
    )
}

/// The distance that counts: of predictions where there are any.
pub fn main_distance(record: &TruthRecord) -> Option<f64> {
    record.distances.functions.or(record.distances.weights)
}

/// Its null.
pub fn main_null(record: &TruthRecord) -> Option<f64> {
    record.distances.functions_null.or(record.distances.weights_null)
}

/// The name of a target, marked if its truth is none.
pub fn marked(records: &[TruthRecord], target: &str) -> String {
    if truth_of(records, target) { target.into() } else { format!("{target} *") }
}

/// The three closest of every target.
fn ranking(records: &[TruthRecord], targets: &[String]) -> Table {
    let row = |target: &String| {
        let mut here: Vec<(f64, &TruthRecord)> = records
            .iter()
            .filter(|record| record.target == *target && record.contender.method != MethodName::Nuts)
            .filter_map(|record| main_distance(record).map(|distance| (distance, record)))
            .collect();
        here.sort_by(|a, b| a.0.total_cmp(&b.0));
        let cell = |(distance, record): &(f64, &TruthRecord)| {
            let cost = record.gradients_per_effective_draw.filter(|cost| *cost > 0.0);
            let cost = cost.map_or(String::new(), |cost| format!(", {cost:.0} gradients"));
            format!("{}: {distance:.3}{cost}", record.contender)
        };
        let mut cells: Vec<String> = here.iter().take(3).map(cell).collect();
        cells.resize(3, "–".into());
        let nuts = records.iter().find(|r| r.target == *target && r.contender.method == MethodName::Nuts);
        let cost = nuts.and_then(|record| record.gradients_per_effective_draw);
        cells.push(cost.map_or("–".into(), |cost| format!("{cost:.0} gradients")));
        (marked(records, target), cells)
    };
    let caption =
        "By W1 of predictions, of coordinates for densities; with the gradients per independent draw.";
    Table::new("target", ["closest", "second", "third", "nuts"])
        .rows(targets.iter().map(row))
        .caption(caption)
}

fn text(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".into(), |v| format!("{v:.digits$}"))
}

fn with_null(value: Option<f64>, null: Option<f64>) -> String {
    match (value, null) {
        (Some(value), Some(null)) => format!("{value:.3} ({null:.3})"),
        (None, Some(null)) => format!("({null:.3})"),
        (value, None) => text(value, 3),
    }
}

fn table(records: &[TruthRecord], target: &str) -> Table {
    let row = |record: &TruthRecord| {
        let d = &record.distances;
        let cells = vec![
            with_null(d.weights, d.weights_null),
            with_null(d.functions, d.functions_null),
            text(d.deviation_ratio, 2),
            text(record.virial_ratio, 2),
            text(record.loss_rise, 2),
            text(record.nll, 3),
            text(record.strength, 3) + if record.rule_met == Some(false) { " (not met)" } else { "" },
            text(record.gradients_per_draw, 0),
            text(record.gradients_per_effective_draw, 0),
        ];
        (record.contender.to_string(), cells)
    };
    let here: Vec<&TruthRecord> = records.iter().filter(|record| record.target == target).collect();
    let columns = [
        "W1",
        "W1 of predictions",
        "sd ratio",
        "virial ratio",
        "loss rise",
        "NLL",
        "strength",
        "gradients per draw",
        "per independent draw",
    ];
    let (dim, draws) = here.first().map_or((0, 0), |record| (record.dim, record.draws));
    let truth = match here.first() {
        Some(record) if record.exact_truth => "exact draws".to_string(),
        _ => format!("{draws} draws of NUTS"),
    };
    Table::new("method", columns)
        .rows(here.iter().map(|record| row(record)))
        .caption(format!("{}: {dim} weights; the truth is {truth}.", marked(records, target)))
}

fn chain_table(records: &[TruthRecord]) -> Table {
    let row = |record: &TruthRecord| {
        let chains = record.chains?;
        let cells = vec![
            text(chains.r_hat, 3),
            text(chains.bulk_ess, 0),
            text(chains.tail_ess, 0),
            text(chains.weights_r_hat, 3),
            chains.divergences.to_string(),
            text(record.gradients_per_draw, 0),
            if chains.converged { "yes".into() } else { "no".into() },
        ];
        Some((record.target.clone(), cells))
    };
    let columns = [
        "R-hat",
        "bulk ESS",
        "tail ESS",
        "R-hat of weights",
        "divergences",
        "gradients per draw",
        "converged",
    ];
    Table::new("target", columns).rows(records.iter().filter_map(row))
}
