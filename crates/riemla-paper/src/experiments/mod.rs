//! The experiments of the paper: described by TOML files, run in parts that survive a kill, reported.

mod bench;
mod builtin;
mod cell;
pub(crate) mod cells;
mod config;
mod engine;
mod error;
mod finished;
mod fit;
mod fitted;
mod judged;
pub(crate) mod layout;
pub(crate) mod log;
mod names;
mod network;
mod paper;
mod record;
pub(crate) mod report;
mod request;
mod resolve;
pub(crate) mod results;
mod rows;
mod subject;
pub mod truth;

pub use builtin::{BUILTIN, builtin, open, paper_experiments};
pub use cells::Outcome;
pub use config::{Approximation, Experiment, Figure, Optimizer, Problem, Quick, Split, Takes, Training};
pub use engine::run;
pub use error::ExperimentError;
pub use fit::{Fit, trained};
pub use layout::prepare;
pub use log::Log;
pub use names::PriorName;
pub use network::NetworkChoice;
pub use paper::{PAPER_RESULTS, PaperRow, paper_rows};
pub use record::{CellKey, DrawSummary, Estimate, ModelSummary, Records, RunRecord, Score};
pub use report::{has_results, write_report};
pub use request::Request;
pub use results::{ResultRow, read_results, result_rows, results_csv};
pub use rows::Rows;

pub use riemla_workflow::method::MethodName;
pub use riemla_workflow::setting::{Entry, Setting};

/// Results of this module.
pub type Result<T> = std::result::Result<T, ExperimentError>;
