//! `truth.jsonl`: one line per target and method, with all that is known of it; and `truth.csv`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use riemla::geometry::Counters;
use riemla_files::tensors::{TensorFile, TensorRef, write_tensors};
use serde::{Deserialize, Serialize};

use super::chains::ChainSummary;
use super::distance::Distances;
use crate::experiments::Result;
use crate::experiments::layout::{make_parent, read_lines, slug, write_lines};
use crate::method::MethodName;
use crate::setting::Entry;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthRecord {
    /// The target.
    pub target: String,
    /// The method.
    pub contender: Entry,
    /// Version of this program.
    pub riemla_version: String,
    /// All that the numbers depend on: they are made again if it changes.
    pub made_with: serde_json::Value,
    /// Number of weights.
    pub dim: usize,
    /// Whether the truth is exact, or from chains.
    pub exact_truth: bool,
    /// Draws made.
    pub draws: u64,
    /// Draws that failed.
    pub failed: u64,
    /// Strength of the metric.
    pub strength: Option<f64>,
    /// Whether the rule that found it is met there; none without a rule.
    pub rule_met: Option<bool>,
    /// How far from the truth.
    pub distances: Distances,
    /// Mean of (θ − θ*)·∇L(θ)/K; 1 for exact draws. Of the linearised loss, where the method is.
    pub virial_ratio: Option<f64>,
    /// Mean of L(θ) − L(θ*) over K/2; 1 for a Gaussian posterior.
    pub loss_rise: Option<f64>,
    /// Negative log-likelihood per test row.
    pub nll: Option<f64>,
    /// Work of the draws.
    pub counters: Counters,
    /// Work of the search for the strength.
    pub search: Counters,
    /// Gradients per draw, without search and warm-up where there are any.
    pub gradients_per_draw: Option<f64>,
    /// All gradients, search and warm-up too, per independent draw.
    pub gradients_per_effective_draw: Option<f64>,
    /// How chains ended.
    pub chains: Option<ChainSummary>,
}

/// All lines.
#[derive(Debug, Clone, Default)]
pub struct TruthRecords {
    path: PathBuf,
    records: Vec<TruthRecord>,
}

/// The file of records in a directory.
pub fn records_file(out: &Path) -> PathBuf {
    out.join("truth.jsonl")
}

impl TruthRecords {
    /// Reads the lines of a directory, if there are any.
    pub fn open(out: &Path) -> Result<Self> {
        let path = records_file(out);
        let records = read_lines(&path)?;
        Ok(Self { path, records })
    }

    /// All lines, in the order in which they were made.
    pub fn as_slice(&self) -> &[TruthRecord] {
        &self.records
    }

    /// The line of a method.
    pub fn get(&self, target: &str, contender: Entry) -> Option<&TruthRecord> {
        self.records.iter().find(|record| record.target == target && record.contender == contender)
    }

    /// Adds a line, or replaces that of the same method, and writes the file in one step.
    pub fn put(&mut self, record: TruthRecord) -> Result<()> {
        let same = |other: &TruthRecord| other.target == record.target && other.contender == record.contender;
        match self.records.iter().position(same) {
            Some(place) => self.records[place] = record,
            None => self.records.push(record),
        }
        write_lines(&self.path, &self.records)
    }
}

/// Where the draws of a method are.
fn draws_file(out: &Path, target: &str, contender: Entry) -> PathBuf {
    let place = out.join("truth").join(slug(target));
    place.join(format!("{}.safetensors", slug(&contender.to_string())))
}

/// Keeps draws: tensor `theta`, draws × weights.
pub fn write_draws(out: &Path, target: &str, contender: Entry, thetas: &[Vec<f64>]) -> Result<()> {
    let file = draws_file(out, target, contender);
    make_parent(&file)?;
    let dims = vec![thetas.len(), thetas.first().map_or(0, Vec::len)];
    let pieces = thetas.iter().map(Vec::as_slice).collect();
    Ok(write_tensors(&file, &[TensorRef { name: "theta".into(), dims, pieces }])?)
}

/// Draws that were kept.
pub fn read_draws(out: &Path, target: &str, contender: Entry) -> Result<Vec<Vec<f64>>> {
    let tensor = TensorFile::open(&draws_file(out, target, contender))?.get("theta")?;
    let width = tensor.dims.last().copied().unwrap_or(1).max(1);
    Ok(tensor.values.chunks(width).map(<[f64]>::to_vec).collect())
}

const HEADER: &str = "target,method,weights,draws,failed,strength,rule_met,w1,w1_null,sd_ratio,function_w1,\
function_w1_null,virial_ratio,loss_rise,nll,gradients_per_draw,search_gradients,\
gradients_per_effective_draw,r_hat,bulk_ess,tail_ess,divergences,truth,truth_converged";

/// The lines as CSV; empty where something is not known.
pub fn truth_csv(records: &[TruthRecord]) -> String {
    let mut csv = format!("{HEADER}\n");
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6}"));
    for record in records {
        let TruthRecord { target, contender, dim, draws, failed, distances: d, chains, .. } = record;
        let truth = truth_of(records, target);
        let met = record.rule_met.map_or(String::new(), |met| met.to_string());
        let _ = write!(csv, "{target},{contender},{dim},{draws},{failed},{},{met}", number(record.strength));
        let chain = |of: fn(&ChainSummary) -> Option<f64>| chains.as_ref().and_then(of);
        for value in [
            d.weights,
            d.weights_null,
            d.deviation_ratio,
            d.functions,
            d.functions_null,
            record.virial_ratio,
            record.loss_rise,
            record.nll,
            record.gradients_per_draw,
            Some(record.search.gradients as f64),
            record.gradients_per_effective_draw,
            chain(|c| c.r_hat),
            chain(|c| c.bulk_ess),
            chain(|c| c.tail_ess),
            chain(|c| Some(c.divergences as f64)),
        ] {
            let _ = write!(csv, ",{}", number(value));
        }
        let kind = if record.exact_truth { "exact" } else { "nuts" };
        let _ = writeln!(csv, ",{kind},{truth}");
    }
    csv
}

/// Whether the truth of a target can be trusted.
pub fn truth_of(records: &[TruthRecord], target: &str) -> bool {
    let chains =
        records.iter().find(|record| record.target == target && record.contender.method == MethodName::Nuts);
    chains.is_some_and(|record| record.exact_truth || record.chains.is_some_and(|chains| chains.converged))
}
