//! The log of draws: nothing complete is ever lost, whatever the file looks like.

mod common;

use std::fs;

use common::{DIM, draws, run};
use riemla::posterior::{Method, PosteriorConfig};
use riemla_files::{Digest, Error, Origin, RunInfo, SampleStore};

#[test]
fn draws_are_kept_in_any_order_and_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("draws.log");
    let all = draws(5);
    let mut store = SampleStore::open(&path, &run()).unwrap();
    assert!(store.is_empty());
    for i in [3, 0, 3, 4] {
        store.append(&all[i]).unwrap();
    }
    assert!(matches!(SampleStore::open(&path, &run()), Err(Error::Busy { .. })));
    drop(store);
    let mut store = SampleStore::open(&path, &run()).unwrap();
    assert_eq!(store.missing(6), [1, 2, 5]);
    assert_eq!(store.read_all().unwrap(), [all[0].clone(), all[3].clone(), all[4].clone()]);
    assert_eq!(store.damaged_bytes(), 0);
    let mut wrong = all[1].clone();
    wrong.theta.push(0.0);
    assert!(matches!(store.append(&wrong), Err(Error::Content { .. })));
}

#[test]
fn a_log_cut_at_any_byte_keeps_every_complete_draw() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("draws.log");
    let all = draws(4);
    let mut store = SampleStore::open(&path, &run()).unwrap();
    let mut ends = vec![];
    for draw in &all {
        store.append(draw).unwrap();
        ends.push(fs::metadata(&path).unwrap().len());
    }
    drop(store);
    let whole = fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let complete = ends.iter().filter(|end| **end <= length as u64).count();
        let mut store = SampleStore::open(&path, &run()).unwrap();
        assert_eq!(store.read_all().unwrap(), all[..complete], "cut at {length}");
        assert_eq!(store.damaged_bytes(), 0, "cut at {length}: unfinished, not damaged");
        // And it goes on from there as if nothing had happened.
        for index in store.missing(4) {
            store.append(&all[index as usize]).unwrap();
        }
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {length}");
    }
}

#[test]
fn damage_in_the_middle_costs_only_the_draw_it_touches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("draws.log");
    let all = draws(3);
    let mut store = SampleStore::open(&path, &run()).unwrap();
    let start = fs::metadata(&path).unwrap().len() as usize;
    let mut last = start;
    for draw in &all {
        last = fs::metadata(&path).unwrap().len() as usize;
        store.append(draw).unwrap();
    }
    drop(store);
    let whole = fs::read(&path).unwrap();
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        fs::write(&path, &damaged).unwrap();
        let opened = SampleStore::open(&path, &run());
        if place < start {
            let error = opened.unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "damage at {place}: {error}");
            assert_eq!(fs::read(&path).unwrap(), damaged, "a damaged header is left alone");
            continue;
        }
        let mut store = opened.unwrap();
        assert_eq!(store.len(), 2, "damage at {place}");
        // A false length at the end cannot be told from a draw that was never finished.
        let length_of_the_last = last + 8..last + 12;
        assert!(store.damaged_bytes() > 0 || length_of_the_last.contains(&place), "damage at {place}");
        for index in store.missing(3) {
            store.append(&all[index as usize]).unwrap();
        }
        assert_eq!(store.read_all().unwrap(), all);
        drop(store);
        assert_eq!(SampleStore::open(&path, &run()).unwrap().read_all().unwrap(), all);
    }
}

#[test]
fn another_run_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("draws.log");
    SampleStore::open(&path, &run()).unwrap().append(&draws(1)[0]).unwrap();
    let stronger = PosteriorConfig { strength: 0.5.into(), ..PosteriorConfig::paper(Method::RiemLa) };
    let other = RunInfo { seed: 6, config: stronger.into(), ..run() };
    let error = SampleStore::open(&path, &other).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }));
    assert!(error.to_string().contains("seed was 5, but is 6 now"), "{error}");
    assert!(error.to_string().contains("config.strength.fixed was 1.0, but is 0.5 now"), "{error}");
    let refitted = Origin { weights: Digest::of_numbers([&[0.25; DIM][..]]), ..run().depends_on };
    let refitted = RunInfo { depends_on: refitted, ..run() };
    assert!(matches!(SampleStore::open(&path, &refitted), Err(Error::Mismatch { .. })));
    assert_eq!(SampleStore::open(&path, &run()).unwrap().len(), 1);
    fs::write(&path, "not a log at all, but long enough to be one").unwrap();
    assert!(matches!(SampleStore::open(&path, &run()), Err(Error::Damaged { .. })));
}
