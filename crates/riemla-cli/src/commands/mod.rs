//! One file per command: its options, and what it does with them.

pub mod arguments;
pub mod compare;
pub mod demo;
pub mod evaluate;
pub mod fit;
pub mod import;
pub mod inspect;
pub mod paper;
pub mod predict;
pub mod sample;
mod sample_reference;
pub mod shared;
pub mod shell;
pub mod train;
