//! Which set of draws a path means.

use std::path::{Path, PathBuf};

use riemla_files::posterior::POSTERIOR_FILE;

use crate::workflow::draws::choose;
use crate::workflow::error::{Result, WorkflowError};
use crate::workflow::sample::SAMPLES_DIRECTORY;
use crate::workflow::saved::refuse_members;

/// A set of draws in a posterior directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The posterior directory.
    pub posterior: PathBuf,
    /// Name of the set.
    pub set: String,
}

impl Place {
    /// A path is a posterior directory, whose set is `named` or its only one, or that of a set itself:
    /// POSTERIOR/samples/NAME. As everywhere, map, la and lin-la need not be there.
    pub fn find(path: &Path, named: Option<&str>) -> Result<Self> {
        if path.join(POSTERIOR_FILE).is_file() {
            return Ok(Self { posterior: path.into(), set: choose(path, named)? });
        }
        let own_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let samples = path.parent().filter(|parent| parent.ends_with(SAMPLES_DIRECTORY));
        let posterior =
            samples.and_then(Path::parent).map(|p| if p == Path::new("") { Path::new(".") } else { p });
        match (posterior.filter(|posterior| posterior.join(POSTERIOR_FILE).is_file()), own_name) {
            (Some(_), Some(set)) if named.is_some_and(|named| named != set) => {
                Err(WorkflowError::unfit(format!(
                    "{} is a set of draws itself; give the posterior directory to choose a set with --method",
                    path.display()
                )))
            }
            (Some(posterior), Some(set)) => Ok(Self { posterior: posterior.into(), set }),
            _ => refuse_members(path).and(Err(WorkflowError::NotA {
                path: path.into(),
                expected: "posterior directory or set of draws in one",
                remedy: "give posterior/ or posterior/samples/NAME; `riemla sample posterior/` creates sets",
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_posteriors_and_of_sets() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let posterior = directory.path().join("p");
        std::fs::create_dir_all(posterior.join("samples/one")).expect("makes it");
        std::fs::write(posterior.join(POSTERIOR_FILE), "{}").expect("writes");
        let place = |set: &str| Place { posterior: posterior.clone(), set: set.into() };
        assert_eq!(Place::find(&posterior.join("samples/one"), None).expect("a set"), place("one"));
        assert_eq!(Place::find(&posterior.join("samples/la"), Some("la")).expect("a set"), place("la"));
        assert_eq!(Place::find(&posterior, Some("la")).expect("a posterior"), place("la"));
        assert!(Place::find(&posterior, None).is_err(), "no finished set");
        assert!(Place::find(&posterior.join("samples/one"), Some("two")).is_err());
        assert!(Place::find(directory.path(), None).is_err() && Place::find(Path::new("/"), None).is_err());
    }
}
