//! The experiments of the paper, exact posteriors to compare with, and the data sets they need. Not published: it is for
//! those who check and extend the paper, from a clone.

pub mod confirmation;
pub mod datasets;
pub mod experiments;
