//! One file per command: its options, and what it does with them.

pub mod demo;
