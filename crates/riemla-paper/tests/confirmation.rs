//! The confirmation on generated tables: from tables to a report, continued where it was left.

mod common;

use riemla::data::toy::two_moons;
use riemla_files::Shard;
use riemla_paper::confirmation::{Plan, Records, Set, Source, run, write_reports};
use riemla_paper::datasets::DataDirs;
use riemla_workflow::watch::Session;
use sha2::{Digest as _, Sha256};

#[test]
fn a_table_that_is_not_there_or_another_one_is_said() {
    let scratch = common::scratch();
    let message = scratch.run("reproduce confirmation --quick --data-dir nowhere --out results");
    let message = common::text(&message.stderr);
    let expected = ["confirmation/crabs.csv", "scripts/confirmation-data", "--data-dir"];
    expected.iter().for_each(|part| assert!(message.contains(part), "{part}: {message}"));
    std::fs::create_dir_all(scratch.join("data/confirmation")).expect("makes");
    scratch.write("data/confirmation/crabs.csv", "a,sex\n1,M\n2,F\n");
    let message = scratch.run("reproduce confirmation --quick --data-dir data --out others");
    let message = common::text(&message.stderr);
    assert!(message.contains("another table"), "{message}");
}

#[test]
fn tables_become_scores_ranks_and_a_page() {
    let scratch = common::scratch();
    let data = two_moons(100, 0.25, 3).expect("data");
    let rows = data.inputs().chunks(2).zip(data.labels().expect("labels"));
    let lines: String =
        rows.map(|(x, label)| format!("{},{},{}\n", x[0], x[1], ["a", "b"][*label])).collect();
    let text = format!("x,y,kind\n{lines}");
    std::fs::create_dir_all(scratch.join("data/confirmation")).expect("makes");
    scratch.write("data/confirmation/moons.csv", &text);
    let sha256 = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut plan = Plan::new(None, true).expect("a plan");
    plan.sets = vec![Set {
        name: "moons".into(),
        source: Source::Table { target: "kind".into(), sha256 },
        ..plan.sets[0].clone()
    }];
    let (out, dirs) = (scratch.join("results"), DataDirs::new(Some(&scratch.join("data"))));
    std::fs::create_dir(&out).expect("makes");
    let shard = Shard::new(1, 1).ok();
    let outcome = run(&plan, &out, &dirs, shard, Session::silent()).expect("runs");
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert!(out.join("confirmation.1-of-1.jsonl").is_file() && !out.join("confirmation.jsonl").exists());
    let found = Records::open(&out).expect("reads");
    let [record] = found.as_slice() else { panic!("{} records", found.as_slice().len()) };
    assert_eq!(record.rows, (60, 30), "70 % of 100 rows, limited to 60; the rest");
    let names: Vec<&str> = record.methods.iter().map(|scored| scored.method.as_str()).collect();
    for name in
        ["map", "la", "lin-la", "riem-la", "lin-la, last layer", "swag", "map-members", "riem-la-members"]
    {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // Nothing is done twice, and what shards did is merged.
    run(&plan, &out, &dirs, None, Session::silent()).expect("runs");
    assert_eq!(Records::open(&out).expect("reads").as_slice(), found.as_slice());
    assert!(out.join("confirmation.jsonl").is_file() && !out.join("confirmation.1-of-1.jsonl").exists());
    let page = std::fs::read_to_string(write_reports(&out).expect("writes")).expect("reads");
    assert!(page.contains("mean rank") && page.contains("riem-la against"), "{page}");
    // Other settings are not mixed with these.
    plan.draws += 1;
    let message = run(&plan, &out, &dirs, None, Session::silent()).expect_err("refused").to_string();
    assert!(message.contains("other settings"), "{message}");
}
