//! Random bytes and damaged valid files: no reader panics or takes much memory.
//!
//! `RIEMLA_FUZZ_CASES` sets the number of inputs per reader (2000 unless told). The table in
//! docs/reliability.md is written by
//! `RIEMLA_FUZZ_CASES=1000000 cargo test --release -p riemla-files --test fuzz -- --ignored`.

mod common;
mod fuzzing;

use std::fmt::Write as _;
use std::path::Path;

use fuzzing::{MEMORY, Outcome, Watching, readers, run, sweep};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

fn cases() -> u64 {
    std::env::var("RIEMLA_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

/// Keeps an input that did harm, for whoever looks into it.
fn check(outcome: &Outcome) {
    if let Some((bytes, what)) = &outcome.worst {
        let path = std::env::temp_dir().join(format!("riemla-fuzz-{}.bin", outcome.name.replace(' ', "-")));
        std::fs::write(&path, bytes).unwrap();
        panic!("{}: {what}; the input is in {}", outcome.name, path.display());
    }
}

/// One test, not one per reader: memory is counted for the whole process.
#[test]
fn no_reader_panics_or_takes_much_memory() {
    for subject in readers::all() {
        for (i, valid) in subject.valid.iter().enumerate() {
            let refused = matches!(subject.name, "Parquet" | "ONNX") && !(subject.read)(valid);
            // These show what is refused: missing values, times, and weights in a second file.
            assert!((subject.read)(valid) || refused, "{} {i}", subject.name);
        }
        check(&sweep(&subject));
        check(&run(&subject, cases()));
    }
}

#[test]
#[ignore = "takes long; writes docs/reliability.md"]
fn write_the_table_of_reliability() {
    // Panics would flood the terminal; they are counted.
    std::panic::set_hook(Box::new(|_| {}));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
    // The rest of the page is python/benchmarks/kills.py's.
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let kills = page.find("<!-- kills").map(|place| format!("\n{}", &page[place..])).unwrap_or_default();
    let mut outcomes = Vec::new();
    for subject in readers::all() {
        outcomes.push(run(&subject, cases()));
        std::fs::write(&path, format!("{}{kills}", table(&outcomes))).unwrap();
    }
    let _ = std::panic::take_hook();
    outcomes.iter().for_each(check);
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "# Reliability of the readers\n\n\
         Written by `RIEMLA_FUZZ_CASES=1000000 cargo test --release -p riemla-files --test fuzz -- --ignored`;\n\
         do not edit.\n\n\
         Every reader was given damaged files: valid files with flipped bits, wrong lengths, inserted tokens, and\n\
         parts that were removed, repeated or mixed; and random noise. In half of the cases the checksums were\n\
         recomputed, so that the reader sees the damage. In the other half the checksum refuses all damage.\n\
         The cases are the same in every run. A short run is part of the tests.\n\n\
         | reader | inputs | still valid | panics | most memory for one input | seconds |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for Outcome { name, inputs, accepted, panics, memory, time, .. } in outcomes {
        let (memory, time) = (memory.div_ceil(1024), time.as_secs_f64());
        let _ = writeln!(text, "| {name} | {inputs} | {accepted} | {panics} | {memory} KiB | {time:.0} |");
    }
    let _ = writeln!(
        text,
        "\nThe valid files are smaller than 10 kB. Readers of tables were limited to 1 MiB (default: 4 GiB). The run\n\
         fails if one input takes more than {} MiB. An endless loop would show as a run that does not end. Seconds\n\
         are wall-clock time on a machine that was also doing other work.",
        MEMORY >> 20
    );
    text
}
