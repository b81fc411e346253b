//! A table cut into rows for training and rows for the test, by seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use riemla_files::Task;
use sha2::{Digest as _, Sha256};

use super::plan::{Plan, Set};
use crate::datasets::DataDirs;
use crate::experiments::layout::write_text;
use crate::experiments::{ExperimentError, Result};

/// Share of the rows to train on, of each class and in all.
const TRAIN: f64 = 0.7;

/// Reads a table, checks that it is the one of the plan, and writes `train.csv` and `test.csv`. Returns their rows.
pub(super) fn split(
    plan: &Plan,
    (set, seed): (&Set, u64),
    data: &DataDirs,
    work: &Path,
) -> Result<(usize, usize)> {
    let text = read(set, data)?;
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let rows: Vec<&str> = lines.collect();
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for group in groups(set.task, &rows) {
        // At least one of each class is trained on.
        let cut = ((TRAIN * group.len() as f64).round() as usize).clamp(1, group.len());
        let parts = riemla::data::split(group.len(), &[cut, group.len() - cut], seed)?;
        train.extend(parts[0].iter().map(|&i| group[i]));
        test.extend(parts[1].iter().map(|&i| group[i]));
    }
    let train = limited(train, plan.train_rows, seed, |i| class(set.task, rows[i]))?;
    let test = limited(test, plan.test_rows, seed, |_| String::new())?;
    for (name, chosen) in [("train.csv", &train), ("test.csv", &test)] {
        let body: String = chosen.iter().map(|&i| format!("{}\n", rows[i])).collect();
        write_text(&work.join(name), &format!("{head}\n{body}"))?;
    }
    Ok((train.len(), test.len()))
}

fn read(set: &Set, data: &DataDirs) -> Result<String> {
    let name = format!("confirmation/{}.csv", set.name);
    let places: Vec<_> = data.as_slice().iter().map(|directory| directory.join(&name)).collect();
    let Some(path) = places.iter().find(|path| path.is_file()) else {
        let message = format!(
            "{name} is in none of the data directories; make it with scripts/confirmation-data and give the directory \
             above it with --data-dir"
        );
        return Err(ExperimentError::Config { file: set.name.clone(), message });
    };
    let text = std::fs::read_to_string(path).map_err(ExperimentError::io(path, "read it"))?;
    let found: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    if found != set.sha256 {
        let message =
            format!("it is another table (SHA-256 {found}); make it with scripts/confirmation-data");
        return Err(ExperimentError::Config { file: path.display().to_string(), message });
    }
    Ok(text)
}

/// The class of a row: its last column. Numbers are one group.
fn class(task: Task, row: &str) -> String {
    match task {
        Task::Classification => row.rsplit(',').next().unwrap_or_default().into(),
        _ => String::new(),
    }
}

/// Rows of each class, in the order of the table.
fn groups(task: Task, rows: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    rows.iter().enumerate().for_each(|(i, row)| groups.entry(class(task, row)).or_default().push(i));
    groups.into_values().collect()
}

/// At most so many rows, in random order, the first of each class in any case.
fn limited(rows: Vec<usize>, most: usize, seed: u64, class: impl Fn(usize) -> String) -> Result<Vec<usize>> {
    let order = riemla::data::split(rows.len(), &[rows.len()], seed)?.concat();
    let mut seen = BTreeSet::new();
    let mixed = order.into_iter().map(|i| rows[i]);
    let (first, others): (Vec<usize>, Vec<usize>) = mixed.partition(|&i| seen.insert(class(i)));
    Ok(first.into_iter().chain(others).take(most).collect())
}
