//! `riemla evaluate`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use riemla::score::Bootstrap;
use riemla_files::{Existing, Kind, OutputFile};
use riemla_workflow::workflow::evaluate::report;
use riemla_workflow::workflow::{DataFiles, EvaluateConfig, evaluate};

use super::shared::{DataArguments, GuaranteeArguments, MemberArguments};
use riemla_cli::arguments::whole;
use riemla_cli::output::{json, print};
use riemla_cli::progress::Bar;

const AFTER_HELP: &str = "\
Examples:
  riemla evaluate posterior/ --data test.csv --report report.html
  riemla evaluate posterior/ --data test.csv --ood other.csv --report report.html
  riemla evaluate posterior/ --data test.csv --max-error 0.05 --conformal 0.9 --report report.html
  riemla evaluate posterior/ --data test.csv --json | jq '.methods[] | [.method, .scores.nll.estimate]'

Compares these methods: the trained weights (map); map with a temperature fitted to held-out rows (only with at \
least 50 such rows, and in classification 5 of them misclassified: with fewer, the best temperature does harm); the \
Laplace approximation with exact (la) and linearised (lin-la) predictions; and every set of draws.

A set of draws can have a second line, for the predictions that riemla predict makes: riem-la-temperature, if the \
held-out rows show that the average over draws is over- or underconfident; or riem-la-mixed, if riemla sample \
found on a small table that the trained weights should count in the average (riemla sample --folds).

If the posterior has several members, each method is also listed for all members together: map-members is a deep \
ensemble.";

/// Score a posterior on data with known targets and compare it with cheaper baselines
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Evaluate {
    /// Directory of the posterior
    #[arg(value_name = "POSTERIOR")]
    pub posterior: PathBuf,

    #[command(flatten)]
    pub data: DataArguments,

    /// Out-of-distribution data, about which the posterior should be uncertain (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub ood: Vec<PathBuf>,

    /// Rows not used in training, to fit temperatures and for --max-error and --conformal [default: the rows that
    /// training held out]
    #[arg(long, value_name = "FILE")]
    pub validation: Option<PathBuf>,

    /// Names of the sets of draws to compare; lin-la-probit is a closed form without draws [default: all sets]
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub method: Vec<String>,

    #[command(flatten)]
    pub guarantees: GuaranteeArguments,

    #[command(flatten)]
    pub members: MemberArguments,

    /// HTML report to write (a single file); an earlier report is replaced
    #[arg(long, short, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Replace FILE even if it is not a report
    #[arg(long, requires = "report")]
    pub force: bool,

    /// Number of resamples for the bootstrap intervals
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<u64>(2, 1_000_000))]
    pub resamples: u64,

    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    pub seed: u64,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl Evaluate {
    /// The report to write.
    fn output(&self) -> anyhow::Result<Option<OutputFile>> {
        let Some(path) = &self.report else { return Ok(None) };
        let mut inputs = self.data.inputs();
        inputs.extend(
            [&self.posterior].into_iter().chain(&self.ood).chain(&self.validation).map(PathBuf::as_path),
        );
        let existing = Existing::replace_if(self.force);
        Ok(Some(OutputFile::claim(path, existing, Kind::Report, &inputs)?))
    }
}

/// Evaluates, prints, writes the page.
pub fn run(arguments: &Evaluate, quiet: bool) -> anyhow::Result<ExitCode> {
    let output = arguments.output()?;
    let reading = &arguments.data.reading;
    let target = &arguments.data.target;
    let others = arguments.ood.iter().map(|path| DataFiles { target: target.clone(), ..reading.file(path) });
    let config = EvaluateConfig {
        data: arguments.data.files(),
        ood: others.collect(),
        validation: arguments.validation.as_ref().map(|path| reading.file(path)),
        sets: arguments.method.clone(),
        bootstrap: Bootstrap {
            resamples: arguments.resamples as usize,
            seed: arguments.seed,
            ..Bootstrap::default()
        },
        wanted: arguments.guarantees.wanted(),
        weighting: arguments.members.member_weights,
    };
    let bar = Bar::new(quiet);
    let evaluation = evaluate(&arguments.posterior, &config, &bar);
    bar.finish();
    let evaluation = evaluation?;
    if let Some(output) = output {
        let html = report(&evaluation)?.to_html();
        output.write(|writer| writer.write_all(html.as_bytes()))?;
    }
    print(&if arguments.json { json(&evaluation.to_json())? } else { evaluation.table() })?;
    if !quiet {
        evaluation.notes.iter().for_each(|note| eprintln!("note: {note}"));
        arguments.report.iter().for_each(|path| eprintln!("Report: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
