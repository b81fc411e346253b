//! One file per command: its options, and what it does with them.

pub mod demo;
pub mod fit;
pub mod predict;
pub mod sample;
pub mod shared;
pub mod train;
