//! `riemla inspect`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use riemla_workflow::workflow::inspect;
use serde_json::Value;

use super::shared::ReadingArguments;
use riemla_cli::output::{json, print};

/// Show what a file or directory contains: a model, a posterior, draws, tensors, ONNX, data
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  riemla inspect posterior/\n  riemla inspect train.csv\n  riemla inspect --json net.onnx | jq .layers"
)]
pub struct Inspect {
    /// File or directory to describe
    #[arg(value_name = "PATH")]
    pub path: PathBuf,

    #[command(flatten)]
    pub reading: ReadingArguments,

    /// Print the description as JSON
    #[arg(long)]
    pub json: bool,
}

/// Looks and prints.
pub fn run(arguments: &Inspect) -> anyhow::Result<ExitCode> {
    let found = inspect(&arguments.path, arguments.reading.options())?;
    if arguments.json {
        print(&json(&found.to_json())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{}: {}\n", arguments.path.display(), found.kind);
    for (name, value) in &found.properties {
        match value {
            Value::Null => {}
            Value::Array(items) if items.iter().any(|item| item.to_string().len() > 12) => {
                text.push_str(&format!("  {name}:\n"));
                items.iter().for_each(|item| text.push_str(&format!("    {}\n", plain(item))));
            }
            Value::Array(items) => {
                text.push_str(&format!(
                    "  {name}: {}\n",
                    items.iter().map(plain).collect::<Vec<_>>().join(", ")
                ));
            }
            other => text.push_str(&format!("  {name}: {}\n", plain(other))),
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Text without quotes, everything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
