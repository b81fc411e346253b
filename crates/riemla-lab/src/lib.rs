//! Experiments, plots and reports of riemla.

pub mod plot;
pub mod report;
