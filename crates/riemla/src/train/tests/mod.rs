//! Tests of the optimisers, and the problems they share.

mod first_order;
mod lbfgs;
mod minibatch;
mod problems;
mod record;
