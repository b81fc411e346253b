//! The report: from saved files alone, so that it can be made again without drawing.

mod bands;
mod claims;
mod figures;
mod logistic;
mod maps;
pub(crate) mod numbers;
mod overview;
mod presets;
mod prior;
mod scale;
mod strength;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::layout::{slug, write_text};
use super::truth;
use super::{
    BUILTIN, Experiment, PaperRow, Records, Result, ResultRow, RunRecord, builtin, paper_rows, read_results,
    result_rows, results_csv,
};
use crate::datasets::DataDirs;
use figures::Saved;
use numbers::Numbers;
use riemla_workflow::report::{Report, Section, Table};

const TITLE: &str = "Riemannian Laplace approximations: the paper's experiments";

const NOTES: &str = "\
Means over seeds with standard errors. Accuracy and calibration errors are in percent; the Brier score is \
divided by the number of classes, as in the paper. Differences are in standard errors of the difference; \
they compare the preset paper, and the methods without geodesics, with the published number.

Differences from the original: gradients have double precision; initial weights come from another random \
number generator; the prior is optimised to the maximum of the marginal likelihood instead of by 100 steps \
of Adam. The rows of banana, Snelson and pinwheel are those of the authors.";

const RESULTS: &str = "results.csv";

const FIGURES_TITLE: &str = "Riemannian Laplace approximations: the paper's figures";

const STUDY_TITLE: &str = "The strength of the metric";

/// Whether a directory has results to report.
pub fn has_results(out: &Path) -> bool {
    Records::is_in(out) || out.join(RESULTS).is_file()
}

/// Writes `results.csv`, `results.md` and `report.html` of a directory, `figures.md` with its drawings if
/// there are any, `strength.md` and `prior.md` if there are studies of settings and of priors, `scale.csv` and `scale.md` of larger networks, and `truth.csv` and `truth.md` if draws were
/// held against the truth; returns where the page is. Without runs the numbers are those of the `results.csv`
/// that is there.
pub fn write_report(out: &Path, data: &DataDirs) -> Result<PathBuf> {
    let records = Records::open(out)?;
    let file = out.join(RESULTS);
    let rows = if records.as_slice().is_empty() && file.is_file() {
        read_results(&file)?
    } else {
        let rows = result_rows(records.as_slice());
        write_text(&file, &results_csv(&rows))?;
        rows
    };
    let experiments = saved_experiments(out, &rows)?;
    let saved = Saved { out, data, records: &records };
    let (studied, rows): (Vec<ResultRow>, Vec<ResultRow>) = rows.into_iter().partition(|row| row.study);
    let mut studies = studies(&experiments, &studied, records.as_slice());
    if !studies.is_empty() {
        write_text(&out.join("strength.md"), &studies.to_markdown())?;
    }
    let priors = priors(&experiments, &studied, records.as_slice());
    if !priors.is_empty() {
        write_text(&out.join("prior.md"), &priors.to_markdown())?;
        studies.extend(priors);
    }
    let scale = scale_report(out, &experiments, records.as_slice())?;
    studies.extend(scale);
    let truth = truth_report(out, &experiments, records.as_slice())?;
    let mut report = Report::new(TITLE);
    // A page about the truth alone needs no words about the paper's tables.
    if truth.is_empty() || !rows.is_empty() || !studies.is_empty() {
        report.extend(sections(&saved, &Numbers::new(&rows), &experiments));
        report.extend(studies);
        write_text(&out.join("results.md"), &report.to_markdown())?;
    } else {
        report = Report::new(truth.title());
    }
    report.extend(truth);
    if let Some(gallery) = report.gallery(FIGURES_TITLE) {
        gallery.drawings.iter().try_for_each(|(path, svg)| write_text(&out.join(path), svg))?;
        write_text(&out.join("figures.md"), &gallery.markdown)?;
    }
    let path = out.join("report.html");
    write_text(&path, &report.to_html())?;
    Ok(path)
}

/// The sections about the truth; their numbers and words are written to files of their own.
fn truth_report(out: &Path, experiments: &[Experiment], records: &[RunRecord]) -> Result<Report> {
    let mut report = Report::new("");
    for experiment in experiments.iter().filter(|experiment| experiment.truth.is_some()) {
        let mut own = Report::new(&experiment.title);
        own.extend(truth::sections(out, experiment, records)?);
        if !own.is_empty() {
            let name = slug(&experiment.name);
            let name = if name == "truth" { name } else { format!("truth-{name}") };
            write_text(&out.join(format!("{name}.csv")), &truth::truth_csv(experiment, records))?;
            write_text(&out.join(format!("{name}.md")), &own.to_markdown())?;
            own.extend(report);
            report = own;
        }
    }
    Ok(report)
}

/// The studies of larger networks; their numbers and words are written to files of their own too.
fn scale_report(out: &Path, experiments: &[Experiment], records: &[RunRecord]) -> Result<Report> {
    let mut report = Report::new("Larger networks");
    for experiment in experiments.iter().filter(|experiment| scale::is_study(experiment)) {
        let name = slug(&experiment.name);
        let mut own = Report::new(&experiment.title);
        own.add(scale::section(experiment, records));
        write_text(&out.join(format!("{name}.csv")), &scale::csv(experiment, records))?;
        write_text(&out.join(format!("{name}.md")), &own.to_markdown())?;
        report.extend(own);
    }
    Ok(report)
}

/// The studies of settings, which are no tables of the paper.
fn studies(experiments: &[Experiment], rows: &[ResultRow], records: &[RunRecord]) -> Report {
    let own = experiments.iter().filter(|experiment| {
        !experiment.settings.is_empty() && !prior::is_study(experiment) && !scale::is_study(experiment)
    });
    let mut studies = Report::new(STUDY_TITLE);
    studies.extend(own.map(|experiment| strength::section(experiment, rows, records)));
    studies
}

/// The studies of priors.
fn priors(experiments: &[Experiment], rows: &[ResultRow], records: &[RunRecord]) -> Report {
    let mut report = Report::new("The prior at its optimum");
    let own = experiments.iter().filter(|experiment| prior::is_study(experiment));
    report.extend(own.map(|experiment| prior::section(experiment, rows, records)));
    report
}

fn sections(saved: &Saved<'_>, numbers: &Numbers<'_>, experiments: &[Experiment]) -> Vec<Section> {
    let mut all = vec![overview::section(numbers, experiments), about(saved.records.as_slice(), numbers)];
    all.push(claims::section(numbers));
    all.extend(tables::sections(numbers, experiments));
    all.extend(experiments.iter().filter_map(|experiment| figures::section(saved, experiment)));
    all.push(presets::section(numbers));
    all.push(presets::disagreements(numbers));
    all.push(presets::timing(numbers));
    all
}

/// The section of a study, with nothing in it yet.
fn study(experiment: &Experiment, intro: &str) -> Section {
    Section::new(&experiment.title, format!("{}\n\n{intro}", experiment.about.trim()))
}

/// The posteriors of an experiment.
fn records_of<'a>(experiment: &Experiment, records: &'a [RunRecord]) -> impl Iterator<Item = &'a RunRecord> {
    records.iter().filter(|record| record.key.experiment == experiment.name)
}

/// A column: its heading, and what it says of a row.
pub(crate) type Column<R> = (&'static str, fn(&R) -> String);

/// A table of rows with their names.
pub(crate) fn table<R>(
    corner: &str,
    columns: &[Column<R>],
    rows: impl IntoIterator<Item = (String, R)>,
) -> Table {
    let cells = |row: R| columns.iter().map(|(_, cell)| cell(&row)).collect();
    let named = rows.into_iter().map(|(name, row)| (name, cells(row)));
    Table::new(corner, columns.iter().map(|(heading, _)| *heading)).rows::<_, String>(named)
}

/// Each once, in order.
pub(crate) fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut unique: Vec<T> = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

/// What was run, and what is missing of it.
fn about(records: &[RunRecord], numbers: &Numbers<'_>) -> Section {
    let mut section = Section::new("About this report", NOTES);
    let quick = if records.iter().any(|record| record.quick) {
        " These are the small versions of the experiments: they check that everything runs and do not \
         reproduce the paper's results."
    } else {
        ""
    };
    let presets = match numbers.presets() {
        none if none.is_empty() => String::new(),
        presets => {
            format!(
                "; presets: {}",
                presets.iter().map(|preset| preset.name()).collect::<Vec<_>>().join(", ")
            )
        }
    };
    let count = match records.len() {
        0 => format!("{} numbers", numbers.rows.len()),
        posteriors => format!("{posteriors} posteriors"),
    };
    let version = env!("CARGO_PKG_VERSION");
    section.text(format!("{count}, riemla {version}{presets}.{quick}"));
    if quick.is_empty() {
        section.text(not_run(numbers.rows));
    }
    section.text(unfinished(records));
    section
}

/// What has fewer draws than were asked for.
pub fn unfinished<'a>(records: impl IntoIterator<Item = &'a RunRecord>) -> String {
    let few = records.into_iter().filter(|record| record.samples < record.requested);
    let few = few.map(|r| match r.not_run {
        Some(estimate) => format!("{} (not run: {estimate})", r.key),
        None => format!("{} ({} of {} draws)", r.key, r.samples, r.requested),
    });
    let list = few.collect::<Vec<_>>().join("; ");
    if list.is_empty() { list } else { format!("Some draws are missing: {list}.") }
}

/// The posteriors of the paper's tables on our sets that were not run in any preset.
fn not_run(rows: &[ResultRow]) -> String {
    let ours = |row: &ResultRow| (row.train_set.clone(), row.test_set.clone());
    let sets: BTreeSet<(String, String)> = rows.iter().map(ours).collect();
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for published in paper_rows() {
        let PaperRow { at, method, .. } = published;
        let pair = (at.train_set.to_string(), at.test_set.to_string());
        let same = |row: &ResultRow| ours(row) == pair && (row.prior, row.method) == (at.prior, method);
        if sets.contains(&pair) && !rows.iter().any(same) {
            let methods = missing.entry(at.name()).or_default();
            if !methods.contains(&method.name()) {
                methods.push(method.name());
            }
        }
    }
    let list: Vec<String> = missing.iter().map(|(name, all)| format!("{name}: {}", all.join(", "))).collect();
    if list.is_empty() { String::new() } else { format!("Published but not run here: {}.", list.join("; ")) }
}

/// The experiments as they were run, in the order of the paper, others after them. Without their files,
/// those of the rows that are built in.
fn saved_experiments(out: &Path, rows: &[ResultRow]) -> Result<Vec<Experiment>> {
    let Ok(entries) = fs::read_dir(out.join("experiments")) else {
        let there = |name: &str| rows.iter().any(|row| row.experiment == name);
        return BUILTIN.iter().filter(|(name, _)| there(name)).map(|(name, _)| builtin(name)).collect();
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    let mut experiments = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(super::ExperimentError::io(&file, "read it"))?;
        experiments.push(Experiment::parse(&file.display().to_string(), &text)?);
    }
    let place =
        |e: &Experiment| BUILTIN.iter().position(|(name, _)| *name == e.name).unwrap_or(BUILTIN.len());
    experiments.sort_by_key(|e| (place(e), e.name.clone()));
    Ok(experiments)
}
