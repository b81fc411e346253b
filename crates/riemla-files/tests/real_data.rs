//! The real data sets: shapes and labels as data/MANIFEST.md has them.

use std::path::Path;

use riemla_files::encoding::{Encoding, EncodingOptions, Tally, Task};
use riemla_files::idx::{LabelRange, read_idx, read_images};
use riemla_files::{ReadOptions, read_table};
use riemla_repository::data_directory;

/// File name, and the "rows x features" column of the manifest.
fn manifest(directory: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(directory.join("MANIFEST.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let long = cells.filter(|cells| cells.len() > 6);
    long.map(|cells| (cells[1].trim_matches('`').to_string(), cells[3].to_string())).collect()
}

fn numbers(text: &str) -> Vec<usize> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[test]
fn every_csv_has_the_shape_of_the_manifest_and_encodes() {
    let Some(directory) = data_directory("shapes of CSV files") else { return };
    let files: Vec<_> = manifest(&directory).into_iter().filter(|(file, _)| file.ends_with(".csv")).collect();
    assert!(files.len() >= 10, "{files:?}");
    for (file, shape) in files {
        let table = read_table(&directory.join(&file), ReadOptions::default()).unwrap();
        let shape = numbers(&shape);
        assert_eq!(table.rows, shape[0], "{file}");
        if file.ends_with("test_inputs.csv") {
            assert_eq!(table.columns.len(), shape[1], "{file}");
            continue;
        }
        assert_eq!(table.columns.len(), shape[1] + 1, "{file}");
        let task = if file.contains("snelson") { Task::Regression } else { Task::Classification };
        let (encoding, notes) = Encoding::fit(&table, &EncodingOptions::new(task)).unwrap();
        let mut tally = Tally::default();
        let data = encoding.dataset(&table, &mut tally).unwrap();
        assert!(notes.is_empty() && tally == Tally::default(), "{file}: {notes:?} {tally:?}");
        assert_eq!((data.len(), data.features()), (shape[0], shape[1]), "{file}");
        for j in 0..shape[1] {
            let mean = data.inputs()[j..].iter().step_by(shape[1]).sum::<f64>() / shape[0] as f64;
            assert!(mean.abs() < 1e-9, "{file}: column {j} has mean {mean}");
        }
    }
}

#[test]
fn every_idx_has_the_shape_of_the_manifest() {
    let Some(directory) = data_directory("shapes of IDX files") else { return };
    let files: Vec<_> = manifest(&directory).into_iter().filter(|(file, _)| file.ends_with(".gz")).collect();
    assert!(files.len() >= 10, "{files:?}");
    for (file, shape) in files {
        let read = read_idx(&directory.join(&file), ReadOptions::default()).unwrap();
        assert_eq!(read.dims, numbers(&shape), "{file}");
    }
    let pair =
        |name: &str| ["images-idx3", "labels-idx1"].map(|kind| directory.join(name.replace('*', kind)));
    let sets = [
        ("mnist/t10k-*-ubyte.gz", LabelRange::default(), 10_000),
        ("emnist/emnist-letters-test-first14800-*-ubyte.gz", LabelRange { first: 1, classes: 26 }, 14_800),
    ];
    for (name, range, count) in sets {
        let [images, labels] = pair(name);
        let data = read_images(&images, &labels, range, ReadOptions::default()).unwrap();
        assert_eq!((data.len(), data.features()), (count, 784));
        assert!(data.inputs().iter().all(|pixel| (0.0..=1.0).contains(pixel)));
    }
}
