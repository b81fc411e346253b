//! Measures speed and accuracy and writes docs/performance.md:
//! `cargo bench -p riemla-workflow --bench performance [-- --quick] [-- --out DIR]`; `-- fits`, `-- single` and
//! `-- draws` print those sections alone; `-- --old PROGRAM` adds what an older build takes ([`before`]). The
//! row for MNIST needs the data (`$RIEMLA_DATA_DIR`, or ../shared/data), the rows of other programs what `peers.rs` says.

mod before;
mod defaults;
mod evaluation;
mod fits;
mod integrators;
mod model;
mod peers;
mod scaling;
mod single;
mod timing;

use std::fmt::Write as _;
use std::path::PathBuf;

const INTRODUCTION: &str = "# Performance

Written by `cargo bench -p riemla-workflow --bench performance`; do not edit. Times are the CPU time of one
thread unless said otherwise, double precision unless said otherwise, the fastest of several repetitions. Ratios were
measured in one run.
";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let quick = arguments.iter().any(|a| a == "--quick");
    let after = |name: &str| arguments.iter().position(|a| a == name).and_then(|i| arguments.get(i + 1));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("RIEMLA_DATA_DIR").map_or(root.join("../shared/data"), PathBuf::from);
    if let Some(index) = after("fit-row") {
        return fits::child(index.parse().unwrap_or_else(|_| panic!("not a number: {index}")));
    }
    if let [_, command, index, strength, exact] = &arguments[..]
        && command == "draw-row"
    {
        let index = index.parse().unwrap_or_else(|_| panic!("not a number: {index}"));
        return before::child(&root, &data, index, strength.parse().ok(), exact == "converged");
    }
    if arguments.iter().any(|a| a == "fits") {
        return println!("{}", fits::section(quick, after("--old")));
    }
    if arguments.iter().any(|a| a == "single") {
        return println!("{}{}", evaluation::large(), single::section(&data, quick));
    }
    if let (true, Some(old)) = (arguments.iter().any(|a| a == "draws"), after("--old")) {
        return println!("{}", before::section(old));
    }
    let out = after("--out").map_or(root.join("docs"), PathBuf::from);
    let mut page = INTRODUCTION.to_string();
    let _ = writeln!(page, "\nMachine: {}; riemla {}.\n", timing::machine(), env!("CARGO_PKG_VERSION"));
    page += &evaluation::section();
    let peers = peers::Peers::find(&root);
    page += &peers.evaluation_section(quick);
    let count = if quick { 2 } else { 6 };
    let banana = model::banana(&root);
    let mut by_default = defaults::banana(&banana, 2 * count);
    by_default.extend(defaults::images(&data, quick));
    let (text, first) = defaults::section(&by_default);
    page += &text;
    if let Some(old) = after("--old") {
        page += &before::section(old);
    }
    let family = &by_default[0].family;
    let metric = (family.precision, family.strength);
    page += &peers.geodesics_section(&root, metric, first.milliseconds);
    let (paper, weaker) =
        (integrators::families(&banana, 1.0, count), integrators::families(&banana, 0.1, count));
    page += &integrators::samples_section(&paper, &weaker);
    let (text, svg) = integrators::work_precision_section(&paper);
    page += &text;
    page += &scaling::section(&root, quick);
    page += &single::section(&data, quick);
    page += &fits::section(quick, after("--old"));
    let written = std::fs::create_dir_all(out.join("images"))
        .and_then(|()| std::fs::write(out.join("performance.md"), &page))
        .and_then(|()| std::fs::write(out.join("images/work-precision.svg"), &svg));
    if let Err(error) = written {
        eprintln!("cannot write to {}: {error}", out.display());
        std::process::exit(1);
    }
    println!("{page}");
}
