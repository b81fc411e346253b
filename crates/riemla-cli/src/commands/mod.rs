//! One file per command: its options, and what it does with them.

pub mod compare;
pub mod data;
pub mod demo;
pub mod evaluate;
pub mod fit;
pub mod import;
pub mod inspect;
pub mod predict;
pub mod reproduce;
pub mod sample;
mod sample_reference;
pub mod shared;
pub mod shell;
pub mod train;
