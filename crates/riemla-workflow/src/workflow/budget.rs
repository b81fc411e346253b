//! Work that ends when the user stops it or its seconds are over, whatever happens inside.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::error::{Result, WorkflowError};

/// How often the clock and the user's flag are looked at.
const PERIOD: Duration = Duration::from_millis(20);

/// Runs `work` with a flag that is set once the user stops or the seconds are over; tells whether
/// they were over. A panic becomes an error, so that the watching thread ends in any case.
pub(super) fn until<A>(
    seconds: Option<f64>,
    stop: &AtomicBool,
    work: impl FnOnce(&AtomicBool) -> Result<A>,
) -> (Result<A>, bool) {
    let (halt, done, late) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
    let watch = || {
        while !done.load(Ordering::Relaxed) {
            let over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            late.fetch_or(over, Ordering::Relaxed);
            if over || stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(PERIOD);
        }
    };
    let result = std::thread::scope(|scope| {
        scope.spawn(watch);
        // What a panic leaves behind is looked at by nobody: draws are on the disk by then.
        let result = catch_unwind(AssertUnwindSafe(|| work(&halt)));
        done.store(true, Ordering::Relaxed);
        result
    });
    let result = result.unwrap_or_else(|panic| Err(WorkflowError::Defect(in_words(&*panic))));
    (result, late.into_inner())
}

/// The message of a panic.
fn in_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown reason".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn a_panic_in_the_work_is_an_error_and_ends_the_watch() {
        let stop = AtomicBool::new(false);
        let (result, late) = until(None, &stop, |_| -> Result<()> { panic!("a bug in draw {}", 7) });
        let message = result.expect_err("a panic").to_string();
        assert!(message.contains("a bug in draw 7") && message.contains("report"), "{message}");
        assert!(!late);
        // On another thread, as most draws are.
        let (result, _) = until(Some(1e6), &stop, |_| {
            (0..8).into_par_iter().for_each(|index| assert!(index != 5, "not this one"));
            Ok(())
        });
        assert!(result.expect_err("a panic").to_string().contains("not this one"));
    }

    #[test]
    fn the_flag_follows_the_clock_and_the_user() {
        let wait = |halt: &AtomicBool| {
            while !halt.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            Ok(())
        };
        assert!(until(Some(0.0), &AtomicBool::new(false), wait).1);
        assert!(!until(Some(1e6), &AtomicBool::new(true), wait).1);
    }
}
