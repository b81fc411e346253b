//! From files to data sets, with all checks.

use std::path::Path;

use riemla::data::Dataset;
use riemla_files::{LabelRange, ReadOptions, Source, Table, read_images, read_table};
use sha2::{Digest as _, Sha256};

use super::registry::{Content, DataFile, DataSet};
use super::{DataDirs, DataError, Result, registry};

/// Side of an image in pixels.
const SIDE: usize = 28;

/// A loaded data set.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// All rows of a table, or the test part of images.
    pub data: Dataset,
    /// The training part of images, where there is one.
    pub train: Option<Dataset>,
}

/// Loads a data set by name, with its checksums, shape and label set checked.
pub fn load(name: &str, directories: &DataDirs) -> Result<Loaded> {
    let set = registry::find(name)?;
    if let Content::Generated(generated) = set.content {
        return Ok(Loaded { data: generated.dataset()?, train: None });
    }
    let mut paths = Vec::new();
    for file in set.files {
        let path = directories.require(set, file)?;
        check_file(&path, file)?;
        paths.push(path);
    }
    let options = ReadOptions::default();
    match set.content {
        Content::Images { test, train, first_label, classes } => {
            let range = LabelRange { first: first_label, classes };
            let part = |images: &Path, labels: &Path, count: usize| -> Result<Dataset> {
                let data = read_images(images, labels, range, options)?;
                let shape = format!("{count} × {}", SIDE * SIDE);
                same(images, "shape", &shape, &format!("{} × {}", data.len(), data.features()))?;
                Ok(data)
            };
            let data = part(&paths[0], &paths[1], test)?;
            let train = (train > 0).then(|| part(&paths[2], &paths[3], train)).transpose()?;
            Ok(Loaded { data, train })
        }
        _ => Ok(Loaded { data: tabular(set, &read_table(&paths[0], options)?)?, train: None }),
    }
}

/// A table as data set: the last column is the target.
fn tabular(set: &DataSet, table: &Table) -> Result<Dataset> {
    let file = Path::new(&table.file);
    let (rows, features) = match set.content {
        Content::Classes { rows, features, .. } | Content::Values { rows, features } => (rows, features),
        _ => (0, 0),
    };
    let found = format!("{} × {}", table.rows, table.columns.len());
    same(file, "shape", &format!("{rows} × {}", features + 1), &found)?;
    let mut columns = Vec::new();
    for column in &table.columns {
        columns.push(table.numbers(&column.name)?);
    }
    let target = columns.pop().unwrap_or_default();
    let inputs = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
    let Content::Classes { classes, .. } = set.content else {
        return Ok(Dataset::regression(inputs, features, target.to_vec(), 1)?);
    };
    let labels = target.iter().map(|value| *value as usize).collect::<Vec<_>>();
    let exact = labels.iter().zip(target).all(|(label, value)| *label as f64 == *value);
    let mut seen = labels.clone();
    seen.sort_unstable();
    seen.dedup();
    let wanted: Vec<usize> = (0..classes).collect();
    same(file, "set of labels", &format!("{wanted:?}"), &format!("{seen:?}"))?;
    same(file, "labels", "whole numbers", if exact { "whole numbers" } else { "not all whole" })?;
    Ok(Dataset::classification(inputs, features, labels)?)
}

fn same(file: &Path, what: &str, expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(DataError::Unfit(format!(
        "{}: {what} should be {expected}, but is {found}; download the file again",
        file.display()
    )))
}

/// Checks the content of one file against the registry.
pub fn check_file(path: &Path, file: &DataFile) -> Result<()> {
    let found = digest(Source::open(path, limits(file.bytes))?)?;
    if found == file.sha256 {
        return Ok(());
    }
    Err(DataError::Checksum(format!(
        "{}: SHA-256 of the content is {found}, not {}; remove the file and download it again",
        path.display(),
        file.sha256
    )))
}

/// SHA-256 of bytes in memory, after decompression if they are gzip; `name` is for messages.
pub(super) fn digest_of(name: &str, bytes: Vec<u8>, expected: u64) -> Result<String> {
    digest(Source::from_reader(name, std::io::Cursor::new(bytes), limits(expected))?)
}

/// Some more than there should be is enough to see that it is another file.
fn limits(bytes: u64) -> ReadOptions {
    ReadOptions { max_bytes: bytes + (1 << 20), ..ReadOptions::default() }
}

/// SHA-256 of the content, after decompression if it is gzip.
fn digest(mut source: Source) -> Result<String> {
    let mut hash = Sha256::new();
    source.for_each_piece(|piece| hash.update(piece))?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
