//! What is said of an experiment against the truth, from its records: sections of a report, and a table.

use std::fmt::Write as _;
use std::path::Path;

use super::super::record::RunRecord;
use super::super::report::{Column, table, unfinished};
use super::super::results::mean;
use super::super::{Experiment, MethodName, Result};
use super::against::TruthNumbers;
use super::chains::ChainVerdict;
use super::{figures, polish};
use riemla_workflow::report::{Section, Table, decimals};
use riemla_workflow::setting::Entry;

const DISTANCES: &str = "\
W1 is the Wasserstein-1 distance of the marginals from the truth (exact draws or NUTS), in standard \
deviations of the truth, mean over weights; in brackets the value for a second set of exact draws of the \
same size. W1 of predictions is the same for the predictions on up to 100 test rows (sum of distances \
divided by sum of standard deviations). Exchanging units of a network changes its weights but not its \
predictions, and chains do move between such modes: for networks, compare the predictions. The virial \
ratio is 1 for exact draws of any posterior; the loss rise, divided by half the number of weights, is 1 if \
the posterior is Gaussian. Gradients per independent draw include the search for the strength and the \
warm-up of chains; draws of all methods except NUTS are independent. \"Not met\" means that the rule has \
no solution and the end of its range was used. On densities the search uses all draws, on networks ten, as \
in normal use.";

/// A method on a target, over all seeds.
pub struct Line<'a> {
    /// The target.
    pub target: &'a str,
    /// The method with its setting.
    pub entry: Entry,
    /// One record per seed.
    pub records: Vec<&'a RunRecord>,
}

impl Line<'_> {
    fn numbers(&self) -> impl Iterator<Item = &TruthNumbers> {
        self.records.iter().filter_map(|record| record.truth.as_ref())
    }

    /// The mean over seeds of a number.
    pub fn number(&self, of: impl Fn(&TruthNumbers) -> Option<f64>) -> Option<f64> {
        mean(self.numbers().filter_map(of))
    }

    /// The mean over seeds of what all records have.
    fn of_record(&self, of: impl Fn(&RunRecord) -> Option<f64>) -> Option<f64> {
        mean(self.records.iter().filter_map(|record| of(record)))
    }

    /// Those of seeds that ran chains.
    fn chains(&self) -> impl Iterator<Item = ChainVerdict> {
        self.numbers().filter_map(|numbers| numbers.chains)
    }

    fn of_chains(&self, of: impl Fn(&ChainVerdict) -> Option<f64>) -> Option<f64> {
        self.number(|numbers| numbers.chains.as_ref().and_then(&of))
    }

    /// The distance that counts: of predictions where there are any.
    pub fn distance(&self) -> Option<f64> {
        self.number(|t| t.distances.functions.or(t.distances.weights))
    }

    /// What exact draws would show.
    pub fn null(&self) -> Option<f64> {
        self.number(|t| t.distances.functions_null.or(t.distances.weights_null))
    }

    fn is_exact(&self) -> bool {
        self.numbers().any(|numbers| numbers.exact_truth)
    }

    /// Whether the rule for the strength is met in every seed; none without a rule.
    fn rule_met(&self) -> Option<bool> {
        self.numbers().filter_map(|numbers| numbers.rule_met).reduce(|a, b| a && b)
    }

    fn count(&self, of: impl Fn(&RunRecord) -> u64) -> u64 {
        self.records.iter().map(|record| of(record)).sum()
    }
}

/// The lines of an experiment in its order, chains first.
fn lines<'a>(experiment: &'a Experiment, records: &'a [RunRecord]) -> Vec<Line<'a>> {
    let densities = experiment.truth.iter().flat_map(|plan| &plan.densities).map(|density| density.name());
    let targets = densities.chain(experiment.problems.iter().map(|problem| problem.name.as_str()));
    let entries = || [MethodName::Nuts.into()].into_iter().chain(experiment.methods.iter().copied());
    let line = |(target, entry): (&'a str, Entry)| {
        let of_line = |record: &&RunRecord| {
            record.key.experiment == experiment.name
                && (record.key.problem.as_str(), record.key.entry()) == (target, entry)
                && record.truth.is_some()
        };
        let records: Vec<&RunRecord> = records.iter().filter(of_line).collect();
        (!records.is_empty()).then_some(Line { target, entry, records })
    };
    targets.flat_map(|target| entries().map(move |entry| (target, entry))).filter_map(line).collect()
}

/// The sections of the report.
pub fn sections(out: &Path, experiment: &Experiment, records: &[RunRecord]) -> Result<Vec<Section>> {
    let lines = &lines(experiment, records);
    let mut targets: Vec<&str> = lines.iter().map(|line| line.target).collect();
    targets.dedup();
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let mut closest = Section::new("Closest methods", experiment.about.trim());
    let all = lines.iter().flat_map(|line| line.records.iter().copied());
    closest.text(untrusted(lines, &targets)).text(unfinished(all)).table(ranking(lines, &targets));
    closest.grid(figures::strips(lines, &targets));
    let mut planes = Section::new("Densities in the plane", figures::INTRO);
    for density in experiment.truth.iter().flat_map(|plan| &plan.densities) {
        planes.grid(figures::plane(out, *density, lines)?);
    }
    let mut numbers = Section::new("All numbers", DISTANCES);
    for target in &targets {
        numbers.table(numbers_of(lines, target));
    }
    let mut chains = Section::new("The chains", CHAINS);
    chains.table(chain_table(lines));
    let polished = polish::section(lines);
    Ok([closest].into_iter().chain(polished).chain([planes, numbers, chains]).collect())
}

const CHAINS: &str = "\
R-hat and effective sample sizes are the worst values: over predictions and the loss for networks, over \
coordinates and the loss for densities. Limits: R-hat at most 1.01, effective sample sizes at least 400.";

/// Whether the truth of a target can be trusted.
fn trusted(lines: &[Line<'_>], target: &str) -> bool {
    let nuts = lines.iter().find(|line| line.target == target && line.entry.method == MethodName::Nuts);
    let converged = |t: &TruthNumbers| t.exact_truth || t.chains.is_some_and(|chains| chains.converged);
    nuts.is_some_and(|line| line.numbers().all(converged))
}

/// What must not be taken for the truth.
fn untrusted(lines: &[Line<'_>], targets: &[&str]) -> String {
    let bad: Vec<&str> = targets.iter().copied().filter(|target| !trusted(lines, target)).collect();
    if bad.is_empty() {
        return "All reference chains converged.".into();
    }
    format!(
        "The reference chains of the following targets did not converge; they are the best reference \
         available, but not exact (marked by *): {}.",
        bad.join("; ")
    )
}

/// The name of a target, marked if its truth is none.
pub fn marked(lines: &[Line<'_>], target: &str) -> String {
    if trusted(lines, target) { target.into() } else { format!("{target} *") }
}

/// The three closest of every target.
fn ranking(lines: &[Line<'_>], targets: &[&str]) -> Table {
    let row = |target: &&str| {
        let (chains, others): (Vec<&Line<'_>>, Vec<_>) = lines
            .iter()
            .filter(|line| line.target == *target)
            .partition(|line| line.entry.method == MethodName::Nuts);
        let mut others: Vec<(f64, &Line<'_>)> =
            others.into_iter().filter_map(|line| Some((line.distance()?, line))).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let cost = |line: &Line<'_>| line.number(|t| t.gradients_per_effective_draw);
        let cell = |(distance, line): &(f64, &Line<'_>)| {
            let cost = cost(line).filter(|cost| *cost > 0.0);
            let cost = cost.map_or(String::new(), |cost| format!(", {cost:.0} gradients"));
            format!("{}: {distance:.3}{cost}", line.entry)
        };
        let mut cells: Vec<String> = others.iter().take(3).map(cell).collect();
        cells.resize(3, "–".into());
        let nuts = chains.first().and_then(|line| cost(line));
        cells.push(nuts.map_or("–".into(), |cost| format!("{cost:.0} gradients")));
        (marked(lines, target), cells)
    };
    let caption =
        "Ranked by W1 of predictions (densities: of coordinates), with the gradients per independent draw.";
    Table::new("target", ["closest", "second", "third", "nuts"])
        .rows(targets.iter().map(row))
        .caption(caption)
}

fn with_null(value: Option<f64>, null: Option<f64>) -> String {
    match (value, null) {
        (Some(value), Some(null)) => format!("{value:.3} ({null:.3})"),
        (None, Some(null)) => format!("({null:.3})"),
        (value, None) => decimals(value, 3),
    }
}

fn numbers_of(lines: &[Line<'_>], target: &str) -> Table {
    let columns: [Column<&Line<'_>>; 9] = [
        ("W1", |line| {
            with_null(line.number(|t| t.distances.weights), line.number(|t| t.distances.weights_null))
        }),
        ("W1 of predictions", |line| {
            with_null(line.number(|t| t.distances.functions), line.number(|t| t.distances.functions_null))
        }),
        ("sd ratio", |line| decimals(line.number(|t| t.distances.deviation_ratio), 2)),
        ("virial ratio", |line| decimals(line.of_record(|record| record.draws.virial_ratio), 2)),
        ("loss rise", |line| decimals(line.number(|t| t.loss_rise), 2)),
        ("NLL", |line| decimals(line.number(|t| t.nll), 3)),
        ("strength", |line| {
            decimals(line.of_record(|record| record.draws.strength), 3)
                + if line.rule_met() == Some(false) { " (not met)" } else { "" }
        }),
        ("gradients per draw", |line| decimals(line.number(|t| t.gradients_per_draw), 0)),
        ("per independent draw", |line| decimals(line.number(|t| t.gradients_per_effective_draw), 0)),
    ];
    let here: Vec<&Line<'_>> = lines.iter().filter(|line| line.target == target).collect();
    let dim = here.first().and_then(|line| line.numbers().next()).map_or(0, |numbers| numbers.dim);
    let truth = match here.first() {
        Some(line) if line.is_exact() => "exact draws".to_string(),
        line => format!("{} draws of NUTS", line.map_or(0, |line| line.count(|record| record.samples))),
    };
    table("method", &columns, here.iter().map(|line| (line.entry.to_string(), *line)))
        .caption(format!("{}: {dim} weights; the truth is {truth}.", marked(lines, target)))
}

fn chain_table(lines: &[Line<'_>]) -> Table {
    let columns: [Column<&Line<'_>>; 7] = [
        ("R-hat", |line| decimals(line.of_chains(|chains| chains.r_hat), 3)),
        ("bulk ESS", |line| decimals(line.of_chains(|chains| chains.bulk_ess), 0)),
        ("tail ESS", |line| decimals(line.of_chains(|chains| chains.tail_ess), 0)),
        ("R-hat of weights", |line| decimals(line.of_chains(|chains| chains.weights_r_hat), 3)),
        ("divergences", |line| decimals(line.of_chains(|chains| Some(chains.divergences as f64)), 0)),
        ("gradients per draw", |line| decimals(line.number(|t| t.gradients_per_draw), 0)),
        ("converged", |line| if line.chains().all(|chains| chains.converged) { "yes" } else { "no" }.into()),
    ];
    let of_chains = lines.iter().filter(|line| line.chains().next().is_some());
    table("target", &columns, of_chains.map(|line| (line.target.to_string(), line)))
}

const HEADER: &str = "target,method,weights,draws,failed,strength,rule_met,w1,w1_null,sd_ratio,function_w1,\
function_w1_null,virial_ratio,loss_rise,nll,gradients_per_draw,search_gradients,\
gradients_per_effective_draw,r_hat,bulk_ess,tail_ess,divergences,truth,truth_converged";

/// `truth.csv`: the means over seeds, empty where something is not known.
pub fn truth_csv(experiment: &Experiment, records: &[RunRecord]) -> String {
    let lines = lines(experiment, records);
    let mut csv = format!("{HEADER}\n");
    for line in &lines {
        let (draws, failed) = (line.count(|record| record.samples), line.count(|record| record.failed));
        let dim = line.numbers().next().map_or(0, |numbers| numbers.dim);
        let met = line.rule_met().map_or(String::new(), |met| met.to_string());
        let strength = line.of_record(|record| record.draws.strength);
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6}"));
        let _ =
            write!(csv, "{},{},{dim},{draws},{failed},{},{met}", line.target, line.entry, number(strength));
        for value in [
            line.number(|t| t.distances.weights),
            line.number(|t| t.distances.weights_null),
            line.number(|t| t.distances.deviation_ratio),
            line.number(|t| t.distances.functions),
            line.number(|t| t.distances.functions_null),
            line.of_record(|record| record.draws.virial_ratio),
            line.number(|t| t.loss_rise),
            line.number(|t| t.nll),
            line.number(|t| t.gradients_per_draw),
            line.number(|t| Some(t.search_gradients as f64)),
            line.number(|t| t.gradients_per_effective_draw),
            line.of_chains(|chains| chains.r_hat),
            line.of_chains(|chains| chains.bulk_ess),
            line.of_chains(|chains| chains.tail_ess),
            line.of_chains(|chains| Some(chains.divergences as f64)),
        ] {
            let _ = write!(csv, ",{}", number(value));
        }
        let kind = if line.is_exact() { "exact" } else { "nuts" };
        let _ = writeln!(csv, ",{kind},{}", trusted(&lines, line.target));
    }
    csv
}
