//! From files to files: what the commands of the program do, without arguments and terminal.
//!
//! [`train()`] or an import makes a model, [`fit()`] a posterior, [`sample()`] draws from it, and
//! [`predict()`], [`evaluate()`] and [`compare()`] use them.

mod budget;
pub mod compare;
mod diagnostics;
mod draw_table;
pub mod draws;
mod elsewhere;
pub mod environment;
pub mod error;
pub mod evaluate;
mod fit;
mod folds;
pub mod guarantees;
mod held_out;
mod import;
pub mod input;
mod inspect;
pub mod members;
pub mod memory;
pub mod predict;
pub mod predictor;
mod sample;
mod sample_config;
mod samplers;
mod saved;
pub mod set_summary;
mod take;
mod train;

pub use compare::{CompareConfig, Comparison, compare};
pub use diagnostics::{Diagnosis, Summary};
pub use draw_table::DrawTable;
pub use elsewhere::Elsewhere;
pub use error::{Result, WorkflowError};
pub use evaluate::{EvaluateConfig, Evaluation, evaluate};
pub use fit::{FitConfig, Fitted, fit, fit_on};
pub use folds::{FOLDS, MOST_ROWS, TrainedShare};
pub use held_out::TemperatureChoice;
pub use import::{ImportConfig, Imported, export, import};
pub use input::{ColumnChoices, DataFiles};
pub use inspect::{Description, inspect};
pub use predict::{OutputFormat, PredictConfig, Predicted, predict, predict_to_file};
pub use predictor::Predictor;
pub use sample::{SAMPLES_DIRECTORY, Sampled, draw_model, sample, sample_in_memory, sample_model};
pub use sample_config::{MOST_WEIGHTS, SampleConfig};
pub use samplers::{ChainRecord, ChainSummary, Made};
pub use saved::{posterior_of, read_posterior};
pub use take::{Kept, Taken};
pub use train::{
    AUTO_HIDDEN, Baseline, ClassWeight, NetworkChoice, PartScores, Prepared, SearchCost, TrainConfig,
    Trained, Tried, train, train_on,
};
