//! `results.csv`: means over seeds, with the columns of the paper's numbers and more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::paper::{PaperRow, paper_rows};
use super::record::{DrawSummary, RunRecord};
use super::{ExperimentError, MethodName, PriorName, Result, Setting};

/// A column about draws: its name and number.
type Measure = (&'static str, fn(&mut DrawSummary) -> &mut Option<f64>);

/// What the draws are like: columns of `results.csv`.
const MEASURES: [Measure; 6] = [
    ("seconds_per_sample", |draws| &mut draws.seconds_per_sample),
    ("gradients_per_sample", |draws| &mut draws.gradients_per_sample),
    ("unfinished_fraction", |draws| &mut draws.unfinished_fraction),
    ("speed_drift", |draws| &mut draws.speed_drift),
    ("virial_ratio", |draws| &mut draws.virial_ratio),
    ("strength", |draws| &mut draws.strength),
];

fn header() -> String {
    format!(
        "table,train_set,test_set,prior,method,score,mean,standard_error,preset,seeds,samples,{},experiment",
        MEASURES.map(|(name, _)| name).join(",")
    )
}

/// One line of `results.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultRow {
    /// The experiment it comes from.
    pub experiment: String,
    /// Whether that experiment compares settings of its own, and is no table of the paper.
    pub study: bool,
    /// Name of the paper's table, or of the experiment.
    pub table: String,
    /// Trained on.
    pub train_set: String,
    /// Tested on.
    pub test_set: String,
    /// The prior.
    pub prior: PriorName,
    /// The method.
    pub method: MethodName,
    /// Name of the score.
    pub score: String,
    /// Mean over seeds.
    pub mean: f64,
    /// Standard error of it; none for one seed.
    pub standard_error: Option<f64>,
    /// How geodesics are run: the column `preset`.
    pub setting: Setting,
    /// Number of seeds.
    pub seeds: usize,
    /// Fewest draws of any seed.
    pub samples: u64,
    /// Means over seeds of what the draws are like.
    pub draws: DrawSummary,
}

/// What makes records rows of the same line.
type Group<'a> = (&'a str, &'a str, &'a str, PriorName, Setting, MethodName, &'a str);

/// Means over the seeds of all records, in the order of experiments.
pub fn result_rows(records: &[RunRecord]) -> Vec<ResultRow> {
    let mut groups: BTreeMap<Group<'_>, Vec<(&RunRecord, f64)>> = BTreeMap::new();
    let mut scores = Vec::new();
    for record in records {
        for score in &record.scores {
            if !scores.contains(&score.score.as_str()) {
                scores.push(&score.score);
            }
            let key = &record.key;
            let group: Group<'_> = (
                &key.experiment,
                &key.problem,
                &score.test_set,
                key.prior,
                key.setting,
                key.method,
                &score.score,
            );
            groups.entry(group).or_default().push((record, score.value));
        }
    }
    let other = records.iter().filter(|record| of_study(record.key.setting, record.key.prior));
    let studies: BTreeSet<&str> = other.map(|record| record.key.experiment.as_str()).collect();
    let row = |(group, members): (Group<'_>, Vec<_>)| row(group, studies.contains(group.0), &members);
    let mut rows: Vec<_> = groups.into_iter().map(row).collect();
    // Within a test set in the order of tables: methods first, then scores as they were computed.
    let place = |name: &str| scores.iter().position(|score| *score == name);
    rows.sort_by(|a, b| {
        let key = |r: &ResultRow| (r.experiment.clone(), r.train_set.clone(), r.test_set.clone());
        let minor = |r: &ResultRow| (r.prior, r.setting, r.method, place(&r.score));
        key(a).cmp(&key(b)).then(minor(a).cmp(&minor(b)))
    });
    rows
}

/// Whether only studies have such posteriors.
fn of_study(setting: Setting, prior: PriorName) -> bool {
    !setting.is_preset() || PriorName::OF_STUDIES.contains(&prior)
}

fn row(group: Group<'_>, study: bool, members: &[(&RunRecord, f64)]) -> ResultRow {
    let (experiment, train_set, test_set, prior, setting, method, score) = group;
    let mut draws = DrawSummary::default();
    for (_, measure) in MEASURES {
        *measure(&mut draws) =
            mean(members.iter().filter_map(|(record, _)| *measure(&mut record.draws.clone())));
    }
    let values: Vec<f64> = members.iter().map(|(_, value)| *value).collect();
    let (mean, standard_error) = mean_and_error(&values);
    ResultRow {
        experiment: experiment.into(),
        study,
        table: if study { experiment.into() } else { table(experiment, train_set, test_set, prior) },
        train_set: train_set.into(),
        test_set: test_set.into(),
        prior,
        method,
        score: score.into(),
        mean,
        standard_error,
        setting,
        seeds: members.len(),
        samples: members.iter().map(|(record, _)| record.samples).min().unwrap_or(0),
        draws,
    }
}

/// The paper's table with these sets and prior, or the experiment's name.
fn table(experiment: &str, train_set: &str, test_set: &str, prior: PriorName) -> String {
    let same =
        |row: &PaperRow| (row.at.train_set, row.at.test_set, row.at.prior) == (train_set, test_set, prior);
    paper_rows().into_iter().find(same).map_or(experiment, |row| row.table).into()
}

/// Mean and, for two or more numbers, its standard error.
pub(crate) fn mean_and_error(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt()))
}

/// Mean of numbers, if there are any.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| mean_and_error(&values).0)
}

/// The rows as CSV. Numbers have six significant digits: enough to compare, few enough to read.
pub fn results_csv(rows: &[ResultRow]) -> String {
    let mut csv = header() + "\n";
    for row in rows {
        let ResultRow { table, train_set, test_set, score, seeds, samples, .. } = row;
        let _ =
            write!(csv, "{table},{train_set},{test_set},{},{},{score}", row.prior.name(), row.method.name());
        let _ = write!(csv, ",{},{}", digits(Some(row.mean)), digits(row.standard_error));
        let _ = write!(csv, ",{},{seeds},{samples}", row.setting.name());
        for (_, measure) in MEASURES {
            let _ = write!(csv, ",{}", digits(*measure(&mut row.draws.clone())));
        }
        let _ = writeln!(csv, ",{}", row.experiment);
    }
    csv
}

/// Reads what [`results_csv`] wrote.
pub fn read_results(file: &Path) -> Result<Vec<ResultRow>> {
    let text = fs::read_to_string(file).map_err(ExperimentError::io(file, "read it"))?;
    // Not "damaged, remove it": it may be all there is.
    let wrong = |message: String| ExperimentError::Config { file: file.display().to_string(), message };
    let (mut lines, header) = (text.lines(), header());
    if lines.next() != Some(header.as_str()) {
        return Err(wrong(format!("its first line is not `{header}`")));
    }
    let parsed = lines.enumerate().map(|(i, line)| {
        parse(line).ok_or_else(|| wrong(format!("line {} cannot be parsed: {line}", i + 2)))
    });
    let mut rows = parsed.collect::<Result<Vec<ResultRow>>>()?;
    let other = rows.iter().filter(|row| of_study(row.setting, row.prior));
    let studies: BTreeSet<String> = other.map(|row| row.experiment.clone()).collect();
    rows.iter_mut().for_each(|row| row.study = studies.contains(&row.experiment));
    Ok(rows)
}

/// One line of [`results_csv`], as if of no study.
fn parse(line: &str) -> Option<ResultRow> {
    let fields: Vec<&str> = line.split(',').collect();
    let [table, train_set, test_set, prior, method, score, mean, error, setting, seeds, samples, rest @ ..] =
        fields.as_slice()
    else {
        return None;
    };
    let (experiment, measured) =
        rest.split_last().filter(|(_, measured)| measured.len() == MEASURES.len())?;
    let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse::<f64>().ok().map(Some) };
    let mut draws = DrawSummary::default();
    for ((_, measure), text) in MEASURES.iter().zip(measured) {
        *measure(&mut draws) = number(text)?;
    }
    Some(ResultRow {
        experiment: (*experiment).into(),
        study: false,
        table: (*table).into(),
        train_set: (*train_set).into(),
        test_set: (*test_set).into(),
        prior: PriorName::named(prior)?,
        method: method.parse().ok()?,
        score: (*score).into(),
        mean: mean.parse().ok()?,
        standard_error: number(error)?,
        setting: setting.parse().ok()?,
        seeds: seeds.parse().ok()?,
        samples: samples.parse().ok()?,
        draws,
    })
}

/// A number with six significant digits; nothing for none.
pub(super) fn digits(number: Option<f64>) -> String {
    let Some(number) = number else { return String::new() };
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    if rounded != 0.0 && !(1e-4..1e9).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::numbers::example;
    use super::*;

    #[test]
    fn numbers_are_short_and_errors_are_those_of_the_mean() {
        assert_eq!(digits(Some(0.123_456_789)), "0.123457");
        assert_eq!(digits(Some(-1234.0)), "-1234");
        assert_eq!(digits(Some(2.220_446e-16)), "2.22045e-16");
        assert_eq!(digits(Some(0.0)), "0");
        assert_eq!(digits(None), "");
        // Deviation 1 (over n − 1), error 1/√3.
        let (mean, error) = mean_and_error(&[1.0, 2.0, 3.0]);
        assert!(mean == 2.0 && error.is_some_and(|error| (error - 1.0 / 3f64.sqrt()).abs() < 1e-15));
        assert_eq!(mean_and_error(&[4.0]), (4.0, None));
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("results.csv");
        let mut rows = vec![example("banana"), example("banana"), example("study"), example("truth")];
        rows[1].standard_error = None;
        rows[1].draws.speed_drift = Some(2.5e-16);
        rows[2].setting = "preconditioned a=0.1".parse().expect("a setting");
        rows[2].study = true;
        (rows[3].prior, rows[3].method, rows[3].setting) = (PriorName::Given, MethodName::Nuts, Setting::ANY);
        rows[3].study = true;
        fs::write(&file, results_csv(&rows)).expect("writes");
        assert_eq!(read_results(&file).expect("reads"), rows);
        for broken in ["table\n".to_string(), results_csv(&rows).replace("riem-la", "rim-la")] {
            fs::write(&file, broken).expect("writes");
            assert!(matches!(read_results(&file), Err(ExperimentError::Config { .. })));
        }
    }
}
