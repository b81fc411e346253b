//! A table, or images, cut into rows for training and rows for the test, by seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use riemla::data::Dataset;
use riemla_files::Task;
use riemla_workflow::workflow::DataFiles;
use sha2::{Digest as _, Sha256};

use super::plan::{Images, Plan, Set, Source};
use crate::datasets::{DataDirs, load};
use crate::experiments::layout::{write_bytes, write_text};
use crate::experiments::{ExperimentError, Result};

/// Share of the rows to train on, of each class and in all.
const TRAIN: f64 = 0.7;

/// Files with the rows to train on and those of the test.
pub(super) struct Parts {
    pub train: DataFiles,
    pub test: DataFiles,
    /// How many rows they have.
    pub rows: (usize, usize),
}

/// Writes the parts of a set into `work`.
pub(super) fn split(plan: &Plan, (set, seed): (&Set, u64), data: &DataDirs, work: &Path) -> Result<Parts> {
    match &set.source {
        Source::Table { target, sha256 } => {
            let rows = split_table(plan, (set, seed), &read(&set.name, sha256, data)?, work)?;
            let file = |name| DataFiles { target: Some(target.clone()), ..DataFiles::new(work.join(name)) };
            Ok(Parts { train: file("train.csv"), test: file("test.csv"), rows })
        }
        Source::Images(images) => split_images(images, (plan.test_rows, seed), data, work),
    }
}

/// Random images of the training part to train on, random ones of the test part to test; no image is in both where there is
/// one part only.
fn split_images(
    images: &Images,
    (test_rows, seed): (usize, u64),
    data: &DataDirs,
    work: &Path,
) -> Result<Parts> {
    let loaded = load(&images.images, data)?;
    let part = |name: &str, all: &Dataset, rows: &[usize]| -> Result<DataFiles> {
        let chosen = all.select(rows)?;
        let pixels = work.join(format!("{name}-images-idx3-ubyte"));
        let labels = work.join(format!("{name}-labels-idx1-ubyte"));
        write_bytes(&pixels, &idx_images(&chosen))?;
        write_bytes(&labels, &idx_labels(&chosen))?;
        Ok(DataFiles { labels: Some(labels), ..DataFiles::new(pixels) })
    };
    let sizes = (loaded.train.as_ref().map(Dataset::len), loaded.data.len());
    let (for_training, for_test) = image_rows(sizes, (images.rows, test_rows), seed)?;
    let train = part("train", loaded.train.as_ref().unwrap_or(&loaded.data), &for_training)?;
    let test = part("test", &loaded.data, &for_test)?;
    Ok(Parts { train, test, rows: (for_training.len(), for_test.len()) })
}

/// Rows of the training part (if there is one) and of the test part.
fn image_rows(
    (train, test): (Option<usize>, usize),
    (train_rows, test_rows): (usize, usize),
    seed: u64,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let order =
        |rows: usize| -> Result<Vec<usize>> { Ok(riemla::data::split(rows, &[rows], seed)?.concat()) };
    let mut for_test = order(test)?;
    let mut for_training = match train {
        Some(rows) => order(rows)?,
        None => for_test.drain(..train_rows.min(test)).collect(),
    };
    for_training.truncate(train_rows);
    for_test.truncate(test_rows);
    Ok((for_training, for_test))
}

/// Square images of one channel in the format of MNIST.
fn idx_images(data: &Dataset) -> Vec<u8> {
    let side = (data.features() as f64).sqrt().round() as u32;
    let mut bytes = vec![0, 0, 8, 3];
    [data.len() as u32, side, side].iter().for_each(|size| bytes.extend(size.to_be_bytes()));
    bytes.extend(data.inputs().iter().map(|pixel| (pixel * 255.0).round() as u8));
    bytes
}

fn idx_labels(data: &Dataset) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, 1];
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data.labels().unwrap_or_default().iter().map(|label| *label as u8));
    bytes
}

/// Writes `train.csv` and `test.csv`. Returns their rows.
fn split_table(plan: &Plan, (set, seed): (&Set, u64), text: &str, work: &Path) -> Result<(usize, usize)> {
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

/// A table, checked to be the one of the plan.
fn read(set: &str, sha256: &str, data: &DataDirs) -> Result<String> {
    let name = format!("confirmation/{set}.csv");
    let places: Vec<_> = data.as_slice().iter().map(|directory| directory.join(&name)).collect();
    let Some(path) = places.iter().find(|path| path.is_file()) else {
        let message = format!(
            "{name} is in none of the data directories; make it with scripts/confirmation-data and give the directory \
             above it with --data-dir"
        );
        return Err(ExperimentError::Config { file: set.into(), message });
    };
    let text = std::fs::read_to_string(path).map_err(ExperimentError::io(path, "read it"))?;
    let found: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    if found != sha256 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_image_is_trained_on_and_tested() {
        let (train, test) = image_rows((None, 100), (40, 50), 3).expect("rows");
        assert_eq!((train.len(), test.len()), (40, 50));
        assert!(train.iter().all(|row| !test.contains(row)));
        let (train, test) = image_rows((Some(1000), 100), (40, 50), 3).expect("rows");
        assert_eq!((train.len(), test.len()), (40, 50));
        assert!(train.iter().any(|row| *row >= 100), "of the training part");
    }
}
