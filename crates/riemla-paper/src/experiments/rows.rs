//! The rows of a problem: which are trained on, which are for the test, which for neither.

use std::sync::Arc;

use riemla::data::{Dataset, Targets, split};

use super::config::{Problem, Split};
use super::{ExperimentError, Result};
use crate::datasets::{Loaded, train_test_split};

/// The data of one problem under one seed.
#[derive(Debug, Clone)]
pub struct Rows {
    /// For training.
    pub train: Arc<Dataset>,
    /// For the test.
    pub test: Dataset,
    /// For choices that must see neither, where the split leaves rows over.
    pub validation: Option<Dataset>,
}

/// Splits and scales loaded data.
pub fn rows(problem: &Problem, loaded: &Loaded, seed: u64) -> Result<Rows> {
    let (train, test, validation) = parts(problem, loaded, seed)?;
    let train = limited(&train, problem.training.rows)?;
    let scaling = problem.standardize.then(|| scaling(&train));
    let finished = |data: &Dataset| match &scaling {
        Some(scaling) => scaled(data, scaling),
        None => Ok(data.clone()),
    };
    let test = finished(&limited(&test, problem.training.test_rows)?)?;
    let limit = |data: Dataset| finished(&limited(&data, problem.training.test_rows)?);
    let validation = validation.map(limit).transpose()?;
    Ok(Rows { train: Arc::new(finished(&train)?), test, validation })
}

/// Rows for training, test and validation.
type Parts = (Dataset, Dataset, Option<Dataset>);

fn parts(problem: &Problem, loaded: &Loaded, run_seed: u64) -> Result<Parts> {
    let data = &loaded.data;
    let n = data.len();
    check(problem, n)?;
    let mut left = Vec::new();
    let (train, test) = match problem.split {
        Split::Fractions { train, seed } => {
            let seed = seed.unwrap_or(run_seed as u32);
            let (train, rest) = train_test_split(n, (train * n as f64).floor() as usize, seed);
            // The second split numbers the rows that are left.
            let (test, valid) = train_test_split(rest.len(), rest.len() / 2, seed);
            let of_all = |rows: Vec<usize>| rows.into_iter().map(|i| rest[i]).collect();
            left = of_all(valid);
            (train, of_all(test))
        }
        Split::Count { train, seed } => train_test_split(n, train, seed),
        Split::InOrder { train, test } => {
            let test = n.saturating_sub(test)..n;
            left = (train..test.start).collect();
            ((0..train).collect(), test.collect())
        }
        Split::Gap { from, to } => {
            let first = |row: &usize| data.inputs()[row * data.features()];
            (0..n).partition(|row| !(from..=to).contains(&first(row)))
        }
        Split::Images { per_class, test, seed } => {
            let Some(source) = &loaded.train else {
                let message = format!("data set {} has no training images", problem.data);
                return Err(ExperimentError::Config { file: problem.name.clone(), message });
            };
            let train = match per_class {
                Some(count) => source.select(&per_class_rows(source, count, seed)?)?,
                None => source.clone(),
            };
            let mut rows = split(n, &[n], seed)?.concat();
            let left = rows.split_off(test.min(n));
            return Ok((train, data.select(&rows)?, some_of(data, &left)?));
        }
        Split::Everything {} => ((0..n).collect(), (0..n).collect()),
    };
    Ok((data.select(&train)?, data.select(&test)?, some_of(data, &left)?))
}

/// Refuses a split that leaves no row for training or the test, or uses a row for both.
fn check(problem: &Problem, n: usize) -> Result<()> {
    let wrong = match problem.split {
        Split::Fractions { train, .. } => {
            let rows = (train * n as f64).floor();
            // The test gets half of what is left, rounded down.
            (!(rows >= 1.0 && rows + 2.0 <= n as f64)).then(|| format!("train = {train}"))
        }
        Split::Count { train, .. } => (train == 0 || train >= n).then(|| format!("train = {train}")),
        Split::InOrder { train, test } => (train == 0 || test == 0 || train.saturating_add(test) > n)
            .then(|| format!("train = {train}, test = {test}")),
        Split::Gap { .. } | Split::Images { .. } | Split::Everything {} => None,
    };
    let Some(wrong) = wrong else { return Ok(()) };
    let message = format!(
        "the split ({wrong}) does not fit data set {} with its {n} rows: training and test rows must be \
         disjoint",
        problem.data
    );
    Err(ExperimentError::Config { file: format!("problem {}", problem.name), message })
}

fn some_of(data: &Dataset, rows: &[usize]) -> Result<Option<Dataset>> {
    Ok(if rows.is_empty() { None } else { Some(data.select(rows)?) })
}

/// The first rows of each class in a random order, in that order.
fn per_class_rows(data: &Dataset, per_class: usize, seed: u64) -> Result<Vec<usize>> {
    let labels = data.labels().unwrap_or_default();
    let mut left = vec![per_class; labels.iter().max().map_or(0, |label| label + 1)];
    let mut order = split(data.len(), &[data.len()], seed)?.concat();
    order.retain(|&row| {
        let wanted = left[labels[row]] > 0;
        left[labels[row]] -= usize::from(wanted);
        wanted
    });
    Ok(order)
}

fn limited(data: &Dataset, rows: Option<usize>) -> Result<Dataset> {
    let keep = rows.unwrap_or(usize::MAX).min(data.len());
    Ok(data.select(&(0..keep).collect::<Vec<_>>())?)
}

/// Mean and deviation (over N, 1 for a constant) of every feature.
fn scaling(data: &Dataset) -> Vec<(f64, f64)> {
    let (n, d) = (data.len() as f64, data.features());
    let column = |j: usize| data.inputs().iter().skip(j).step_by(d);
    let moments = |j: usize| {
        let mean = column(j).sum::<f64>() / n;
        let deviation = (column(j).map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        (mean, if deviation > 0.0 { deviation } else { 1.0 })
    };
    (0..d).map(moments).collect()
}

fn scaled(data: &Dataset, scaling: &[(f64, f64)]) -> Result<Dataset> {
    let rows = data.inputs().chunks(scaling.len());
    let scale = |row: &[f64]| {
        row.iter().zip(scaling).map(|(x, (mean, deviation))| (x - mean) / deviation).collect::<Vec<_>>()
    };
    Ok(Dataset::new(rows.flat_map(scale).collect(), data.features(), data.targets().clone())?)
}

/// The targets of a regression.
pub fn values(data: &Dataset) -> &[f64] {
    match data.targets() {
        Targets::Values { values, .. } => values,
        Targets::Classes(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::builtin;

    fn problem(experiment: &str, name: &str) -> Problem {
        let problems = builtin(experiment).expect("built in").problems;
        problems.into_iter().find(|problem| problem.name == name).expect("there")
    }

    /// Rows with their numbers as inputs, all of one class.
    fn numbered(n: usize) -> Loaded {
        let inputs = (0..n).map(|i| i as f64).collect();
        Loaded { data: Dataset::classification(inputs, 1, vec![0; n]).expect("data"), train: None }
    }

    #[test]
    fn fractions_are_rounded_down_as_in_the_protocol() {
        for (n, expected) in [(846, (592, 127)), (214, (149, 32)), (351, (245, 53)), (690, (482, 104))] {
            let Rows { train, test, .. } = rows(&problem("uci", "glass"), &numbered(n), 3).expect("splits");
            assert_eq!((train.len(), test.len()), expected);
            let (mean, square) = train.inputs().iter().fold((0.0, 0.0), |(m, s), x| (m + x, s + x * x));
            assert!((mean / train.len() as f64).abs() < 1e-12);
            assert!((square / train.len() as f64 - 1.0).abs() < 1e-12);
        }
    }

    /// Rows printed by scikit-learn 1.9.1 for two splits with one seed, as the authors make them.
    #[test]
    fn the_test_rows_come_from_the_second_split() {
        let Rows { train, test, .. } =
            rows(&problem("banana", "banana"), &numbered(5300), 9).expect("splits");
        assert_eq!((train.len(), test.len()), (265, 795));
        assert_eq!(train.inputs().iter().sum::<f64>(), 751_281.0);
        assert_eq!(test.inputs()[..4], [246.0, 284.0, 3111.0, 1487.0]);
        assert_eq!(test.inputs().iter().sum::<f64>(), 2_067_293.0);
    }

    #[test]
    fn validation_rows_are_neither_trained_nor_tested_on() {
        for (experiment, name, n, left) in
            [("banana", "banana", 5300, 796), ("pinwheel", "pinwheel", 1000, 50)]
        {
            let Rows { train, test, validation } =
                rows(&problem(experiment, name), &numbered(n), 1).expect("splits");
            let validation = validation.expect("rows are left");
            assert_eq!(validation.len(), left);
            let seen = |x: &f64| train.inputs().contains(x) || test.inputs().contains(x);
            assert!(!validation.inputs().iter().any(seen), "{name}");
        }
        let problem = problem("logistic", "logistic");
        let data = Dataset::classification(vec![0.0, 1.0], 1, vec![0, 1]).expect("data");
        let all = rows(&problem, &Loaded { data, train: None }, 0).expect("splits");
        assert!(all.validation.is_none() && !problem.split.has_validation());
    }

    #[test]
    fn images_are_balanced_and_a_prefix_nearly_so() {
        let labels: Vec<usize> = (0..1000).map(|i| i * i % 10).collect();
        let data = Dataset::classification(vec![0.0; 1000], 1, labels).expect("data");
        let chosen = per_class_rows(&data, 20, 1).expect("rows");
        let present = [0, 1, 4, 5, 6, 9];
        let count = |class: usize| {
            chosen.iter().filter(|row| data.labels().expect("classes")[**row] == class).count()
        };
        assert!(present.iter().all(|class| count(*class) == 20));
        assert_eq!(chosen.len(), 20 * present.len());
    }

    #[test]
    fn a_gap_is_the_test_set() {
        let inputs: Vec<f64> = (0..10).map(f64::from).collect();
        let data = Dataset::regression(inputs.clone(), 1, inputs, 1).expect("data");
        let mut problem = problem("regression-gap", "snelson-gap 1-15-1");
        problem.split = Split::Gap { from: 3.0, to: 5.0 };
        let Rows { train, test, .. } = rows(&problem, &Loaded { data, train: None }, 0).expect("splits");
        assert_eq!(test.inputs(), [3.0, 4.0, 5.0]);
        assert_eq!(train.len(), 7);
    }

    #[test]
    fn splits_that_do_not_fit_are_refused() {
        let loaded = numbered(40);
        let of = |split: Split| rows(&Problem { split, ..problem("pinwheel", "pinwheel") }, &loaded, 0);
        let fraction = |train| Split::Fractions { train, seed: None };
        for split in [
            Split::InOrder { train: 35, test: 20 },
            Split::InOrder { train: 40, test: 0 },
            Split::Count { train: 40, seed: 0 },
            fraction(1.0),
            fraction(0.0),
            fraction(-1.0),
            fraction(f64::NAN),
        ] {
            let error = of(split.clone()).expect_err("does not fit").to_string();
            assert!(error.contains("pinwheel") && error.contains("40 rows"), "{split:?}: {error}");
        }
        assert!(of(Split::InOrder { train: 20, test: 20 }).is_ok());
        assert!(of(Split::Count { train: 39, seed: 0 }).is_ok() && of(fraction(0.7)).is_ok());
    }
}
