//! Several networks that are trained, fitted, sampled, evaluated and used as one.

mod common;

use common::columns;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The predicted probabilities of the first class.
fn probabilities(scratch: &common::Scratch, options: &str) -> Vec<f64> {
    let (head, rows) = columns(&scratch.ok(&format!("predict {options} --data test.csv")));
    let column = head.iter().position(|name| name == "p_north").expect("a column");
    rows.iter().map(|row| row[column].parse().expect("a number")).collect()
}

#[test]
fn members_are_taken_as_one_and_each_is_what_it_would_be_alone() {
    let scratch = common::scratch();
    scratch.moons();
    let trained = json(&scratch.ok("train --data train.csv --hidden 6 --members 3 --out model --json"));
    assert_eq!(trained["members"].as_array().expect("a list").len(), 3);
    // The same network on the same rows from another seed of its weights.
    let seeds: Vec<&Value> = (0..3).map(|k| &trained["members"][k]["training"]["seed"]).collect();
    assert_eq!(seeds, [1, 2, 3]);
    let held_out: Vec<&Value> = (0..3).map(|k| &trained["members"][k]["training"]["held_out"]).collect();
    assert!(held_out[0] == held_out[1] && held_out[1] == held_out[2], "{held_out:?}");
    assert_ne!(scratch.bytes("model/1/weights.safetensors"), scratch.bytes("model/2/weights.safetensors"));
    let alone = scratch.bytes("model/1/weights.safetensors");
    scratch.ok("train --data train.csv --hidden 6 --out alone");
    assert_eq!(alone, scratch.bytes("alone/weights.safetensors"), "the first member is the plain network");

    let fitted = json(&scratch.ok("fit model --data train.csv --json"));
    assert_eq!(fitted["members"].as_array().expect("a list").len(), 3);
    let sampled = json(&scratch.ok("sample posterior -n 10 --seed 4 --json"));
    let draws: Vec<&Value> = (0..3).map(|k| &sampled["members"][k]["draws"]).collect();
    assert_eq!(draws, [4, 4, 4], "ten in all, rounded up");
    assert_eq!((0..3).map(|k| &sampled["members"][k]["seed"]).collect::<Vec<_>>(), [4, 5, 6]);

    // Together they predict the mean of what each predicts.
    let each: Vec<Vec<f64>> = (1..=3).map(|k| probabilities(&scratch, &format!("posterior/{k}"))).collect();
    let together = probabilities(&scratch, "posterior");
    for (row, p) in together.iter().enumerate() {
        let mean = each.iter().map(|member| member[row]).sum::<f64>() / 3.0;
        assert!((p - mean).abs() < 1e-12, "row {row}: {p}, {mean}");
    }
    // By evidence: a mean with other weights, the same in every row.
    let evidence: Vec<f64> =
        (0..3).map(|k| fitted["members"][k]["log_marginal_likelihood"].as_f64().expect("a number")).collect();
    let weights: Vec<f64> = evidence.iter().map(|value| (value - evidence[0]).exp()).collect();
    for (row, p) in probabilities(&scratch, "posterior --member-weights evidence").iter().enumerate() {
        let mean = each.iter().zip(&weights).map(|(member, w)| w * member[row]).sum::<f64>();
        let mean = mean / weights.iter().sum::<f64>();
        assert!((p - mean).abs() < 1e-9, "row {row}: {p}, {mean}");
    }

    let evaluation =
        json(&scratch.ok("evaluate posterior --data test.csv --resamples 20 --report report.html --json"));
    let methods = evaluation["methods"].as_array().expect("a list");
    let names: Vec<&str> = methods.iter().filter_map(|m| m["method"].as_str()).collect();
    assert_eq!(names, ["map", "constant", "map-members", "la-members", "lin-la-members", "riem-la-members"]);
    assert_eq!((&methods[2]["draws"], &methods[5]["draws"]), (&Value::from(3), &Value::from(12)));
    assert!(scratch.read("report.html").contains("riem-la-members"));
    let shown = json(&scratch.ok("inspect posterior --json"));
    assert_eq!((&shown["kind"], &shown["count"]), (&Value::from("members"), &Value::from(3)));
}

#[test]
fn members_of_numbers_disagree_where_there_are_no_data() {
    let scratch = common::scratch();
    scratch.sine();
    scratch.ok("train --data train.csv --target price --task regression --hidden 8 --members 2 --out model");
    scratch.ok("fit model --data train.csv");
    let (head, rows) = columns(&scratch.ok("predict posterior --method map --data test.csv"));
    let column = head.iter().position(|name| name == "epistemic_std").expect("a column");
    // One network alone knows no doubt; two have the doubt of their difference.
    assert!(rows.iter().all(|row| row[column].parse::<f64>().expect("a number") > 0.0));
}

#[test]
fn members_are_replaced_only_if_riemla_wrote_all_of_them() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 4 --members 2 --out model");
    scratch.refuses("train --data train.csv --hidden 4 --out model", &["exists"]);
    scratch.write("model/2/notes.txt", "mine");
    scratch.refuses("train --data train.csv --hidden 4 --out model --force", &["2/notes.txt"]);
    std::fs::remove_file(scratch.join("model/2/notes.txt")).expect("removes");
    scratch.ok("train --data train.csv --hidden 4 --out model --force");
    assert!(!scratch.join("model/members.json").exists() && scratch.join("model/model.json").exists());
}

#[test]
fn what_takes_one_posterior_says_so() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 4 --members 2 --out model");
    scratch.ok("fit model --data train.csv");
    let message = scratch.fails("compare posterior posterior/1");
    assert!(message.contains("2 members") && message.contains("posterior/1"), "{message}");
    std::fs::remove_dir_all(scratch.join("posterior/2")).expect("removes");
    let message = scratch.fails("sample posterior");
    assert!(message.contains("damaged") && message.contains("posterior/2"), "{message}");
}
