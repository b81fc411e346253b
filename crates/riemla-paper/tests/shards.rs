//! Cells of an experiment shared out among processes: the same results as from one, whoever dies on the way.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use common::{Scratch, content};

const RUN: &str = "reproduce pinwheel --quick --preset paper --preset calibrated --seeds 2 --samples 3";

fn start(scratch: &Scratch, arguments: &str) -> Child {
    scratch.riemla(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
}

/// All weights, those trained and those drawn.
fn all_weights(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = content(root);
    found.retain(|name, _| name.ends_with(".safetensors"));
    found
}

/// The scores of a run, without times.
fn scores(csv: &str) -> Vec<String> {
    csv.lines().map(|line| line.split(',').take(7).collect::<Vec<_>>().join(",")).collect()
}

#[test]
fn processes_that_share_the_cells_give_the_results_of_one() {
    let scratch = common::scratch();
    scratch.ok(&format!("{RUN} --out one"));
    // In a new directory at the same time; one is killed and never comes back.
    let part = |k: usize| start(&scratch, &format!("{RUN} --out many --shard {k}/3 --threads 1"));
    let mut processes: Vec<Child> = [1, 2, 3].map(part).into();
    std::thread::sleep(Duration::from_millis(300));
    processes[1].kill().expect("is killed, or has ended");
    for (number, process) in processes.iter_mut().enumerate() {
        let status = process.wait().expect("ends");
        assert!(number == 1 || status.success(), "shard {}", number + 1);
    }
    for shard in [1, 3] {
        assert!(scratch.join(&format!("many/runs.{shard}-of-3.jsonl")).is_file(), "{shard}");
    }
    assert!(!scratch.join("many/report.html").exists() && !scratch.join("many/runs.jsonl").exists());
    // What is there can be reported before all is done, and nothing is merged by that.
    scratch.ok("reproduce report many");
    assert!(scores(&scratch.read("many/results.csv")).len() < scores(&scratch.read("one/results.csv")).len());
    assert!(scratch.join("many/runs.1-of-3.jsonl").is_file());
    scratch.ok(&format!("{RUN} --out many --resume"));
    assert!(!scratch.join("many/runs.1-of-3.jsonl").exists(), "merged");
    assert_eq!(scores(&scratch.read("many/results.csv")), scores(&scratch.read("one/results.csv")));
    let (one, many) = (all_weights(&scratch.join("one")), all_weights(&scratch.join("many")));
    assert_eq!(one.keys().collect::<Vec<_>>(), many.keys().collect::<Vec<_>>());
    assert!(one == many, "other weights");
    // All is done: a shard has nothing to do.
    let before = scratch.bytes("many/runs.jsonl");
    scratch.ok(&format!("{RUN} --out many --shard 2/2"));
    assert_eq!(scratch.bytes("many/runs.jsonl"), before);
}

#[test]
fn mistakes_are_refused() {
    let scratch = common::scratch();
    let message = scratch.fails(&format!("{RUN} --out x --shard auto"));
    assert!(message.contains("finds no launcher"), "{message}");
    fs::create_dir(scratch.join("mine")).expect("makes");
    scratch.write("mine/notes.txt", "of the user");
    scratch.refuses(&format!("{RUN} --out mine --shard 1/2"), &["did not write"]);
    let mut by_mpi = scratch.riemla(&format!("{RUN} --out r --shard auto"));
    by_mpi.env("OMPI_COMM_WORLD_RANK", "1").env("OMPI_COMM_WORLD_SIZE", "30");
    let output = by_mpi.output().expect("runs");
    assert!(common::text(&output.stderr).contains("Shard 2/30: Done"), "{}", common::text(&output.stderr));
}
