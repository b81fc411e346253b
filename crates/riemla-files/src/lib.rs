//! Everything of riemla that touches files: tables and images in, models, posteriors and draws
//! in and out. The formats are described in docs/formats.md.
//!
//! Readers check lengths against the bytes that are really there before they allocate. Writers
//! put complete files in place in one step. Errors name the file, the place in it and the remedy.

pub mod atomic;
mod checksum;
pub mod data;
pub mod encoding;
mod error;
pub mod identity;
pub mod idx;
pub mod json;
mod locks;
pub mod members;
pub mod model;
pub mod onnx;
mod open;
pub mod ours;
pub mod output;
pub mod posterior;
pub mod samples;
pub mod spec;
pub mod state_dict;
pub mod table;
pub mod tensors;
mod words;

pub use data::TrainingData;
pub use encoding::{Encoding, EncodingOptions, Task};
pub use error::{Error, Result};
pub use identity::{Digest, FittedTo, Origin};
pub use idx::{LabelRange, read_images};
pub use locks::Turn;
pub use model::{HeldOut, Model, TrainingRecord};
pub use onnx::{ImportedNetwork, import_onnx};
pub use open::{CsvOptions, Format, ReadOptions, Source};
pub use ours::Kind;
pub use output::{Existing, InUse, OutputDirectory, OutputFile};
pub use posterior::SavedPosterior;
pub use samples::{RunConfig, RunInfo, SampleStore, Shard};
pub use spec::{ModelSpec, read_model_spec};
pub use state_dict::{ImportedWeights, import_state_dict, write_state_dict};
pub use table::{ColumnKinds, CsvReader, Table, read_table};
