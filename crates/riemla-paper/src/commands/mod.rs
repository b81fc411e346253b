//! One file per command: its options, and what it does with them.

pub mod data;
pub mod reproduce;
