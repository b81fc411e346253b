//! Experiments, plots and reports of riemla.

pub mod datasets;
pub mod demo;
pub mod experiments;
pub mod method;
pub mod plot;
pub mod report;
pub mod scores;
pub mod setting;
pub mod strength;
pub mod watch;
pub mod workflow;
