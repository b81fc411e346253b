//! `riemla predict`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use riemla_files::{Existing, Kind, OutputFile};
use riemla_workflow::watch::Session;
use riemla_workflow::workflow::guarantees::Guarantees;
use riemla_workflow::workflow::members::Posteriors;
use riemla_workflow::workflow::{
    DataFiles, OutputFormat, PredictConfig, TemperatureChoice, WorkflowError, draws, predict, predict_to_file,
};

use super::shared::{GuaranteeArguments, MemberArguments, ReadingArguments};
use riemla_cli::arguments::{named, number};
use riemla_cli::interrupt::stop_flag;
use riemla_cli::progress::Bar;

const AFTER_HELP: &str = "\
Examples:
  riemla predict posterior/ --data new.csv --out predictions.csv
  riemla predict posterior/ --data new.csv --keep id --method lin-la --out predictions.csv
  riemla predict posterior/ --data new.csv --max-error 0.05 --conformal 0.9 --out predictions.csv
  gunzip -c big.csv.gz | riemla predict posterior/ --data - > predictions.csv
  riemla predict posterior/ --data new.csv --format jsonl | jq .prediction

Columns for classes: prediction, confidence, entropy (total uncertainty), aleatoric (uncertainty that more \
data of the same kind cannot remove), epistemic (uncertainty about the weights), p_CLASS.
Columns for numbers: mean, std, lower, upper (the interval of --level), epistemic_std, aleatoric_std.

CSV files are read, predicted and written in chunks and may be larger than memory (see --max-size). Missing \
values are handled as chosen in training (riemla train --missing). Categories not seen in training are treated \
as \"other\", or as none of the known ones, and a warning reports how many there were.";

/// Predict new data with the draws of a posterior
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Predict {
    /// Directory of the posterior
    #[arg(value_name = "POSTERIOR")]
    pub posterior: PathBuf,

    /// CSV, NPY, NPZ, Parquet or IDX, plain or gzip; "-" reads standard input
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,

    /// Output format: csv, or jsonl (one JSON object per row) [default: by the file extension, else csv]
    #[arg(long, value_name = "FORMAT", value_parser = named::<OutputFormat>(["csv", "jsonl"]))]
    pub format: Option<OutputFormat>,

    /// File to write [default: standard output]; earlier predictions are replaced
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Replace FILE even if it contains something other than predictions
    #[arg(long, requires = "out")]
    pub force: bool,

    /// Set of draws to predict with; map, la and lin-la need none [default: the only existing set]
    #[arg(long, short, value_name = "NAME")]
    pub method: Option<String>,

    /// Probability covered by the predicted interval (regression)
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = level)]
    pub level: f64,

    /// Temperature of the predictions: below 1 makes them more confident, above 1 less. With "auto" it is the temperature
    /// closest to 1 that the held-out rows do not reject; for small tables, the trained weights are averaged with the draws
    /// instead, with the share that `riemla sample --folds` found. With 1, the draws are used as they are
    #[arg(long, value_name = "T", default_value = "auto", value_parser = temperature)]
    pub temperature: TemperatureChoice,

    #[command(flatten)]
    pub guarantees: GuaranteeArguments,

    #[command(flatten)]
    pub members: MemberArguments,

    /// Rows not used in training, for --temperature, --max-error and --conformal [default: the rows that training held
    /// out]
    #[arg(long, value_name = "FILE")]
    pub validation: Option<PathBuf>,

    /// Columns of the data to copy to the predictions
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,

    /// Column of the target, for arrays that contain it (it is not used as an input)
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,

    #[command(flatten)]
    pub reading: ReadingArguments,
}

impl Predict {
    fn format(&self) -> OutputFormat {
        let ending = self.out.as_deref().and_then(Path::extension);
        match self.format {
            Some(format) => format,
            None if ending.is_some_and(|e| e == "jsonl" || e == "ndjson") => OutputFormat::JsonLines,
            None => OutputFormat::Csv,
        }
    }
}

fn level(text: &str) -> Result<f64, String> {
    number(text, |level| level > 0.0 && level < 1.0, "a number between 0 and 1, such as 0.95")
}

fn temperature(text: &str) -> Result<TemperatureChoice, String> {
    if text == "auto" {
        return Ok(TemperatureChoice::Auto);
    }
    number(text, |value| value > 0.0, "a number above 0, or auto").map(TemperatureChoice::Given)
}

impl Predict {
    /// The file to write; none for standard output.
    fn output(&self) -> anyhow::Result<Option<OutputFile>> {
        let Some(path) = self.out.as_deref().filter(|path| *path != Path::new("-")) else { return Ok(None) };
        let inputs: [&Path; 2] = [&self.posterior, &self.data];
        let existing = Existing::replace_if(self.force);
        Ok(Some(OutputFile::claim(path, existing, Kind::Predictions, &inputs)?))
    }
}

/// Reads, predicts, writes.
pub fn run(arguments: &Predict, quiet: bool) -> anyhow::Result<ExitCode> {
    let output = arguments.output()?;
    let posteriors = Posteriors::read(&arguments.posterior, arguments.members.member_weights)?;
    let name = draws::choose(&posteriors.members[0].0, arguments.method.as_deref())?;
    let data = DataFiles { target: arguments.target.clone(), ..arguments.reading.file(&arguments.data) };
    let validation = arguments.validation.as_ref().map(|path| arguments.reading.file(path));
    let held_out = posteriors.held_out(validation.as_ref())?;
    let wanted = arguments.guarantees.wanted();
    let predictor = arguments.temperature.apply(posteriors.predictor(&name)?, held_out.as_ref(), wanted)?;
    let guarantees = Guarantees::fit(&predictor, held_out.as_ref(), wanted)?;
    let config = PredictConfig {
        data,
        level: arguments.level,
        keep: arguments.keep.clone(),
        format: arguments.format(),
        guarantees,
    };
    let stop = stop_flag(quiet)?;
    let bar = Bar::new(quiet);
    let session = Session::new(stop, &bar);
    let predicted = match &output {
        None => predict(&predictor, posteriors.model(), &config, &mut std::io::stdout().lock(), session),
        Some(output) => predict_to_file(&predictor, posteriors.model(), &config, output, session),
    };
    bar.finish();
    let predicted = match predicted {
        // A reader that has seen enough (`| head`) is no failure.
        Err(WorkflowError::Files(riemla_files::Error::Io { source, .. }))
            if source.kind() == std::io::ErrorKind::BrokenPipe =>
        {
            return Ok(ExitCode::SUCCESS);
        }
        predicted => predicted?,
    };
    if !quiet {
        guarantees.notes().iter().for_each(|note| eprintln!("note: {note}"));
        predicted.notes.iter().for_each(|note| eprintln!("warning: {note}"));
        let rows = predicted.rows;
        let at = predictor.temperature.map_or(String::new(), |found| match found.is_fitted() {
            false => format!(" at temperature {}", found.temperature),
            true => format!(
                " at temperature {:.3}, fitted to {} held-out targets (--temperature 1 turns this off)",
                found.temperature, found.targets
            ),
        });
        let beside = predictor.beside.as_ref().filter(|_| predictor.mixed).map_or(String::new(), |(found, _)| {
            format!(
                "; the trained weights have a share of {:.2} in the average, chosen with {} rows left out in turn or held out \
                 (--temperature 1 turns this off)",
                found.share, found.rows
            )
        });
        eprintln!("{rows} rows predicted with {} weight vectors of {name}{at}{beside}.", predictor.draws());
    }
    Ok(ExitCode::SUCCESS)
}
