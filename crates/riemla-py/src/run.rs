//! Long work: off the interpreter's lock, on threads of its own, with progress, and ended by Ctrl-C.

use std::any::Any;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use riemla_workflow::watch::{Session, Watch};

/// How long the calling thread waits before it looks for signals and shows progress.
const SLICE: Duration = Duration::from_millis(100);
/// Runs the interpreter once: a signal that arrived while the lock was released is else noticed late.
const NOTHING: &CStr = c"pass";

/// What happened since the caller last looked.
#[derive(Default)]
struct News {
    events: Vec<(&'static str, String, u64)>,
    done: bool,
}

/// Collects progress from any thread.
#[derive(Default)]
struct Board {
    news: Mutex<News>,
    changed: Condvar,
}

impl Board {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of the work, or a slice; tells whether it is over and what happened.
    fn wait(&self) -> News {
        let waiting = |news: &mut News| !news.done;
        let (mut news, _) = self
            .changed
            .wait_timeout_while(self.news(), SLICE, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        News { events: std::mem::take(&mut news.events), done: news.done }
    }

    fn finish(&self) {
        self.news().done = true;
        self.changed.notify_all();
    }
}

impl Watch for Board {
    fn begin(&self, stage: &str, total: u64) {
        self.news().events.push(("begin", stage.into(), total));
    }

    fn step(&self) {
        let mut news = self.news();
        match news.events.last_mut() {
            Some(("step", _, count)) => *count += 1,
            _ => news.events.push(("step", String::new(), 1)),
        }
    }

    fn note(&self, text: &str) {
        self.news().events.push(("note", text.into(), 0));
    }

    fn estimate(&self, text: &str) {
        self.news().events.push(("estimate", text.into(), 0));
    }
}

/// What the Python side hands to every long call.
#[derive(Default)]
pub struct Caller<'a> {
    /// Threads to use; as many as there are cores if none.
    pub threads: Option<usize>,
    /// Called with (event, text, number) on the calling thread, if progress is wanted.
    pub watcher: Option<&'a Bound<'a, PyAny>>,
}

/// Runs `work` on a pool of its own. Ctrl-C sets the flag; `work` then returns what is finished or an error.
pub fn run<T: Send>(
    py: Python<'_>,
    caller: &Caller<'_>,
    work: impl FnOnce(Session<'_>) -> PyResult<T> + Send,
) -> PyResult<T> {
    if caller.threads == Some(0) {
        return Err(PyValueError::new_err("n_threads is 0, but must be at least 1, or None for all cores"));
    }
    let (stop, board, threads) = (AtomicBool::new(false), Board::default(), caller.threads);
    let begin = || {
        // Not the global pool: a forked child would wait for threads that only its parent has. Joined at the end: a
        // thread that is left over when the interpreter ends would end the process.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
        pool.build_scoped(known_to_python, |pool| pool.install(|| work(Session::new(&stop, &board))))
            .map_err(|error| PyValueError::new_err(format!("threads cannot be started: {error}")))?
    };
    let mut trouble = None;
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // What a panic leaves behind is looked at by nobody.
            let result = catch_unwind(AssertUnwindSafe(begin));
            board.finish();
            result
        });
        loop {
            let News { events, done } = py.detach(|| board.wait());
            if let Err(error) = look(py, caller, events) {
                stop.store(true, Ordering::Relaxed);
                trouble.get_or_insert(error);
            }
            if done {
                break py.detach(|| worker.join());
            }
        }
    });
    let result =
        result.unwrap_or_else(Err).unwrap_or_else(|panic| Err(crate::errors::defect(&message(&*panic))));
    match (result, trouble) {
        // Interrupted, but there is something to return: it says so itself.
        (Ok(value), Some(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(value),
        (Err(_), Some(error)) | (Ok(_), Some(error)) => Err(error),
        (result, None) => result,
    }
}

/// Keeps one thread state of the interpreter for the life of a thread: callbacks find their thread-local values again, and
/// are cheaper.
fn known_to_python(thread: rayon::ThreadBuilder) {
    Python::attach(|py| py.detach(|| thread.run()));
}

/// Runs short work on the calling thread; a panic becomes an exception.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(crate::errors::defect(&message(&*panic))))
}

/// Panics, on this thread or on one of a pool: for the test that this is an exception.
#[pyfunction]
pub fn provoke_defect(py: Python<'_>, elsewhere: bool) -> PyResult<()> {
    if elsewhere {
        return run(py, &Caller::default(), |_| panic!("provoked elsewhere"));
    }
    guarded(|| panic!("provoked here"))
}

/// Shows progress and looks for signals.
fn look(py: Python<'_>, caller: &Caller<'_>, events: Vec<(&'static str, String, u64)>) -> PyResult<()> {
    py.run(NOTHING, None, None)?;
    py.check_signals()?;
    for (event, text, number) in events {
        if let Some(watcher) = caller.watcher {
            watcher.call1((event, text, number))?;
        }
    }
    Ok(())
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown reason".into())
}
