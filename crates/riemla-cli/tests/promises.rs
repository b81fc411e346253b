//! What held-out rows promise about predictions: withheld rows, conformal sets and intervals; closed-form predictions.

mod common;

use common::{Scratch, columns};

fn column<'a>(head: &[String], rows: &'a [Vec<String>], name: &str) -> Vec<&'a str> {
    let place = head.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column {name} in {head:?}"));
    rows.iter().map(|row| row[place].as_str()).collect()
}

fn numbers(head: &[String], rows: &[Vec<String>], name: &str) -> Vec<f64> {
    column(head, rows, name).iter().map(|text| text.parse().expect("a number")).collect()
}

/// A posterior of noisy half circles with half of the rows held out.
fn noisy() -> Scratch {
    let scratch = common::scratch();
    for (name, rows, seed) in [("train.csv", 400, 1), ("test.csv", 200, 2)] {
        let data = riemla::data::toy::two_moons(rows, 0.5, seed).expect("data");
        let mut text = String::from("x,y,kind\n");
        for (row, label) in data.inputs().chunks(2).zip(data.labels().expect("classes")) {
            text += &format!("{},{},{}\n", row[0], row[1], ["north", "south"][*label]);
        }
        scratch.write(name, text);
    }
    scratch.ok("train --data train.csv --hidden 8 --validation 0.5 --out model");
    scratch.ok("fit model --data train.csv");
    scratch
}

#[test]
fn rows_are_withheld_and_sets_hold_what_they_promise() {
    let scratch = noisy();
    let (head, rows) = columns(
        &scratch.ok("predict posterior -m la --data test.csv --max-error 0.08 --conformal 0.9 --keep kind"),
    );
    let abstain = numbers(&head, &rows, "abstain");
    let confidence = numbers(&head, &rows, "confidence");
    let (truth, predicted) = (column(&head, &rows, "kind"), column(&head, &rows, "prediction"));
    let answered: Vec<usize> = (0..rows.len()).filter(|i| abstain[*i] == 0.0).collect();
    assert!(answered.len() > 20 && answered.len() < rows.len(), "{}", answered.len());
    let least = answered.iter().map(|i| confidence[*i]).fold(1.0, f64::min);
    assert!((0..rows.len()).filter(|i| abstain[*i] == 1.0).all(|i| confidence[i] < least), "a threshold");
    let wrong = |rows: &[usize]| {
        rows.iter().filter(|i| truth[**i] != predicted[**i]).count() as f64 / rows.len() as f64
    };
    let all: Vec<usize> = (0..rows.len()).collect();
    assert!(
        wrong(&answered) < 0.13 && wrong(&answered) < wrong(&all),
        "{} {}",
        wrong(&answered),
        wrong(&all)
    );
    // 90 % on average over splits; 200 test rows and 200 held-out rows: standard error 0.03.
    let sets = column(&head, &rows, "set");
    let inside = (0..rows.len()).filter(|i| sets[*i].split('|').any(|class| class == truth[*i])).count();
    assert!((0.81..=0.99).contains(&(inside as f64 / 200.0)), "{inside}");
    assert!(
        numbers(&head, &rows, "set_size")
            .iter()
            .zip(&sets)
            .all(|(size, set)| *size == set.split('|').count() as f64)
    );
    let json: serde_json::Value = serde_json::from_str(&scratch.ok(
        "evaluate posterior --data test.csv --max-error 0.08 --conformal 0.9 --resamples 20 --json --report r.html",
    ))
    .expect("JSON");
    let methods = json["methods"].as_array().expect("methods");
    let la = methods.iter().find(|method| method["method"] == "la").expect("la");
    let share = la["selective"]["abstention"]["answered"].as_f64().expect("a share");
    assert!((share - answered.len() as f64 / 200.0).abs() < 1e-12, "{share}");
    assert_eq!(la["selective"]["conformal"]["coverage"].as_f64(), Some(inside as f64 / 200.0));
    let constant = methods.iter().find(|method| method["method"] == "constant").expect("a baseline");
    assert!(constant["scores"]["nll"]["estimate"].as_f64() > la["scores"]["nll"]["estimate"].as_f64());
    let page = scratch.read("r.html");
    for words in ["Answering only when sure", "conformal coverage", "prior precision", "constant"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn intervals_of_numbers_and_what_is_missing() {
    let scratch = common::scratch();
    scratch.sine();
    scratch.ok("train --data train.csv --hidden 8 --validation 0.5 --out model");
    scratch.ok("fit model --data train.csv");
    let (head, rows) = columns(&scratch.ok("predict posterior -m lin-la --data test.csv --conformal 0.9"));
    let bounds = ["conformal_lower", "mean", "conformal_upper"].map(|name| numbers(&head, &rows, name));
    assert!((0..rows.len()).all(|i| bounds[0][i] < bounds[1][i] && bounds[1][i] < bounds[2][i]));
    let message = scratch.fails("predict posterior -m la --data test.csv --max-error 0.1");
    assert!(message.contains("one class per row") && message.contains("--conformal"), "{message}");
    let message = scratch.fails("predict posterior -m la --data test.csv --conformal 0.99");
    assert!(message.contains("at least 99 held-out rows, and there are 40"), "{message}");
    scratch.ok("train --data train.csv --hidden 8 --validation 0 --out whole");
    scratch.ok("fit whole --data train.csv --out p");
    let message = scratch.fails("predict p -m la --data test.csv --conformal 0.9");
    assert!(message.contains("not trained on") && message.contains("--validation"), "{message}");
    scratch.ok("predict p -m la --data test.csv --conformal 0.9 --validation test.csv");
}

#[test]
fn predictions_in_closed_form_and_at_a_temperature() {
    let scratch = noisy();
    let probabilities = |method: &str| {
        let (head, rows) = columns(&scratch.ok(&format!("predict posterior -m {method} --data test.csv")));
        numbers(&head, &rows, "p_north")
    };
    let [closed, drawn, map, scaled] =
        ["lin-la-probit", "lin-la", "map", "map-temperature"].map(probabilities);
    let gap = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // 100 draws against a closed form: the error of a mean of probabilities is below 0.05.
    assert!(gap(&closed, &drawn) < 0.15 && gap(&closed, &map) > 0.01, "{}", gap(&closed, &drawn));
    assert!(
        scaled.iter().zip(&map).all(|(a, b)| (a - 0.5).signum() == (b - 0.5).signum()),
        "the same classes"
    );
    assert!(gap(&scaled, &map) > 1e-6);
    let table = scratch.ok("evaluate posterior --data test.csv --resamples 20 --method lin-la-probit");
    assert!(table.contains("lin-la-probit") && table.contains("constant"), "{table}");
}

/// Held-out rows that the average over draws should be less sure about than it is.
#[test]
fn averages_are_as_sure_as_held_out_rows_say() {
    let scratch = noisy();
    let rows: String = (0..120)
        .map(|i| {
            format!("{},{},{}\n", 0.1 * f64::from(i % 20) - 0.5, 1.0, ["north", "south"][i as usize % 2])
        })
        .collect();
    scratch.write("hard.csv", format!("x,y,kind\n{rows}"));
    let probabilities = |options: &str| {
        let command = format!("predict posterior -m la --data test.csv --validation hard.csv {options}");
        let (head, rows) = columns(&scratch.ok(&command));
        numbers(&head, &rows, "p_north")
    };
    let json: serde_json::Value = serde_json::from_str(
        &scratch.ok("evaluate posterior --data test.csv --validation hard.csv --resamples 20 --json"),
    )
    .expect("JSON");
    let methods = json["methods"].as_array().expect("methods");
    let tempered = methods.iter().find(|method| method["method"] == "la-temperature").expect("it is needed");
    let temperature = tempered["temperature"]["temperature"].as_f64().expect("a number");
    assert!(temperature > 1.5, "{temperature}");
    assert!(json["notes"].to_string().contains("held-out targets: la-temperature"));
    let [plain, by_default, named] =
        ["--temperature 1", "", &format!("--temperature {temperature}")].map(probabilities);
    let logit = |p: f64| (p / (1.0 - p)).ln();
    for ((p, q), same) in plain.iter().zip(&by_default).zip(&named) {
        assert!((logit(*q) - logit(*p) / temperature).abs() < 1e-3 * logit(*p).abs() + 1e-6, "{p} {q}");
        assert!((q - same).abs() < 1e-6, "{q} {same}");
    }
    // Rows that promise something have chosen nothing.
    assert_eq!(probabilities("--conformal 0.9"), plain);
    let refused = scratch.run("predict posterior -m la --data test.csv --temperature 0");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("above 0, or auto"));
    // The trained weights alone stay as they are.
    let map = |options: &str| scratch.ok(&format!("predict posterior -m map --data test.csv {options}"));
    assert_eq!(map("--validation hard.csv"), map("--temperature 1"));
}

#[test]
fn the_report_says_what_is_known_about_draws() {
    let scratch = noisy();
    scratch.ok("sample posterior -n 5 --strength 0.1");
    scratch.ok("evaluate posterior --data test.csv --resamples 20 --report r.html");
    let page = scratch.read("r.html");
    for words in ["The draws", "virial ratio", "Warning about riem-la", "gradients per draw"] {
        assert!(page.contains(words), "{words}");
    }
}

/// Rare and overlapping classes: with equal weights the rare one is hardly ever predicted.
#[test]
fn weights_of_classes_change_the_loss_and_stay_with_the_model() {
    let scratch = common::scratch();
    for (name, rows, seed) in [("train.csv", 600, 1), ("test.csv", 600, 2)] {
        let data = riemla::data::toy::two_moons(rows, 0.8, seed).expect("data");
        let labels = data.labels().expect("classes");
        let mut text = String::from("x,y,kind\n");
        for (i, (row, label)) in data.inputs().chunks(2).zip(labels).enumerate() {
            if *label == 0 || i % 5 == 0 {
                text += &format!("{},{},{}\n", row[0], row[1], ["usual", "rare"][*label]);
            }
        }
        scratch.write(name, text);
    }
    let found = |options: &str| {
        scratch.ok(&format!("train --data train.csv --hidden 8 {options} --out model --force"));
        // The weights are those of the training: else the fit would be refused, or not at a minimum.
        let fitted = scratch.run("fit model --data train.csv --force");
        let message = common::text(&fitted.stderr);
        assert!(fitted.status.success() && !message.contains("warning"), "{message}");
        let (head, rows) = columns(&scratch.ok("predict posterior -m map --data test.csv --keep kind"));
        let (truth, predicted) = (column(&head, &rows, "kind"), column(&head, &rows, "prediction"));
        let hits = (0..rows.len()).filter(|i| truth[*i] == "rare" && predicted[*i] == "rare").count();
        hits as f64 / truth.iter().filter(|kind| **kind == "rare").count() as f64
    };
    let (equal, balanced, named) =
        (found(""), found("--class-weight balanced"), found("--class-weight rare=5"));
    assert!(balanced > equal + 0.2 && named > equal + 0.2, "{equal} {balanced} {named}");
    scratch.ok("sample posterior -n 2 --strength 0.1");
    let message = scratch.fails("train --data train.csv --class-weight odd=2 --out other");
    assert!(message.contains("no class odd") && message.contains("rare, usual"), "{message}");
}
