//! Running `riemla-paper` in a directory of its own.
#![allow(unused_imports)] // each test binary uses its own part

pub use riemla_repository::scratch::{Scratch, content, text};

pub fn scratch() -> Scratch {
    Scratch::of(env!("CARGO_BIN_EXE_riemla-paper"))
}
