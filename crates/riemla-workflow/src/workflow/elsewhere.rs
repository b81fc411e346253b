//! Draws that other processes take.

use std::fmt;
use std::sync::atomic::AtomicBool;

use riemla::posterior::{Draw, PosteriorConfig};

use super::error::Result;

/// Has draws taken in other processes.
pub trait Elsewhere: Send + Sync {
    /// Has the draws with these indices taken from the posterior with these settings, whose strength is a number, and
    /// hands each to `keep` as it arrives; returns those that failed. Ends early once `halt` is set.
    fn take(
        &self,
        settings: &PosteriorConfig,
        indices: &[u64],
        halt: &AtomicBool,
        keep: &dyn Fn(&Draw),
    ) -> Result<Vec<(u64, riemla::Error)>>;
}

impl fmt::Debug for dyn Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("elsewhere")
    }
}
