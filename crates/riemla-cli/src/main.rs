//! The command `riemla`.
fn main() {}
