//! Options and phrases that several commands have in common.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, TypedValueParser};
use riemla::curvature::PriorChoice;
use riemla::objective::{Likelihood, PriorPrecision};
use riemla_cli::arguments::{named, number};
use riemla_cli::output::{json, print};
use riemla_files::encoding::MissingValues;
use riemla_files::{CsvOptions, Model, ReadOptions};
use riemla_workflow::likelihood::{LikelihoodName, noise_in_words, prior_in_words};
use riemla_workflow::workflow::guarantees::Wanted;
use riemla_workflow::workflow::members::{self, Weighting};
use riemla_workflow::workflow::{ColumnChoices, DataFiles, WorkflowError};

/// Where data come from.
#[derive(Debug, Args)]
pub struct DataArguments {
    /// CSV, NPY, NPZ, Parquet or IDX, plain or gzip; "-" reads standard input
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,

    /// Separate file with the targets, for images and arrays
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,

    /// Column of the target, or several such as height,weight [default: the model's, or "y", or the last one]
    #[arg(long, value_name = "COLUMN", conflicts_with = "labels")]
    pub target: Option<String>,

    #[command(flatten)]
    pub reading: ReadingArguments,
}

impl DataArguments {
    /// In the words of the lab.
    pub fn files(&self) -> DataFiles {
        let files = self.reading.file(&self.data);
        DataFiles { labels: self.labels.clone(), target: self.target.clone(), ..files }
    }

    /// The files that are read.
    pub fn inputs(&self) -> Vec<&Path> {
        let labels = self.labels.iter();
        [&self.data].into_iter().chain(labels).map(PathBuf::as_path).collect()
    }
}

/// Reads the name of a likelihood.
pub fn likelihood() -> impl TypedValueParser<Value = LikelihoodName> {
    named(LikelihoodName::ALL.map(|known| PossibleValue::new(known.name()).help(known.about())))
}

/// Heading of the options of reading in help texts.
const READING: &str = "Reading data";

/// How data are read.
#[derive(Debug, Args)]
pub struct ReadingArguments {
    /// Character between the columns of CSV files, or "tab" [default: comma, semicolon or tab, whichever fits]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, help_heading = READING)]
    pub delimiter: Option<u8>,

    /// Numbers in CSV files have a decimal comma
    #[arg(long, help_heading = READING)]
    pub decimal_comma: bool,

    /// Maximum size of a file after decompression, such as 16G [default: 4 GiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = READING)]
    pub max_size: Option<u64>,
}

impl ReadingArguments {
    /// In the words of the readers.
    pub fn options(&self) -> ReadOptions {
        let csv = CsvOptions { delimiter: self.delimiter, decimal_comma: self.decimal_comma };
        let usual = ReadOptions::default();
        ReadOptions { max_bytes: self.max_size.unwrap_or(usual.max_bytes), csv, ..usual }
    }

    /// One file that is read like this.
    pub fn file(&self, path: &Path) -> DataFiles {
        DataFiles { options: self.options(), ..DataFiles::new(path) }
    }
}

/// What is made of the columns of a training table.
#[derive(Debug, Args)]
pub struct ColumnArguments {
    /// Columns to leave out, such as row numbers and names
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "data")]
    pub ignore: Vec<String>,

    /// Columns to treat as categories even if they look like numbers, such as codes
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "data")]
    pub categorical: Vec<String>,

    /// How to handle missing values: error (report them), impute (with the mean, or the most frequent category), or
    /// indicator (impute them, and add an input that marks them); the choice is stored in the model
    #[arg(long, value_name = "WAY", default_value = "error", requires = "data", value_parser = named::<MissingValues>(MISSING))]
    pub missing: MissingValues,
}

const MISSING: [&str; 3] = ["error", "impute", "indicator"];

impl ColumnArguments {
    /// In the words of the lab.
    pub fn choices(&self) -> ColumnChoices {
        ColumnChoices {
            ignore: self.ignore.clone(),
            categorical: self.categorical.clone(),
            missing: self.missing,
        }
    }
}

/// What held-out rows shall promise about predictions.
#[derive(Debug, Args)]
pub struct GuaranteeArguments {
    /// Withhold predictions that are not confident enough for this error rate (classes only); the threshold is chosen on
    /// rows that were not used in training
    #[arg(long, value_name = "RATE", value_parser = share)]
    pub max_error: Option<f64>,

    /// Add conformal sets of classes, or intervals, that contain the true value with this probability; they are computed
    /// from rows that were not used in training
    #[arg(long, value_name = "P", value_parser = share)]
    pub conformal: Option<f64>,
}

impl GuaranteeArguments {
    /// In the words of the workflow.
    pub fn wanted(&self) -> Wanted {
        Wanted { max_error: self.max_error, conformal: self.conformal }
    }
}

/// A number between 0 and 1.
pub fn share(text: &str) -> Result<f64, String> {
    number(text, |share| share > 0.0 && share < 1.0, "a number between 0 and 1, such as 0.05")
}

/// One character that is neither part of numbers nor of quotes and line ends.
fn delimiter(text: &str) -> Result<u8, String> {
    let named = match text {
        "tab" | "\\t" => "\t",
        "comma" => ",",
        "semicolon" => ";",
        other => other,
    };
    match named.as_bytes() {
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n+-.".contains(byte) => {
            Ok(*byte)
        }
        _ => Err("must be one character such as ; or |, or the word tab".into()),
    }
}

/// A size such as 500M or 8G.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.trim_end_matches(['B', 'b']) {
        t if t.ends_with(['k', 'K']) => (&t[..t.len() - 1], 1e3),
        t if t.ends_with(['m', 'M']) => (&t[..t.len() - 1], 1e6),
        t if t.ends_with(['g', 'G']) => (&t[..t.len() - 1], 1e9),
        t => (t, 1.0),
    };
    number(digits, |n| n > 0.0, "a size such as 500M or 8G").map(|n| (n * factor) as u64)
}

/// A finite number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    number(text, |number| number > 0.0, "a number above 0")
}

/// A prior precision, or how it is found; `must` says what there is.
pub fn prior(text: &str, must: &str) -> Result<PriorChoice, String> {
    match text {
        "auto" => Ok(PriorChoice::Optimize),
        "per-layer" => Ok(PriorChoice::OptimizePerLayer),
        value => number(value, |value| value > 0.0, must)
            .map(|value| PriorChoice::Fixed(PriorPrecision::Scalar(value))),
    }
}

/// Weights, prior and noise in one line.
pub fn facts(weights: usize, prior: &PriorPrecision, likelihood: Likelihood) -> String {
    let several = if matches!(likelihood, Likelihood::Gaussian { .. }) { "" } else { "s" };
    let noise = noise_in_words(likelihood).map_or(String::new(), |sigma| {
        format!(", sigma_noise {sigma} (in units of the encoded target{several})")
    });
    format!("{weights} weights, prior_precision {}{noise}", prior_in_words(prior))
}

/// How members are weighed.
#[derive(Debug, Args)]
pub struct MemberArguments {
    /// How much each member counts, if the posterior has several: equal, or evidence (in proportion to its marginal
    /// likelihood)
    #[arg(long, value_name = "WAY", default_value = "equal", value_parser = named::<Weighting>(["equal", "evidence"]))]
    pub member_weights: Weighting,
}

/// Reads a model directory, or all members of one.
pub fn model_directories(path: &Path) -> anyhow::Result<Vec<Model>> {
    members::directories(path)?.iter().map(|member| model_directory(member)).collect()
}

/// Reads a model directory, or says how to make one.
pub fn model_directory(path: &Path) -> anyhow::Result<Model> {
    if !path.join(riemla_files::model::MODEL_FILE).is_file() {
        let remedy = "make one with `riemla train --data train.csv --out model/` or `riemla import`";
        return Err(WorkflowError::NotA { path: path.into(), expected: "model directory", remedy }.into());
    }
    Ok(Model::read(path)?)
}

/// Prints what there is to say about each member: an object or a list of JSON, or words, one member below the other.
pub fn print_members<T>(
    members: &[T],
    as_json: bool,
    in_json: impl Fn(&T) -> serde_json::Value,
    in_words: impl Fn(&T) -> String,
) -> anyhow::Result<()> {
    let one = |(k, member): (usize, &T)| format!("member {}\n{}\n", k + 1, in_words(member));
    let text = match (members, as_json) {
        ([only], true) => json(&in_json(only))?,
        (all, true) => json(&serde_json::json!({ "members": all.iter().map(in_json).collect::<Vec<_>>() }))?,
        ([only], false) => in_words(only),
        (all, false) => all.iter().enumerate().map(one).collect(),
    };
    Ok(print(&text)?)
}

/// Prints warnings about members, the same one once.
pub fn print_warnings<'a>(warnings: impl Iterator<Item = &'a String>) {
    let mut warnings: Vec<&String> = warnings.collect();
    warnings.dedup();
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}
