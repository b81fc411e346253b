//! Tables that are not quite what they should be, through all commands.

mod common;

use common::{Scratch, columns, text};
use riemla::data::toy;
use serde_json::Value;

/// What a command that succeeds says on stderr.
fn said(scratch: &Scratch, arguments: &str) -> String {
    let output = scratch.run(arguments);
    assert_eq!(output.status.code(), Some(0), "riemla {arguments}: {}", text(&output.stderr));
    text(&output.stderr)
}

/// The half circles with a column of categories, in which every entry goes through `entry`.
fn colored(scratch: &Scratch, name: &str, rows: usize, entry: impl Fn(usize, &str) -> String) {
    let data = toy::two_moons(rows, 0.25, 3).expect("data");
    let labels = data.labels().expect("classes");
    let mut table = String::from("x,y,color,kind\n");
    for (i, (row, label)) in data.inputs().chunks(2).zip(labels).enumerate() {
        let color = ["red", "green", "blue"][(i + label) % 3];
        let cells = [row[0].to_string(), row[1].to_string(), color.into()].map(|cell| entry(i, &cell));
        table += &format!("{},{}\n", cells.join(","), ["north", "south"][*label]);
    }
    scratch.write(name, table);
}

#[test]
fn a_column_of_numbers_with_an_odd_entry_is_refused_by_name() {
    let scratch = common::scratch();
    scratch.moons();
    let mut lines: Vec<String> = scratch.read("train.csv").lines().map(str::to_string).collect();
    lines[4] = "0.5,0x10,north".into();
    scratch.write("odd.csv", lines.join("\n"));
    let message = scratch.fails("train --data odd.csv --hidden 3 --out model");
    let place = "odd.csv, line 5, column `y`: `0x10`";
    for part in [place, "120 of 120 values", "--ignore y", "--categorical y"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!scratch.join("model").exists());
    assert!(scratch.ok("inspect odd.csv").contains(place));
    let notes = said(&scratch, "train --data odd.csv --hidden 3 --iterations 20 --categorical y --out model");
    assert!(notes.contains("120 different values"), "{notes}");
    said(&scratch, "train --data odd.csv --hidden 3 --iterations 20 --ignore y --out model2");
    scratch.write("date.csv", "when,kind\n2024-01-31,a\n2024-02-01,b\n2024-02-02,a\n");
    let message = scratch.fails("train --data date.csv --hidden 3 --out model3");
    assert!(message.contains("line 2, column `when`") && message.contains("date"), "{message}");
}

#[test]
fn files_of_spreadsheets_give_the_same_model() {
    let scratch = common::scratch();
    scratch.moons();
    for name in ["train", "test"] {
        let plain = scratch.read(&format!("{name}.csv"));
        let commas = plain.replace(',', ";").replace('.', ",").replace('\n', "\r");
        scratch.write(&format!("{name}-sheet.csv"), format!("\u{feff}{commas}"));
        scratch.write(&format!("{name}.tsv"), plain.replace(',', "\t").replace('\n', "\r\n"));
    }
    let train = |data: &str, out: &str| format!("train --data {data} --hidden 3 --iterations 20 --out {out}");
    scratch.ok(&train("train.csv", "plain"));
    scratch.ok(&train("train.tsv", "tabs"));
    scratch.ok(&(train("train-sheet.csv", "sheet") + " --decimal-comma"));
    let message = scratch.fails(&train("train-sheet.csv", "wrong"));
    assert!(message.contains("line 2, column `x`") && message.contains("--decimal-comma"), "{message}");
    for model in ["tabs", "sheet"] {
        for file in ["model.json", "weights.safetensors"] {
            let read = |model: &str| scratch.bytes(&format!("{model}/{file}"));
            assert_eq!(read(model), read("plain"), "{model}/{file}");
        }
    }
    scratch.ok("fit plain --data train-sheet.csv --decimal-comma");
    let plain = scratch.ok("predict posterior --method map --data test.csv");
    assert_eq!(scratch.ok("predict posterior --method map --data test.tsv"), plain);
    let sheet = "--data test-sheet.csv --decimal-comma --delimiter ;";
    assert_eq!(scratch.ok(&format!("predict posterior --method map {sheet}")), plain);
    let message = scratch.fails("predict posterior --method map --data test.tsv --delimiter ,");
    assert!(message.contains("missing column `x`, `y`"), "{message}");
    // Options of reading have a heading of their own, and no others are under it.
    let help = scratch.ok("inspect --help");
    let (others, reading) = help.split_once("Reading data:").expect("a heading");
    assert!(
        others.contains("--json") && reading.contains("--max-size") && !reading.contains("Print"),
        "{help}"
    );
    let output = scratch.run("predict posterior --method map --data test.tsv --delimiter ab");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn missing_values_are_treated_as_in_training() {
    let scratch = common::scratch();
    let gap = |i: usize, cell: &str| if i % 10 == 7 { String::new() } else { cell.to_string() };
    colored(&scratch, "train.csv", 100, gap);
    let message = scratch.fails("train --data train.csv --hidden 3 --out model");
    let parts = ["train.csv, line 9, column `x`", "missing value", "--missing impute"];
    parts.iter().for_each(|part| assert!(message.contains(part), "{part}: {message}"));
    // More than a piece of the file in which all are missing.
    colored(&scratch, "new.csv", 2500, |i, cell| if i < 2100 { "NA".into() } else { cell.into() });
    for (missing, inputs) in [("impute", 5), ("indicator", 8)] {
        let train = format!("train --data train.csv --hidden 3 --missing {missing} --out {missing} --json");
        let trained: Value = serde_json::from_str(&scratch.ok(&train)).expect("JSON");
        assert!(trained["network"]["input"].to_string().contains(&inputs.to_string()), "{trained}");
        let notes = trained["notes"].to_string();
        assert!(notes.contains("`x`: 10 missing values") && notes.contains("`color`: 10 missing"), "{notes}");
        let notes = said(&scratch, &format!("fit {missing} --data train.csv --out p-{missing}"));
        assert!(notes.contains("train.csv: column `y`: 10 missing values"), "{notes}");
        let predict = format!("predict p-{missing} --method map --data new.csv --keep x --out {missing}.csv");
        let notes = said(&scratch, &predict);
        assert!(notes.contains("new.csv: column `x`: 2100 missing values"), "{notes}");
        let (_, rows) = columns(&scratch.read(&format!("{missing}.csv")));
        assert!(rows.len() == 2500 && rows[0][0].is_empty() && rows[0][1..] == rows[1][1..], "{:?}", rows[0]);
    }
    // A model that was trained without them knows nothing of them.
    colored(&scratch, "whole.csv", 100, |_, cell| cell.into());
    scratch.ok("train --data whole.csv --hidden 3 --iterations 20 --out whole");
    scratch.ok("fit whole --data whole.csv --out p-whole");
    let message = scratch.fails("predict p-whole --method map --data new.csv");
    assert!(message.contains("new.csv, line 2, column `x`: missing value"), "{message}");
}

#[test]
fn categories_of_any_number_are_trained_on_and_unknown_ones_predicted() {
    let scratch = common::scratch();
    colored(&scratch, "train.csv", 150, |i, cell| match cell {
        "red" | "green" | "blue" => format!("name{}", i % 140),
        number => number.into(),
    });
    let notes = said(&scratch, "train --data train.csv --hidden 3 --iterations 20 --out model");
    assert!(notes.contains("140 different values") && notes.contains("treated as other"), "{notes}");
    colored(&scratch, "few.csv", 60, |_, cell| cell.into());
    scratch.ok("train --data few.csv --hidden 3 --iterations 20 --out few");
    for model in ["model", "few"] {
        let data = if model == "few" { "few.csv" } else { "train.csv" };
        scratch.ok(&format!("fit {model} --data {data} --out p-{model}"));
        scratch.write("new.csv", "x,y,color\n0,0,mauve\n0,1,mauve\n0,1,beige\n");
        let notes = said(&scratch, &format!("predict p-{model} --method map --data new.csv --out out.csv"));
        let counted =
            notes.contains("column `color`: 3 unknown values") && notes.contains("`mauve` in line 2");
        assert!(counted, "{notes}");
        assert_eq!(scratch.read("out.csv").lines().count(), 4);
    }
    scratch.write("test.csv", "x,y,color,kind\n0,0,mauve,north\n0,1,red,south\n");
    let evaluated = scratch.ok("evaluate p-few --method map --data test.csv --resamples 10 --json");
    assert!(evaluated.contains("1 unknown value"), "{evaluated}");
}

#[test]
fn predictions_are_written_as_json_lines() {
    let scratch = common::scratch();
    scratch.posterior();
    let (head, rows) = columns(&scratch.ok("predict posterior --method la --data test.csv --keep kind,x"));
    let printed = scratch.ok("predict posterior --method la --data test.csv --keep kind,x --format jsonl");
    scratch.ok("predict posterior --method la --data test.csv --keep kind,x --out p.jsonl");
    assert_eq!(scratch.read("p.jsonl"), printed);
    assert_eq!(printed.lines().count(), rows.len());
    for (line, row) in printed.lines().zip(&rows) {
        let object: Value = serde_json::from_str(line).expect("a JSON object");
        assert_eq!(object.as_object().map(|object| object.len()), Some(head.len()));
        for (name, cell) in head.iter().zip(row) {
            match &object[name] {
                Value::String(text) => assert_eq!(text, cell, "{name}"),
                Value::Number(number) => assert_eq!(number.as_f64(), cell.parse().ok(), "{name}"),
                other => panic!("{name}: {other}"),
            }
        }
        assert!(object["kind"].is_string() && object["x"].is_number() && object["p_north"].is_number());
        assert!(line.starts_with("{\"kind\":"), "in the order of the columns: {line}");
    }
    scratch.ok("predict posterior --method la --data test.csv --format csv --out p.ndjson");
    assert!(scratch.read("p.ndjson").starts_with("prediction,"));
}

#[test]
fn what_is_there_is_listed_and_the_limit_of_sizes_can_be_raised() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.write("other.csv", "length,width\n1,2\n");
    let message = scratch.fails("predict posterior --method map --data other.csv");
    assert!(message.contains("missing column `x`, `y`; its columns are: `length`, `width`"), "{message}");
    let message = scratch.fails("predict posterior --method map --data test.csv --keep id");
    assert!(message.contains("missing column `id`; its columns are: `x`, `y`, `kind`"), "{message}");
    let message = scratch.fails("predict posterior --method map --data test.csv --max-size 1k");
    assert!(message.contains("more than 1000 bytes") && message.contains("--max-size"), "{message}");
    scratch.ok("predict posterior --method map --data test.csv --max-size 1M");
}

#[test]
fn temperatures_and_strengths_need_enough_rows() {
    let scratch = common::scratch();
    scratch.posterior();
    let names = |evaluation: &Value| {
        let methods = evaluation["methods"].as_array().expect("a list").iter();
        methods.filter_map(|method| method["method"].as_str().map(str::to_string)).collect::<Vec<_>>()
    };
    let evaluate = |more: &str| -> Value {
        let arguments = format!("evaluate posterior --data test.csv --resamples 10 --json {more}");
        serde_json::from_str(&scratch.ok(&arguments)).expect("JSON")
    };
    let without = evaluate("");
    assert_eq!(names(&without), ["map", "constant", "la", "lin-la"]);
    let notes = without["notes"].to_string();
    assert!(notes.contains("no temperature: 18 rows are held out, but at least 50"), "{notes}");
    // Rows that are hard to tell apart.
    let data = toy::two_moons(80, 0.6, 5).expect("data");
    let labels = data.labels().expect("classes").iter();
    let rows = data.inputs().chunks(2).zip(labels);
    let row = |(x, label): (&[f64], &usize)| format!("{},{},{}\n", x[0], x[1], ["north", "south"][*label]);
    scratch.write("hard.csv", "x,y,kind\n".to_string() + &rows.map(row).collect::<String>());
    assert_eq!(
        names(&evaluate("--validation hard.csv")),
        ["map", "map-temperature", "constant", "la", "lin-la", "lin-la-temperature"]
    );
    // Rows that are far apart: all right.
    let easy: String = (0..60).map(|i| ["-0.5,1.2,north\n", "1.5,-0.7,south\n"][i % 2]).collect();
    scratch.write("easy.csv", format!("x,y,kind\n{easy}"));
    let notes = evaluate("--validation easy.csv")["notes"].to_string();
    assert!(notes.contains("0 of the 60 held-out rows are misclassified"), "{notes}");
    let message = scratch.fails("sample posterior -n 2 --strength held-out");
    assert!(message.contains("18 rows are held out") && message.contains("--strength auto"), "{message}");
    scratch.ok("train --data train.csv --hidden 3 --validation 0.5 --seed 3 --out half");
    scratch.ok("fit half --data hard.csv --other-data --out other");
    assert!(scratch.fails("sample other -n 2 --strength held-out").contains("not used in training"));
}
