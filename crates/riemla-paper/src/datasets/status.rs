//! Which data sets are there, and whether they are intact.

use std::path::PathBuf;

use super::load::check_file;
use super::registry::{Content, DataSet};
use super::{DataDirs, DataError};

/// Whether a data set can be used.
#[derive(Debug)]
pub enum Presence {
    /// Made when needed.
    Generated,
    /// All files are there; checksums were not looked at.
    Present(PathBuf),
    /// All files are there and right.
    Intact(PathBuf),
    /// The first file that is missing or wrong.
    Unusable(DataError),
}

/// Looks for the files of a data set; `verify` also computes their checksums.
pub fn presence(set: &DataSet, directories: &DataDirs, verify: bool) -> Presence {
    if let Content::Generated(_) = set.content {
        return Presence::Generated;
    }
    let mut first = None;
    for file in set.files {
        let checked = directories.require(set, file).and_then(|path| {
            if verify {
                check_file(&path, file)?;
            }
            Ok(path)
        });
        match checked {
            Ok(path) => first = first.or(Some(path)),
            Err(error) => return Presence::Unusable(error),
        }
    }
    let path = first.unwrap_or_default();
    if verify { Presence::Intact(path) } else { Presence::Present(path) }
}

impl DataSet {
    /// Its size in words.
    pub fn size(&self) -> String {
        match self.content {
            Content::Classes { rows, features, classes } => {
                format!("{rows} rows, {features} features, {classes} classes")
            }
            Content::Values { rows, features } => format!("{rows} rows, {features} features, real target"),
            Content::Images { test, train: 0, classes, .. } => format!("{test} images, {classes} classes"),
            Content::Images { test, train, classes, .. } => {
                format!("{train} + {test} images, {classes} classes")
            }
            Content::Generated(_) => "generated".into(),
        }
    }
}
