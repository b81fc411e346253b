//! Tests of the optimisers, and the problems they share.

mod first_order;
mod lbfgs;
mod problems;
mod record;
