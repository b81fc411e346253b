//! A finished set of draws: `samples.json`, `samples.safetensors`, `samples.jsonl`.

use std::path::Path;

use riemla::posterior::Draw;
use serde::{Deserialize, Serialize};

use super::{DrawRecord, RunInfo};
use crate::error::name;
use crate::identity::Digest;
use crate::json::{read_json, read_json_lines, write_json, write_json_lines};
use crate::tensors::{TensorFile, TensorRef, write_tensors};
use crate::{Error, Result};

/// Name of the description of a set.
pub const SAMPLES_FILE: &str = "samples.json";
/// Name of the weights of a set.
pub const SAMPLES_TENSORS_FILE: &str = "samples.safetensors";
/// Name of the diagnostics of a set, one line per draw.
pub const SAMPLES_LINES_FILE: &str = "samples.jsonl";

/// What to do about a damaged file of a set.
const REMEDY: &str = "remove the files samples.* next to it and run the same command again: the draws are \
                      restored from the log or drawn again";

/// `samples.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetJson {
    format_version: u64,
    riemla_version: String,
    draws: usize,
    theta: Digest,
    run: RunInfo,
}

/// A set of draws from files.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedSamples {
    /// What they have in common.
    pub run: RunInfo,
    /// The draws, by index.
    pub draws: Vec<Draw>,
}

/// Writes draws into a directory, each file in one step, the description last.
pub fn write_samples(directory: &Path, run: &RunInfo, draws: &[Draw]) -> Result<()> {
    let file = directory.join(SAMPLES_TENSORS_FILE);
    if let Some(draw) = draws.iter().find(|draw| draw.theta.len() != run.dim) {
        let error =
            riemla::Error::shape(format!("weights of draw {}", draw.index), run.dim, draw.theta.len());
        return Err(Error::content(&name(&file))(error));
    }
    let pieces = draws.iter().map(|draw| draw.theta.as_slice()).collect();
    let theta = TensorRef { name: "theta".into(), dims: vec![draws.len(), run.dim], pieces };
    write_tensors(&file, &[theta])?;
    write_json_lines(&directory.join(SAMPLES_LINES_FILE), draws.iter().map(DrawRecord::new))?;
    let json = SetJson {
        format_version: run.format_version,
        riemla_version: env!("CARGO_PKG_VERSION").into(),
        draws: draws.len(),
        theta: Digest::of_numbers(draws.iter().map(|draw| draw.theta.as_slice())),
        run: run.clone(),
    };
    write_json(&directory.join(SAMPLES_FILE), &json)
}

/// Reads and checks a set of draws.
pub fn read_samples(directory: &Path) -> Result<SavedSamples> {
    let path = directory.join(SAMPLES_FILE);
    let SetJson { draws: count, theta: digest, run, .. } = read_json(&path, REMEDY)?;
    let records: Vec<DrawRecord> = read_json_lines(&directory.join(SAMPLES_LINES_FILE), REMEDY)?;
    let tensors = directory.join(SAMPLES_TENSORS_FILE);
    if records.len() != count {
        return Err(Error::Mismatch {
            file: name(&path),
            other: name(&directory.join(SAMPLES_LINES_FILE)),
            problem: format!("{count} draws in one, {} in the other; write the samples again", records.len()),
        });
    }
    let theta = TensorFile::open_ours(&tensors, REMEDY)?.get_checked("theta", &[count, run.dim])?;
    if Digest::of_numbers([theta.as_slice()]) != digest {
        return Err(Error::Mismatch {
            file: name(&path),
            other: name(&tensors),
            problem: format!("the draws belong to another set; {REMEDY}"),
        });
    }
    let rows = theta.chunks_exact(run.dim.max(1));
    let draws = records.into_iter().zip(rows).map(|(record, row)| record.into_draw(row.to_vec())).collect();
    Ok(SavedSamples { run, draws })
}
