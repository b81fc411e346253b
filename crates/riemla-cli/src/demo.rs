//! `riemla demo`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use riemla_lab::demo::{self, DemoConfig, DemoResult, Files, OutputDir};

use crate::arguments::Demo;
use crate::interrupt::stop_flag;
use crate::progress::Bar;
use crate::{FAILED, INTERRUPTED};

/// Checks the directory, runs, writes, prints.
pub fn run(arguments: &Demo, quiet: bool) -> anyhow::Result<ExitCode> {
    let output = OutputDir::prepare(&arguments.out, arguments.force)?;
    let stop = stop_flag(quiet)?;
    let bar = Bar::new(quiet);
    let result = demo::run(&config(arguments), stop, &bar);
    bar.finish();
    let result = result?;
    let files = Files {
        report: demo::report(&result)?.to_html(),
        results: result.to_json(),
        picture: demo::picture(&result)?,
    };
    output.write(&files)?;
    print(if arguments.json { files.results } else { demo::table(&result) })?;
    if !quiet {
        eprintln!("{}", closing(&result, &output));
    }
    Ok(exit_code(&result))
}

/// A method without a single draw is a failure, even though the rest is reported.
fn exit_code(result: &DemoResult) -> ExitCode {
    if result.interrupted.is_some() {
        return INTERRUPTED.into();
    }
    for missing in &result.missing {
        eprintln!("error: no draw from {}: {}", missing.method, missing.reason);
        eprintln!("  help: a smaller --strength makes geodesics easier to follow");
    }
    if result.missing.is_empty() { ExitCode::SUCCESS } else { FAILED.into() }
}

fn config(arguments: &Demo) -> DemoConfig {
    let Demo { seed, samples, strength, .. } = *arguments;
    DemoConfig { seed, samples, strength, ..DemoConfig::default() }
}

/// Prints to stdout; a reader that has seen enough (`| head`) is no failure.
fn print(text: String) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

fn closing(result: &DemoResult, output: &OutputDir) -> String {
    let interrupted = result.interrupted.map_or(String::new(), |i| {
        format!("Interrupted after {} of {} draws; the report shows what was drawn.\n", i.draws, i.of)
    });
    format!("{interrupted}Report: {}", output.report().display())
}
