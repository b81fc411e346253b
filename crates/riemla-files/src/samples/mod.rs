//! Draws on disk: a log that grows draw by draw, and finished sets for others to read.

mod config;
mod payload;
mod record;
mod set;
mod shards;
mod store;

pub use config::RunConfig;
pub use payload::{decode_draw, encode_draw};
pub use record::{DrawRecord, RunInfo};
pub use set::{
    SAMPLES_FILE, SAMPLES_LINES_FILE, SAMPLES_TENSORS_FILE, SavedSamples, read_samples, write_samples,
};
pub use shards::{Shard, drawn_elsewhere, shard_logs};
pub use store::{LogSummary, SampleStore, inspect_log};
