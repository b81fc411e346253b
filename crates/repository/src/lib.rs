//! What concerns the repository as a whole, not published: the Rust code of its pages as documentation tests, and
//! what tests share and need from outside.
//!
//! The library cannot include the pages: they lie outside its package, which has to build on its own.

mod needs;
pub mod scratch;

pub use needs::{data_directory, python};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide-library.md")]
struct Guide;
