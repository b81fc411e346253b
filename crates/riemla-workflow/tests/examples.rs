//! The example of a density of one's own runs, resumes, and notices what has changed.

#[path = "../examples/own_density.rs"]
#[allow(dead_code)] // `main` is for `cargo run --example`
mod own_density;

use own_density::{Banana, sample};
use riemla::testing::check_objective;

#[test]
fn a_density_of_ones_own_is_drawn_stored_and_resumed() {
    check_objective(&Banana, &[0.7, -0.2], 1);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("draws.log");
    let few = sample(&log, 1, 8).unwrap();
    let size = std::fs::metadata(&log).unwrap().len();
    assert_eq!(sample(&log, 1, 8).unwrap(), few);
    assert_eq!(std::fs::metadata(&log).unwrap().len(), size, "draws were made again");
    let more = sample(&log, 1, 30).unwrap();
    assert_eq!((more.len(), &more[..8]), (30, &few[..]));
    assert_eq!(sample(&folder.path().join("other.log"), 1, 30).unwrap(), more);
    let error = sample(&log, 2, 8).unwrap_err().to_string();
    assert!(error.contains("seed was 1, but is 2 now"), "{error}");
}
