//! Damages valid files and hands them to readers, watching for panics and memory.

pub mod damage;
pub mod readers;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use damage::Damage;
use readers::Subject;

/// Most memory that reading one damaged file may take. Valid files have less than 10 kB, readers of
/// tables are told to take 1 MiB at most.
pub const MEMORY: usize = 16 << 20;

/// Counts the memory in use.
pub struct Watching;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(by: usize) {
    let live = LIVE.fetch_add(by, Ordering::Relaxed) + by;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grown(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What came of many damaged files.
pub struct Outcome {
    pub name: &'static str,
    pub inputs: u64,
    /// Inputs that were still read without an error.
    pub accepted: u64,
    pub panics: u64,
    /// The most memory that one input took, in bytes.
    pub memory: usize,
    pub time: Duration,
    /// The first input that ended in a panic or took too much memory, and what it did.
    pub worst: Option<(Vec<u8>, String)>,
}

/// Reads `inputs` damaged files, the same ones every time.
pub fn run(subject: &Subject, inputs: u64) -> Outcome {
    run_all(subject, (0..inputs).map(|case| Damage::new(case).input(&subject.valid)))
}

/// Reads valid files with huge numbers put at one place after another, where a length may be.
pub fn sweep(subject: &Subject) -> Outcome {
    // 2³¹ as a number of variable length, and all bits of four and eight bytes.
    const HUGE: [&[u8]; 3] = [&[0x80, 0x80, 0x80, 0x80, 0x08], &[0xff; 4], &[0xff; 8]];
    // Every place of small files, some of many large ones.
    let step = 1 + subject.valid.iter().map(Vec::len).sum::<usize>() / 15_000;
    let inputs = subject.valid.iter().flat_map(|valid| {
        let places = (0..valid.len()).step_by(step);
        places.flat_map(|at| HUGE.map(|huge| damage::overwritten(valid, at, huge)))
    });
    run_all(subject, inputs)
}

fn run_all(subject: &Subject, inputs: impl Iterator<Item = Vec<u8>>) -> Outcome {
    let begun = Instant::now();
    let (mut count, mut accepted, mut panics, mut memory, mut worst) = (0, 0, 0, 0, None);
    for mut bytes in inputs {
        count += 1;
        if let (Some(repair), true) = (subject.repair, count % 2 == 0) {
            repair(&mut bytes);
        }
        let before = LIVE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| (subject.read)(&bytes)));
        let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
        memory = memory.max(taken);
        match result {
            Ok(fine) => accepted += u64::from(fine),
            Err(_) => panics += 1,
        }
        if worst.is_none() && (panics > 0 || taken > MEMORY) {
            worst = Some((bytes, format!("input {count}: {panics} panics, {taken} bytes of memory")));
        }
    }
    Outcome { name: subject.name, inputs: count, accepted, panics, memory, time: begun.elapsed(), worst }
}
