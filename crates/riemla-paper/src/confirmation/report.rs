//! What a confirmation found: ranks with their critical difference, wins and losses, tests, costs; as HTML, Markdown and
//! CSV.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::statistics::{Ranking, power, sign_rank_p};
use super::{Record, Records, Scored};
use crate::experiments::layout::write_text;
use crate::experiments::report::unique;
use crate::experiments::results::mean_and_error;
use crate::experiments::{ExperimentError, Result};
use riemla_workflow::plot::{Axis, Dot, IntervalPlot, Marker, standalone};
use riemla_workflow::report::{Better, Column, Report, Section, Table};

/// The default that is to be confirmed.
const DEFAULT: &str = "riem-la";
/// Worse than doing nothing by more than this is a defect.
const MOST_HARM: f64 = 0.02;
/// Level of the test.
const LEVEL: f64 = 0.01;

const ABOUT: &str = "\
Tables, splits, scores and tests were fixed before the first run: docs/confirmation.md. Log loss: the mean −log \
probability of the true class, or of the density at the true value (differences do not depend on its units). \
Ranks are those of the mean log loss over seeds on each table, 1 is the best.";

/// Writes confirmation.html, .md, .csv, and the ranks as .svg; returns the page.
pub fn write_reports(out: &Path) -> Result<PathBuf> {
    let records = Records::open(out)?;
    let records = records.as_slice();
    if records.is_empty() {
        return Err(ExperimentError::NoResults(out.into()));
    }
    let report = report(records);
    let page = out.join("confirmation.html");
    write_text(&page, &report.to_html())?;
    write_text(&out.join("confirmation.md"), &report.to_markdown())?;
    write_text(&out.join("confirmation.csv"), &csv(records))?;
    let means = Means::new(records);
    if let Some(ranking) = means.ranking() {
        write_text(&out.join("confirmation.svg"), &standalone(&diagram(&means, &ranking)))?;
    }
    Ok(page)
}

/// Mean log losses: a row per set, a column per method that all sets have.
struct Means {
    sets: Vec<String>,
    methods: Vec<String>,
    /// Means and standard errors over seeds.
    losses: Vec<Vec<(f64, Option<f64>)>>,
}

impl Means {
    fn new(records: &[Record]) -> Self {
        let sets = unique(records.iter().map(|record| record.key.set.clone()));
        let all = records.iter().flat_map(|record| &record.methods);
        let mut methods = unique(all.map(|scored| scored.method.clone()));
        let of = |set: &str, method: &str| -> Vec<f64> {
            let here = records.iter().filter(|record| record.key.set == set);
            let scored = here.filter_map(|record| record.methods.iter().find(|m| m.method == method));
            scored.filter_map(Scored::log_loss).filter(|loss| loss.is_finite()).collect()
        };
        methods.retain(|method| sets.iter().all(|set| !of(set, method).is_empty()));
        let mean = |set: &str, method: &str| mean_and_error(&of(set, method));
        let row = |set: &String| methods.iter().map(|method| mean(set, method)).collect();
        let losses = sets.iter().map(row).collect();
        Self { sets, methods, losses }
    }

    fn ranking(&self) -> Option<Ranking> {
        let losses: Vec<Vec<f64>> =
            self.losses.iter().map(|row| row.iter().map(|(mean, _)| *mean).collect()).collect();
        Ranking::new(&losses)
    }

    /// Those of the methods that take one network.
    fn of_one_network(&self) -> Self {
        let kept: Vec<usize> =
            (0..self.methods.len()).filter(|k| !self.methods[*k].ends_with("-members")).collect();
        Self {
            sets: self.sets.clone(),
            methods: kept.iter().map(|k| self.methods[*k].clone()).collect(),
            losses: self.losses.iter().map(|row| kept.iter().map(|k| row[*k]).collect()).collect(),
        }
    }

    fn column(&self, method: &str) -> Option<Vec<f64>> {
        let k = self.methods.iter().position(|name| name == method)?;
        Some(self.losses.iter().map(|row| row[k].0).collect())
    }
}

fn report(records: &[Record]) -> Report {
    let mut report = Report::new("Confirmation on data that played no part");
    let seeds = records.iter().map(|record| record.key.seed).collect::<BTreeSet<_>>().len();
    let means = Means::new(records);
    let about = format!("{ABOUT}\n\n{} sets, {seeds} seeds.", means.sets.len());
    report.add(section("Methods that ran on all sets", about, records, &means));
    let most = records.iter().map(|record| record.methods.len()).max().unwrap_or(0);
    let full: Vec<Record> = records.iter().filter(|record| record.methods.len() == most).cloned().collect();
    let all = Means::new(&full);
    if all.methods.len() > means.methods.len() {
        let about = format!("The {} sets on which every method ran.", all.sets.len());
        report.add(section("All methods", about, &full, &all));
    }
    report
}

fn section(title: &str, about: String, records: &[Record], means: &Means) -> Section {
    let mut section = Section::new(title, about);
    if let Some(ranking) = means.ranking() {
        section.figure(diagram(means, &ranking), caption(&ranking)).text(verdict(means));
    }
    section.table(ranks(means)).table(pairs(means)).table(losses(means)).table(costs(records, means));
    section
}

/// Mean ranks with half the critical difference to each side: methods whose lines do not meet differ.
fn diagram(means: &Means, ranking: &Ranking) -> String {
    let plot = IntervalPlot::new("mean rank of the log loss", Axis::linear("mean rank (1 is the best)"));
    let dot = |k: usize| Dot {
        source: "mean rank".into(),
        value: ranking.ranks[k],
        reach: 0.5 * ranking.critical_difference,
        marker: Marker::Circle,
        filled: true,
    };
    ranking.order().into_iter().fold(plot, |plot, k| plot.row(&means.methods[k], vec![dot(k)])).to_svg()
}

fn caption(ranking: &Ranking) -> String {
    format!(
        "Mean ranks. Two methods differ at 5 % where their lines do not overlap (critical difference {:.2}, Nemenyi); \
         that all are alike has p = {:.2e} (Friedman).",
        ranking.critical_difference, ranking.friedman_p
    )
}

/// Whether the promises of docs/confirmation.md hold.
fn verdict(means: &Means) -> String {
    let (Some(ours), Some(map)) = (means.column(DEFAULT), means.column("map")) else { return String::new() };
    let differences: Vec<f64> = ours.iter().zip(&map).map(|(a, b)| a - b).collect();
    let wins = differences.iter().filter(|d| **d < 0.0).count();
    let harmed: Vec<String> = means
        .sets
        .iter()
        .zip(&differences)
        .filter(|(_, d)| **d > MOST_HARM)
        .map(|(set, d)| format!("{set} (+{d:.3})"))
        .collect();
    let harm = match harmed.as_slice() {
        [] => format!("On no table is it worse by more than {MOST_HARM}."),
        some => format!("It is worse by more than {MOST_HARM} on: {}.", some.join(", ")),
    };
    format!(
        "{DEFAULT} against map: better on {wins} of {} tables, p = {:.2e} (signed ranks, two-sided, level {LEVEL}; the \
         power for a mean difference of one standard deviation over tables is {:.2}). {harm}",
        means.sets.len(),
        sign_rank_p(&differences),
        power(means.sets.len(), 1.0, LEVEL)
    )
}

/// Mean ranks of all methods, and of those of one network among themselves.
fn ranks(means: &Means) -> Table {
    let mut table =
        Table::new("mean rank of", ["among all", "among methods of one network"].map(String::from))
            .caption("Mean rank of the log loss; 1 is the best.");
    let alone = means.of_one_network();
    let (Some(all), Some(one)) = (means.ranking(), alone.ranking()) else { return table };
    for k in all.order() {
        let name = &means.methods[k];
        let place = alone.methods.iter().position(|method| method == name);
        let among_one = place.map_or("–".into(), |place| format!("{:.2}", one.ranks[place]));
        table.row(name, [format!("{:.2}", all.ranks[k]), among_one]);
    }
    table
}

/// The default against every other method.
fn pairs(means: &Means) -> Table {
    let columns = ["wins", "losses", "mean difference", "worst", "p"];
    let mut table = Table::new(format!("{DEFAULT} against"), columns.map(String::from))
        .caption("Log loss of the default less that of the other method; below 0 the default is better.");
    let Some(ours) = means.column(DEFAULT) else { return table };
    for method in means.methods.iter().filter(|method| *method != DEFAULT) {
        let other = means.column(method).unwrap_or_default();
        let differences: Vec<f64> = ours.iter().zip(&other).map(|(a, b)| a - b).collect();
        let count = |better: bool| differences.iter().filter(|d| (**d < 0.0) == better && **d != 0.0).count();
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        let worst = differences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let p = sign_rank_p(&differences);
        table.row(
            method,
            [
                count(true).to_string(),
                count(false).to_string(),
                format!("{mean:+.3}"),
                format!("{worst:+.3}"),
                format!("{p:.1e}"),
            ],
        );
    }
    table
}

fn losses(means: &Means) -> Table {
    let mut table =
        Table::new("table", means.methods.clone()).caption("Log loss, mean and standard error over seeds.");
    for (set, row) in means.sets.iter().zip(&means.losses) {
        table.row(set, row.iter().map(in_words).collect::<Vec<_>>());
    }
    table
}

/// A mean with its standard error, which one seed does not have.
fn in_words((mean, error): &(f64, Option<f64>)) -> String {
    error.map_or_else(|| format!("{mean:.3}"), |error| format!("{mean:.3} ± {error:.3}"))
}

fn costs(records: &[Record], means: &Means) -> Table {
    let columns = [
        Column::new("seconds").better(Better::Lower).decimals(1),
        Column::new("networks per prediction").decimals(0),
    ];
    let mut table = Table::new("method", columns)
        .caption("Training, fit and draws, mean over tables and seeds; and the weights that a prediction averages over.");
    for method in &means.methods {
        let scored: Vec<&Scored> =
            records.iter().flat_map(|record| record.methods.iter().filter(|m| m.method == *method)).collect();
        let mean = |of: fn(&Scored) -> f64| scored.iter().map(|s| of(s)).sum::<f64>() / scored.len() as f64;
        table.row(method, [mean(|s| s.seconds), mean(|s| s.draws as f64)]);
    }
    table
}

fn csv(records: &[Record]) -> String {
    let mut text =
        String::from("set,seed,train_rows,test_rows,method,draws,seconds,score,value,riemla_version\n");
    for record in records {
        for scored in &record.methods {
            for (name, value) in &scored.scores {
                text += &format!(
                    "{},{},{},{},\"{}\",{},{:.3},{name},{value},{}\n",
                    record.key.set,
                    record.key.seed,
                    record.rows.0,
                    record.rows.1,
                    scored.method,
                    scored.draws,
                    scored.seconds,
                    record.riemla_version
                );
            }
        }
    }
    text
}
