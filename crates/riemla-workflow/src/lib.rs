//! What the commands of riemla do, without arguments and terminal: for the command, for Python, and for programs.

pub mod demo;
pub mod likelihood;
pub mod method;
mod named;
mod of_run;
pub mod plot;
pub mod report;
pub mod scores;
pub mod setting;
pub mod strength;
pub mod watch;
pub mod workflow;
