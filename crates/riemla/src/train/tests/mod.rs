//! Tests of the optimisers, and the problems they share.

mod first_order;
mod problems;
mod record;
