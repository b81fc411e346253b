//! Which data sets are there, and whether they are intact.

use std::path::PathBuf;

use super::load::check_file;
use super::registry::{Content, DataSet};
use super::{DataDirs, Result};

/// The place of the first file of a data set, if all are there; none if it is made when needed. `verify` also computes
/// their checksums.
pub fn presence(set: &DataSet, directories: &DataDirs, verify: bool) -> Result<Option<PathBuf>> {
    let mut first = None;
    for file in set.files {
        let path = directories.require(set, file)?;
        if verify {
            check_file(&path, file)?;
        }
        first = first.or(Some(path));
    }
    Ok(first)
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
