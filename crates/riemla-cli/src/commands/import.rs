//! `riemla import` and `riemla export`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use riemla_files::{Existing, Kind, OutputDirectory, OutputFile};
use riemla_workflow::workflow::{DataFiles, ImportConfig, export, import};

use super::shared::{ColumnArguments, ReadingArguments, facts, likelihood, model_directory, positive};
use riemla_cli::output::{json, print};
use riemla_workflow::likelihood::LikelihoodName;

const IMPORT_HELP: &str = "\
Examples:
  riemla import net.onnx --out model/
  riemla import net.safetensors --network net.toml --out model/
  riemla import net.onnx --data train.csv --target species --standardize --out model/

A network description in TOML (input size, then the layers of torch.nn.Sequential):
  input = 4
  layers = [
    { type = \"linear\", outputs = 16 },
    { type = \"activation\", function = \"tanh\" },
    { type = \"residual\", body = [{ type = \"linear\", outputs = 16 }] },
    { type = \"linear\", outputs = 3 },
  ]
Tensors may have any names (fc1.weight): they are matched by shape, and by the numbers in their names.

Save a PyTorch model with safetensors.torch.save_file(model.state_dict(), \"net.safetensors\") or \
torch.onnx.export(model, (x,), \"net.onnx\"). Next: riemla fit model/ --data train.csv";

const EXPORT_HELP: &str = "\
Example:
  riemla export model/ --out net.safetensors

In Python: model.load_state_dict(safetensors.torch.load_file(\"net.safetensors\"))";

/// Import a network trained with PyTorch or Keras as a model
///
/// Reads ONNX (dense layers, convolutions, pooling, normalisations, activations, residual connections), or a
/// PyTorch state dict in safetensors with a description of the network. If something does not fit,
/// `riemla inspect FILE` lists all problems. With --data the columns and classes of the training table become part of
/// the model.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub struct Import {
    /// FILE.onnx or a state dict in safetensors
    #[arg(value_name = "FILE")]
    pub weights: PathBuf,

    /// Description of the network that a state dict belongs to, in TOML or JSON
    #[arg(long, value_name = "FILE")]
    pub network: Option<PathBuf>,

    /// What the outputs mean [default: as stated in the file, otherwise categorical for several outputs]
    #[arg(long, value_name = "NAME", value_parser = likelihood())]
    pub likelihood: Option<LikelihoodName>,

    /// Standard deviation of the noise, with --likelihood gaussian and gaussian-per-output; `riemla fit` can choose it
    #[arg(long, value_name = "VALUE", default_value_t = 1.0, value_parser = positive)]
    pub sigma_noise: f64,

    /// Prior precision (weight decay of the summed loss) used in training; `riemla fit` can choose it
    #[arg(long, value_name = "VALUE", default_value_t = 1.0, value_parser = positive)]
    pub prior_precision: f64,

    /// Table the network was trained on, for the names of columns and classes
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,

    /// Target column of that table, or several such as height,weight [default: the last]
    #[arg(long, value_name = "COLUMN", requires = "data")]
    pub target: Option<String>,

    #[command(flatten)]
    pub columns: ColumnArguments,

    #[command(flatten)]
    pub reading: ReadingArguments,

    /// Standardise the features, because the network was trained on standardised features
    #[arg(long, requires = "data")]
    pub standardize: bool,

    /// Directory of the model to write
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,

    /// Replace the model or posterior at DIR; other files are never replaced
    #[arg(long)]
    pub force: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Write the weights of a model for PyTorch
#[derive(Debug, Args)]
#[command(after_help = EXPORT_HELP)]
pub struct Export {
    /// Directory of the model (or posterior)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,

    /// Safetensors file to write
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Replace the file, unless it is part of the model
    #[arg(long)]
    pub force: bool,
}

/// Reads, checks, writes.
pub fn run(arguments: &Import, quiet: bool) -> anyhow::Result<ExitCode> {
    let files =
        |data: &PathBuf| DataFiles { target: arguments.target.clone(), ..arguments.reading.file(data) };
    let mut inputs = vec![arguments.weights.as_path()];
    inputs.extend(arguments.network.iter().chain(&arguments.data).map(PathBuf::as_path));
    let output = OutputDirectory::claim(&arguments.out, Existing::replace_if(arguments.force), &inputs)?;
    let imported = import(&ImportConfig {
        weights: arguments.weights.clone(),
        network: arguments.network.clone(),
        likelihood: arguments.likelihood,
        sigma_noise: arguments.sigma_noise,
        prior_precision: arguments.prior_precision,
        data: arguments.data.as_ref().map(files),
        columns: arguments.columns.choices(),
        standardize: arguments.standardize,
    })?;
    let model = &imported.model;
    model.write_to(&output)?;
    print(&if arguments.json {
        json(&serde_json::json!({
            "weights": model.theta.len(),
            "network": model.network,
            "likelihood": model.likelihood,
            "notes": imported.notes,
            "version": env!("CARGO_PKG_VERSION"),
        }))?
    } else {
        facts(model.theta.len(), &model.prior_precision, model.likelihood) + "\n"
    })?;
    if !quiet {
        imported.notes.iter().for_each(|note| eprintln!("note: {note}"));
        eprintln!("Model: {}", arguments.out.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a state dict.
pub fn run_export(arguments: &Export, quiet: bool) -> anyhow::Result<ExitCode> {
    let existing = Existing::replace_if(arguments.force);
    let output = OutputFile::claim(&arguments.out, existing, Kind::Other, &[&arguments.model])?;
    export(&model_directory(&arguments.model)?, output.path())?;
    if !quiet {
        eprintln!("Weights: {}", arguments.out.display());
    }
    Ok(ExitCode::SUCCESS)
}
