//! Draws shared out among processes: the same bits as from one, whoever dies on the way.

#![cfg(unix)]

mod common;

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use common::Scratch;
use riemla::posterior::Draw;
use riemla_files::SampleStore;
use riemla_files::samples::inspect_log;

const DRAWS: &str = "samples/riem-la/samples.safetensors";

fn start(scratch: &Scratch, arguments: &str) -> Child {
    scratch.riemla(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
}

/// A posterior, and the draws that one thread of one process takes.
fn reference(samples: usize) -> (Scratch, Vec<u8>) {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("fit model --data train.csv --out one");
    scratch.ok(&format!("sample one -n {samples} --threads 1"));
    let draws = scratch.bytes(&format!("one/{DRAWS}"));
    (scratch, draws)
}

#[test]
fn four_processes_at_once_give_the_draws_of_one() {
    let (scratch, expected) = reference(13);
    let run = |k: usize| start(&scratch, &format!("sample posterior -n 13 --shard {k}/4 --threads 1"));
    // The first finds the strength, and the others wait for it.
    let mut processes: Vec<Child> = [2, 3, 4, 1].map(run).into();
    for process in &mut processes {
        assert!(process.wait().expect("ends").success());
    }
    assert!(!scratch.join(&format!("posterior/{DRAWS}")).exists(), "not merged yet");
    let text = scratch.ok("inspect posterior");
    for shard in ["1/4: 4 draws", "2/4: 3 draws", "4/4: 3 draws"] {
        assert!(text.contains(shard), "{shard}: {text}");
    }
    let text = scratch.ok("sample posterior -n 13");
    assert!(text.contains("of which new") && text.contains('0'), "{text}");
    assert_eq!(scratch.bytes(&format!("posterior/{DRAWS}")), expected);
    assert!(!scratch.join("posterior/samples/riem-la/draws.1-of-4.log").exists(), "its draws are in the set");
    // All is there: a shard has nothing to do, and a larger set is shared out in another way.
    scratch.ok("sample posterior -n 13 --shard 2/3");
    scratch.ok("sample posterior -n 15 --shard 1/2");
    let text = scratch.ok("sample posterior -n 15 --json");
    assert!(text.contains("\"new_draws\": 1"), "{text}");
}

/// Also where the strength is given: the length of the draws is found by the first shard and kept for all.
#[test]
fn draws_on_batches_have_one_length_in_all_processes() {
    let (scratch, _) = reference(1);
    scratch.ok("fit model --data train.csv --out resumed");
    for (name, strength) in [("searched", ""), ("given", " --strength 0.3")] {
        let sample = |posterior: &str, more: &str| {
            scratch.ok(&format!("sample {posterior} --batch 20 --name {name}{strength} {more}"))
        };
        let file = |posterior: &str, file: &str| scratch.bytes(&format!("{posterior}/samples/{name}/{file}"));
        let text = sample("one", "-n 5 --threads 1");
        assert!(text.contains("length of the draws"), "{text}");
        let expected = file("one", "samples.safetensors");
        let mut second =
            start(&scratch, &format!("sample posterior -n 5 --batch 20 --name {name}{strength} --shard 2/2"));
        sample("posterior", "-n 5 --shard 1/2");
        assert!(second.wait().expect("ends").success());
        sample("posterior", "-n 5");
        assert_eq!(file("posterior", "samples.safetensors"), expected);
        sample("resumed", "-n 2");
        let found = common::text(&file("resumed", "calibration.json"));
        assert!(found.replace(' ', "").contains("\"length\":0."), "{found}");
        sample("resumed", "-n 5");
        assert_eq!(file("resumed", "samples.safetensors"), expected);
    }
    scratch.ok("sample one -n 5 --batch 20 --strength 0.3 --batch-length full");
    let set = "one/samples/riem-la-batches";
    let full = scratch.bytes(&format!("{set}/samples.safetensors"));
    assert_ne!(full, scratch.bytes("one/samples/given/samples.safetensors"));
    assert!(!scratch.join(&format!("{set}/calibration.json")).exists(), "nothing was to be found");
}

#[test]
fn killed_shards_lose_nothing_but_the_draws_under_way() {
    let (scratch, expected) = reference(24);
    // Any split, any moment: twelve kills.
    for (kill, of) in [2usize, 3, 5].iter().flat_map(|of| (0..4).map(move |kill| (kill, *of))) {
        let victim = kill % of + 1;
        let mut process =
            start(&scratch, &format!("sample posterior -n 24 --shard {victim}/{of} --threads 1"));
        std::thread::sleep(Duration::from_millis(3 + 17 * kill as u64));
        process.kill().expect("is killed, or has ended");
        process.wait().expect("ends");
    }
    for k in 1..=3 {
        scratch.ok(&format!("sample posterior -n 24 --shard {k}/3 -q"));
    }
    scratch.ok("sample posterior -n 24 -q");
    assert_eq!(scratch.bytes(&format!("posterior/{DRAWS}")), expected);
}

#[test]
fn draws_of_another_kind_of_processor_are_pointed_out() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 4 --strength 0.5 --shard 1/2");
    let set = scratch.join("posterior/samples/riem-la");
    let first = set.join("draws.1-of-2.log");
    let run = inspect_log(&first).expect("a log").run;
    let mut store = SampleStore::open(&first, &run).expect("opens");
    let draws = store.read_all().expect("reads");
    assert!(draws.iter().all(|draw| draw.processor.starts_with(std::env::consts::ARCH)), "{draws:?}");
    drop(store);
    let mut other = SampleStore::open(&set.join("draws.2-of-2.log"), &run).expect("begins");
    let strange = Draw { index: 1, processor: "pdp11".into(), ..draws[0].clone() };
    other.append(&strange).expect("appends");
    drop(other);
    let output = scratch.run("sample posterior -n 4 --strength 0.5");
    let said = common::text(&output.stderr);
    assert!(said.contains("different kinds of processors (1 on pdp11; 3 on "), "{said}");
    let text = scratch.ok("inspect posterior/samples/riem-la");
    assert!(text.contains("pdp11") && text.contains("different kinds of processors"), "{text}");
    // It comes from the files of the set as well, without a log.
    let log = set.join("draws.log");
    fs::remove_file(log).expect("removes");
    assert!(common::text(&scratch.run("sample posterior -n 5 --strength 0.5").stderr).contains("pdp11"));
}

#[test]
fn mistakes_are_refused() {
    let scratch = common::scratch();
    scratch.posterior();
    let mut running = start(&scratch, "sample posterior -n 1000000 --strength 0.5 --polish 0 --shard 2/4");
    let log = scratch.join("posterior/samples/riem-la/draws.2-of-4.log");
    while fs::metadata(&log).map_or(0, |m| m.len()) < 2000 {
        assert!(running.try_wait().expect("asks").is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    for other in ["--shard 2/4", ""] {
        let message = scratch.fails(&format!("sample posterior -n 10 --strength 0.5 --polish 0 {other}"));
        assert!(message.contains("in use by another process"), "{other}: {message}");
    }
    scratch.ok("sample posterior -n 9 --strength 0.5 --polish 0 --shard 1/4");
    running.kill().expect("kills");
    running.wait().expect("ends");
    let message = scratch.fails("sample posterior -n 10 --strength 0.5 --polish 0 --seed 9 --shard 3/4");
    assert!(message.contains("seed"), "{message}");
    let message = scratch.fails("sample posterior -m nuts --shard 1/2");
    assert!(message.contains("not divided"), "{message}");
    let message = scratch.fails("sample posterior --shard auto");
    assert!(message.contains("finds no launcher") && message.contains("K/N"), "{message}");
    let output = scratch.run("sample posterior --shard 5/4");
    assert_eq!(output.status.code(), Some(2));
    assert!(common::text(&output.stderr).contains("numbered from 1"));
    let mut by_mpi = scratch.riemla("sample posterior -n 9 --strength 0.5 --polish 0 --shard auto");
    by_mpi.env("OMPI_COMM_WORLD_RANK", "2").env("OMPI_COMM_WORLD_SIZE", "4");
    let output = by_mpi.output().expect("runs");
    assert!(common::text(&output.stderr).contains("Shard 3/4: 2 draws"), "{}", common::text(&output.stderr));
    scratch.ok("fit model --data train.csv --force");
    assert!(!log.exists(), "logs of shards are ours to replace");
}
