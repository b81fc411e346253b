//! A finished set of draws: `samples.json`, `samples.safetensors`, `samples.jsonl`.

use std::io::Write as _;
use std::path::Path;

use riemla::posterior::Draw;
use serde::{Deserialize, Serialize};

use super::{DrawRecord, RunInfo};
use crate::atomic::write_file;
use crate::error::name;
use crate::json::{read_json, write_json};
use crate::open::read_file;
use crate::tensors::{TensorFile, TensorRef, write_tensors};
use crate::{Error, Result};

/// Name of the description of a set.
pub const SAMPLES_FILE: &str = "samples.json";
/// Name of the weights of a set.
pub const SAMPLES_TENSORS_FILE: &str = "samples.safetensors";
/// Name of the diagnostics of a set, one line per draw.
pub const SAMPLES_LINES_FILE: &str = "samples.jsonl";

/// `samples.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetJson {
    format_version: u64,
    riemla_version: String,
    draws: usize,
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
    write_file(&directory.join(SAMPLES_LINES_FILE), |writer| {
        for draw in draws {
            serde_json::to_writer(&mut *writer, &DrawRecord::new(draw))?;
            writer.write_all(b"\n")?;
        }
        Ok(())
    })?;
    let json = SetJson {
        format_version: run.format_version,
        riemla_version: env!("CARGO_PKG_VERSION").into(),
        draws: draws.len(),
        run: run.clone(),
    };
    write_json(&directory.join(SAMPLES_FILE), &json)
}

/// Reads and checks a set of draws.
pub fn read_samples(directory: &Path) -> Result<SavedSamples> {
    let path = directory.join(SAMPLES_FILE);
    let SetJson { draws: count, run, .. } = read_json(&path)?;
    let records = read_lines(&directory.join(SAMPLES_LINES_FILE))?;
    let tensors = directory.join(SAMPLES_TENSORS_FILE);
    if records.len() != count {
        return Err(Error::Mismatch {
            file: name(&path),
            other: name(&directory.join(SAMPLES_LINES_FILE)),
            problem: format!("{count} draws there, {} here; write the samples again", records.len()),
        });
    }
    let theta = TensorFile::open(&tensors)?.get_checked("theta", &[count, run.dim])?;
    let rows = theta.chunks_exact(run.dim.max(1));
    let draws = records.into_iter().zip(rows).map(|(record, row)| record.into_draw(row.to_vec())).collect();
    Ok(SavedSamples { run, draws })
}

fn read_lines(path: &Path) -> Result<Vec<DrawRecord>> {
    let file = name(path);
    let bytes = read_file(path)?;
    let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let record = |(number, line): (usize, &[u8])| {
        serde_json::from_slice(line).map_err(|error| Error::Json {
            file: file.clone(),
            line: number + 1,
            column: error.column(),
            message: error.to_string(),
        })
    };
    lines.map(record).collect()
}
