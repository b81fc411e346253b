//! Times and the machine they were taken on.

use std::time::Instant;

/// Seconds per call: the fastest of several runs of at least `least` seconds in all.
pub fn fastest(least: f64, mut f: impl FnMut()) -> f64 {
    f();
    let mut best = f64::INFINITY;
    let start = Instant::now();
    let mut calls = 1usize;
    while start.elapsed().as_secs_f64() < least {
        let run = Instant::now();
        for _ in 0..calls {
            f();
        }
        let seconds = run.elapsed().as_secs_f64();
        best = best.min(seconds / calls as f64);
        // Long enough for the clock, short enough to dodge other work on the machine.
        if seconds < 2e-3 {
            calls *= 2;
        }
    }
    best
}

/// Seconds that this thread has been running, without those in which others had its core; NaN where Linux does not
/// count them.
pub fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.map_or(f64::NAN, |nanoseconds| nanoseconds * 1e-9)
}

/// Processor name and number of cores.
pub fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let name = name.trim_start_matches([' ', '\t', ':']);
    let vectors = match () {
        () if info.contains(" avx512f") => "AVX-512",
        () if info.contains(" avx2") => "AVX2",
        () => "no AVX2",
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {cores} cores, {vectors}")
}
