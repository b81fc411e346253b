//! What the programs `riemla` and `riemla-paper` share: reading arguments, progress, interruption, messages, exit codes.

pub mod arguments;
pub mod failure;
pub mod interrupt;
pub mod output;
pub mod progress;

/// Exit code of a failure. Documented in `riemla --help`; 2 is clap's for mistakes in the arguments.
pub const FAILED: u8 = 1;
/// Exit code of a run that Ctrl-C or SIGTERM ended.
pub const INTERRUPTED: u8 = 130;
