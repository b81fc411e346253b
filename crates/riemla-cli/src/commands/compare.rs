//! `riemla compare`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use riemla::score::Bootstrap;
use riemla_files::{Existing, Kind, OutputFile};
use riemla_workflow::workflow::compare::report;
use riemla_workflow::workflow::{CompareConfig, DataFiles, compare};

use super::shared::ReadingArguments;
use riemla_cli::output::{json, print};
use riemla_cli::progress::Bar;

const AFTER_HELP: &str = "\
Examples:
  riemla compare posterior/samples/la posterior/samples/riem-la
  riemla compare posterior/ --method la,riem-la --data test.csv --out comparison.html
  riemla compare posterior-a/ posterior-b/ --method riem-la --reference a --json

Give each set as its directory POSTERIOR/samples/NAME, or as a posterior directory with --method. Sets of \
map, la and lin-la that do not exist are drawn on demand. Distances are in standard deviations of the \
reference, next to the value that chance alone would give. For draws of the Gaussian (la, lin-la), k-hat \
shows whether importance weighting can turn them into draws of the posterior: below 0.5 it works well, above \
0.7 it does not.";

/// Compare two sets of draws: weights, losses, outputs and scores
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Compare {
    /// First set: its directory, or the directory of its posterior
    #[arg(value_name = "A")]
    pub a: PathBuf,

    /// Second set [default: another set of the same posterior, see --method]
    #[arg(value_name = "B")]
    pub b: Option<PathBuf>,

    /// Names of the sets in posterior directories: one name for both, or first A's and then B's
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub method: Vec<String>,

    /// Reference set: distances are in its standard deviations; choose the one you trust more
    #[arg(long, value_name = "SET", default_value = "b", value_parser = PossibleValuesParser::new(LETTERS).map(place))]
    pub reference: usize,

    /// Data with targets, to compare predictions as well; "-" reads standard input
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,

    /// Separate file with the targets, for images and arrays
    #[arg(long, value_name = "FILE", requires = "data")]
    pub labels: Option<PathBuf>,

    /// Column of the target [default: the model's, or "y", or the last one]
    #[arg(long, value_name = "COLUMN", requires = "data", conflicts_with = "labels")]
    pub target: Option<String>,

    #[command(flatten)]
    pub reading: ReadingArguments,

    /// HTML report to write (a single file); an earlier report is replaced
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Replace FILE even if it is not a report
    #[arg(long, requires = "out")]
    pub force: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What the two sets are called.
const LETTERS: [&str; 2] = ["a", "b"];

fn place(letter: String) -> usize {
    usize::from(letter == LETTERS[1])
}

impl Compare {
    /// The two paths with the names of their sets.
    fn sets(&self) -> anyhow::Result<[(PathBuf, Option<String>); 2]> {
        let (first, last) = (self.method.first().cloned(), self.method.last().cloned());
        if self.b.is_none() && self.method.len() != 2 {
            let what = if self.a.exists() { "is a single set" } else { "does not exist" };
            anyhow::bail!(
                "{} {what}: give two sets, or a posterior directory and two names, such as --method la,riem-la",
                self.a.display()
            );
        }
        if self.method.len() > 2 {
            anyhow::bail!("--method takes one or two names, not {}", self.method.len());
        }
        let b = self.b.as_deref().unwrap_or(&self.a);
        Ok([(self.a.clone(), first), (b.to_path_buf(), last)])
    }

    /// The report to write.
    fn output(&self) -> anyhow::Result<Option<OutputFile>> {
        let Some(path) = &self.out else { return Ok(None) };
        let inputs = [&self.a].into_iter().chain(&self.b).chain(&self.data).chain(&self.labels);
        let inputs: Vec<_> = inputs.map(PathBuf::as_path).collect();
        let existing = Existing::replace_if(self.force);
        Ok(Some(OutputFile::claim(path, existing, Kind::Report, &inputs)?))
    }

    fn config(&self) -> anyhow::Result<CompareConfig> {
        let files = |data: &PathBuf| DataFiles {
            labels: self.labels.clone(),
            target: self.target.clone(),
            ..self.reading.file(data)
        };
        Ok(CompareConfig {
            sets: self.sets()?,
            reference: self.reference,
            data: self.data.as_ref().map(files),
            bootstrap: Bootstrap::default(),
        })
    }
}

/// Compares, prints, writes the page.
pub fn run(arguments: &Compare, quiet: bool) -> anyhow::Result<ExitCode> {
    let output = arguments.output()?;
    let config = arguments.config()?;
    let bar = Bar::new(quiet);
    let comparison = compare(&config, &bar);
    bar.finish();
    let comparison = comparison?;
    if let Some(output) = output {
        let html = report(&comparison).to_html();
        output.write(|writer| writer.write_all(html.as_bytes()))?;
    }
    print(&if arguments.json { json(&comparison.to_json())? } else { comparison.table() })?;
    if !quiet {
        comparison.notes.iter().for_each(|note| eprintln!("note: {note}"));
        arguments.out.iter().for_each(|path| eprintln!("Report: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
