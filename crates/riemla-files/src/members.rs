//! Several models, or several posteriors, that predict together: a directory with one directory for each.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::name;
use crate::json::{FORMAT_VERSION, read_json, write_json};
use crate::{Error, Model, OutputDirectory, Result, SavedPosterior};

/// Name of the description in a directory of members.
pub const MEMBERS_FILE: &str = "members.json";

const REMEDY: &str = "copy the directory again, or make it again with `riemla train` or `riemla fit`";

/// `members.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MembersJson {
    format_version: u64,
    riemla_version: String,
    /// Number of members; their directories are 1, 2, ….
    members: usize,
}

/// The directories of the members of a set; none if `directory` is no set of members.
pub fn members_of(directory: &Path) -> Result<Option<Vec<PathBuf>>> {
    let file = directory.join(MEMBERS_FILE);
    if !file.is_file() {
        return Ok(None);
    }
    let json: MembersJson = read_json(&file, REMEDY)?;
    let members: Vec<PathBuf> = (1..=json.members).map(|k| directory.join(k.to_string())).collect();
    match members.iter().find(|member| !member.is_dir()) {
        Some(missing) => Err(Error::Damaged {
            file: name(&file),
            problem: format!("it names {} members, but {} is missing", json.members, missing.display()),
            remedy: REMEDY,
        }),
        None if members.is_empty() => {
            Err(Error::Damaged { file: name(&file), problem: "it names no members".into(), remedy: REMEDY })
        }
        None => Ok(Some(members)),
    }
}

/// Whether this is the name of a member's directory.
pub(crate) fn is_member(name: &str) -> bool {
    name.parse::<usize>().is_ok_and(|k| k >= 1 && k.to_string() == name)
}

/// Writes models in one step: one as it is, several as members.
pub fn write_models(models: &[Model], output: &OutputDirectory) -> Result<()> {
    match models {
        [only] => only.write_to(output),
        _ => write(models.len(), output, |k, directory| models[k].write_into(directory)),
    }
}

/// Writes posteriors in one step: one as it is, several as members.
pub fn write_posteriors(posteriors: &[SavedPosterior], output: &OutputDirectory) -> Result<()> {
    match posteriors {
        [only] => only.write_to(output),
        _ => write(posteriors.len(), output, |k, directory| posteriors[k].write_into(directory)),
    }
}

fn write(
    members: usize,
    output: &OutputDirectory,
    member: impl Fn(usize, &Path) -> Result<()>,
) -> Result<()> {
    output.write(|temporary| {
        for k in 0..members {
            let directory = temporary.join((k + 1).to_string());
            std::fs::create_dir(&directory).map_err(Error::io(&name(&directory), "make it"))?;
            member(k, &directory)?;
        }
        let riemla_version = env!("CARGO_PKG_VERSION").into();
        write_json(
            &temporary.join(MEMBERS_FILE),
            &MembersJson { format_version: FORMAT_VERSION, riemla_version, members },
        )
    })
}
