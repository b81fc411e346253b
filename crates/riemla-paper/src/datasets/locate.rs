//! Where data are looked for.

use std::path::{Path, PathBuf};

use super::registry::{DataFile, DataSet, Source};
use super::{DataError, Result};

/// Names a directory of data.
pub const VARIABLE: &str = "RIEMLA_DATA_DIR";

/// Directories with data, in the order of search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDirs(Vec<PathBuf>);

impl DataDirs {
    /// The directory given, else that of the variable [`VARIABLE`], else `../shared/data`, `data`
    /// and the user's data directory.
    pub fn new(given: Option<&Path>) -> Self {
        let named = given.map(Path::to_path_buf).or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
        match named {
            Some(directory) => Self(vec![directory]),
            None => Self(vec!["../shared/data".into(), "data".into(), user_directory()]),
        }
    }

    /// All of them.
    pub fn as_slice(&self) -> &[PathBuf] {
        &self.0
    }

    /// Where downloads go: the last one, which belongs to the user.
    pub fn target(&self) -> &Path {
        self.0.last().map_or(Path::new("."), PathBuf::as_path)
    }

    /// The place of a file, if it is in any of the directories.
    pub fn find(&self, file: &DataFile) -> Option<PathBuf> {
        self.0.iter().map(|directory| directory.join(file.path)).find(|path| path.is_file())
    }

    /// The place of a file, or an error that says which command gets it.
    pub fn require(&self, set: &DataSet, file: &DataFile) -> Result<PathBuf> {
        self.find(file).ok_or_else(|| {
            let searched: Vec<String> = self.0.iter().map(|path| path.display().to_string()).collect();
            DataError::Missing(format!(
                "{} of the data set {} was not found in {}; {}",
                file.path,
                set.name,
                searched.join(", "),
                remedy(set, file)
            ))
        })
    }
}

fn remedy(set: &DataSet, file: &DataFile) -> String {
    match file.source {
        Source::Copy(_) | Source::Tables(_) => format!("download it with: riemla data fetch {}", set.name),
        Source::ByHand => {
            format!(
                "give the directory that contains it with --data-dir, or obtain it manually: {}",
                set.by_hand
            )
        }
    }
}

fn user_directory() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = variable("XDG_DATA_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".local/share")))
        .or_else(|| variable("APPDATA"));
    base.unwrap_or_else(std::env::temp_dir).join("riemla").join("data")
}
