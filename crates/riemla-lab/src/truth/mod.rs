//! Every method against the truth: exact draws of densities in the plane, Markov chains for networks.

mod chains;
mod density;
mod distance;
mod figures;
mod network;
mod plan;
mod plane;
mod record;
mod report;
mod run;
mod target;
#[cfg(test)]
mod tests;

pub use chains::ChainSummary;
pub use density::Density;
pub use distance::Distances;
pub use plan::{ChainPlan, QuickTruth, TruthPlan};
pub use record::{TruthRecord, TruthRecords, truth_csv};
pub use report::{has_truth, write_truth_report};
pub use run::{TruthRequest, run};
