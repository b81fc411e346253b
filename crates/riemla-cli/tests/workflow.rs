//! From files to files, as a user would.

mod common;

use common::{columns, text};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn from_a_table_to_calibrated_classes() {
    let scratch = common::scratch();
    scratch.moons();
    let printed = scratch.ok("train --data train.csv --target kind --hidden 10 --out model");
    assert!(printed.contains("validation") && printed.contains("accuracy"), "{printed}");
    let fitted = json(&scratch.ok("fit model --data train.csv --json"));
    assert_eq!((&fitted["rows"], &fitted["held_out_rows"]), (&Value::from(102), &Value::from(18)));
    let sampled = json(&scratch.ok("sample posterior -n 12 --json"));
    assert_eq!(sampled["draws"], 12);
    let ratio = sampled["summary"]["virial_ratio"].as_f64().expect("a number");
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
    scratch.ok("predict posterior --data test.csv --keep kind --out predictions.csv");
    let (head, rows) = columns(&scratch.read("predictions.csv"));
    let names = "kind,prediction,confidence,entropy,aleatoric,epistemic,p_north,p_south";
    assert_eq!((head.join(","), rows.len()), (names.into(), 60));
    let mut right = 0;
    for row in &rows {
        let p: Vec<f64> = row[6..].iter().map(|p| p.parse().expect("a number")).collect();
        assert!((p[0] + p[1] - 1.0).abs() < 1e-12);
        assert_eq!(row[1], if p[0] > p[1] { "north" } else { "south" });
        right += usize::from(row[0] == row[1]);
    }
    assert!(right >= 50, "{right} of 60");
    scratch.write("far.csv", "x,y\n8,8\n9,-7\n-8,6\n-9,-9\n");
    let evaluation = scratch
        .ok("evaluate posterior --data test.csv --ood far.csv --resamples 50 --report report.html --json");
    let evaluation = json(&evaluation);
    let names: Vec<&str> = evaluation["methods"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["method"].as_str())
        .collect();
    assert_eq!(names, ["map", "constant", "la", "lin-la", "riem-la"]);
    let share = right as f64 / 60.0;
    assert_eq!(
        evaluation["methods"][4]["scores"]["accuracy"]["estimate"], share,
        "predict and evaluate agree"
    );
    let html = scratch.read("report.html");
    assert!(html.contains("Calibration") && html.contains("riem-la") && !html.contains("<script"));
}

#[test]
fn with_few_rows_the_trained_weights_count_as_much_as_rows_left_out_say() {
    let scratch = common::scratch();
    scratch.separable();
    scratch.ok("train --data train.csv --target kind --hidden none --out model");
    scratch.ok("fit model --data train.csv");
    let sampled = json(&scratch.ok("sample posterior -n 12 --json"));
    let found = &sampled["trained_share"];
    let share = found["share"].as_f64().expect("a number");
    assert!((0.2..1.0).contains(&share), "classes that can be told apart: {found}");
    assert_eq!((&found["rows"], &found["folds"]), (&Value::from(60), &Value::from(5)));
    let losses: Vec<f64> =
        found["log_losses"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    assert!(losses[2] <= losses[0] && losses[2] <= losses[1] + 0.01, "{losses:?}");
    // Found once, the same on any number of threads.
    assert_eq!(json(&scratch.ok("sample posterior -n 12 --json"))["trained_share"], *found);
    assert_eq!(
        json(&scratch.ok("--threads 1 sample posterior -n 12 --name again --json"))["trained_share"],
        *found
    );
    let probabilities = |options: &str| -> Vec<f64> {
        let (head, rows) = columns(&scratch.ok(&format!("predict posterior --data test.csv {options}")));
        let place = head.iter().position(|name| name == "p_a").expect("a column");
        rows.iter().map(|row| row[place].parse().expect("a number")).collect()
    };
    let [mixed, named, draws, map] =
        ["-m riem-la", "-m riem-la-mixed", "-m riem-la --temperature 1", "-m map"].map(probabilities);
    assert_eq!(mixed, named);
    assert_eq!(draws, probabilities("-m riem-la-mixed --temperature 1"));
    for (k, p) in mixed.iter().enumerate() {
        assert!((p - (1.0 - share) * draws[k] - share * map[k]).abs() < 1e-12, "row {k}");
    }
    // Rows that promise something have not chosen anything.
    assert!(
        scratch
            .fails("predict posterior -m riem-la-mixed --data test.csv --conformal 0.9")
            .contains("--temperature 1")
    );
    let evaluation = json(&scratch.ok("evaluate posterior --data test.csv --resamples 20 --json"));
    let methods = evaluation["methods"].as_array().expect("a list");
    let way = methods.iter().find(|method| method["method"] == "riem-la-mixed").expect("it is listed");
    assert_eq!(way["trained_share"], *found);
    assert!(evaluation["notes"].to_string().contains("the trained weights count"));
    // Not asked for, not found, and said so.
    let without = json(&scratch.ok("sample posterior -n 12 --folds 0 --name plain --json"));
    assert_eq!(without["trained_share"], Value::Null);
    assert!(scratch.fails("predict posterior -m plain-mixed --data test.csv").contains("--method plain"));
}

#[test]
fn from_a_table_to_intervals_of_numbers() {
    let scratch = common::scratch();
    scratch.sine();
    scratch.ok("train --data train.csv --target price --task regression --hidden 10 --out model");
    scratch.ok("fit model --data train.csv --prior-precision per-layer");
    scratch.ok("sample posterior -m lin-riem-la -n 10");
    let printed = scratch.ok("predict posterior --data test.csv --level 0.9");
    let (head, rows) = columns(&printed);
    assert_eq!(head, ["mean", "std", "lower", "upper", "epistemic_std", "aleatoric_std"]);
    for row in &rows {
        let n: Vec<f64> = row.iter().map(|n| n.parse().expect("a number")).collect();
        assert!((n[0] - 100.0).abs() < 60.0, "in the units of the table: {n:?}");
        assert!((n[3] - n[0] - 1.6449 * n[1]).abs() < 1e-3 * n[1], "{n:?}");
        assert!((n[1].powi(2) - n[4].powi(2) - n[5].powi(2)).abs() < 1e-9 * n[1].powi(2), "{n:?}");
    }
    let evaluation =
        json(&scratch.ok("evaluate posterior --data test.csv --resamples 20 --report r.html --json"));
    let rmse = evaluation["methods"][0]["scores"]["rmse"]["estimate"].as_f64().expect("a number");
    assert!(rmse > 1.0 && rmse < 8.0, "noise of 2 in the units of the table: {rmse}");
    assert!(scratch.read("r.html").contains("Coverage of the intervals"));
}

#[test]
fn of_few_rows_and_many_weights_all_eigenpairs_are_kept_unless_the_matrix_is_asked_for() {
    let scratch = common::scratch();
    // Labels, and numbers with little noise.
    for (table, train) in [("labels", "--target kind"), ("numbers", "--target price --task regression")] {
        if table == "labels" {
            scratch.separable()
        } else {
            scratch.sine()
        }
        scratch.ok(&format!("train --data train.csv {train} --hidden 200 --out {table}"));
        let fit = |structure: &str| {
            json(&scratch.ok(&format!(
                "fit {table} --data train.csv --out {table}-posterior{structure} {structure} --json"
            )))
        };
        let (few, full) = (fit(""), fit("--structure=full"));
        let rank = few["laplace"]["structure"]["low-rank"]["rank"].as_u64();
        // One of six probabilities says nothing new.
        let outputs = if table == "labels" { 5 } else { 1 };
        assert_eq!(rank, few["rows"].as_u64().map(|rows| outputs * rows));
        assert_eq!(full["laplace"]["structure"], "full");
        let evidence = |fit: &Value| fit["log_marginal_likelihood"].as_f64().expect("a number");
        assert!(
            (evidence(&few) - evidence(&full)).abs() < 1e-4,
            "{table}: {} {}",
            evidence(&few),
            evidence(&full)
        );
        let predicted = |posterior: &str, method: &str| -> Vec<f64> {
            let (_, rows) = columns(&scratch.ok(&format!("predict {posterior} --data test.csv -m {method}")));
            rows.iter().flatten().filter_map(|entry| entry.parse().ok()).collect()
        };
        // In closed form the predictions of a Gaussian do not depend on how it is kept.
        if table == "labels" {
            let [a, b] = ["", "--structure=full"]
                .map(|form| predicted(&format!("{table}-posterior{form}"), "lin-la-probit"));
            assert!(a.len() > 40 && a.len() == b.len());
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4), "{a:?} {b:?}");
        }
        let sampled = json(&scratch.ok(&format!("sample {table}-posterior -n 4 --folds 0 --json")));
        assert_eq!(sampled["draws"], 4);
        assert!(!predicted(&format!("{table}-posterior"), "riem-la").is_empty());
    }
}

#[test]
fn every_structure_and_subset_can_be_saved_sampled_and_used() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 6 --out model");
    for (i, options) in [
        "--structure kron",
        "--structure low-rank --rank 5",
        "--structure diagonal --curvature ef",
        "--subset last-layer --curvature hessian",
        "--subset 0.weight,0.bias --prior-precision 2 --without-data",
    ]
    .iter()
    .enumerate()
    {
        scratch.ok(&format!("fit model --data train.csv {options} --out p{i}"));
        let data = if options.contains("without") { "--data train.csv" } else { "" };
        scratch.ok(&format!("sample p{i} -n 3 --strength 0.1 {data}"));
        let first = scratch.ok(&format!("predict p{i} --data test.csv"));
        let second = scratch.ok(&format!("--threads 1 predict p{i} --data test.csv"));
        assert_eq!(first, second, "{options}");
    }
    let message = scratch.fails("sample p4 --name again -n 2");
    assert!(message.contains("--data"), "{message}");
}

#[test]
fn images_with_a_network_from_a_file() {
    let scratch = common::scratch();
    let mut images = vec![0, 0, 8, 3, 0, 0, 0, 60, 0, 0, 0, 6, 0, 0, 0, 6];
    let mut labels = vec![0, 0, 8, 1, 0, 0, 0, 60];
    for item in 0..60u32 {
        let label = item % 2;
        labels.push(label as u8);
        images.extend(
            (0..36).map(|k| if (k / 18) == label { 200 + (item % 50) as u8 } else { (k * item % 60) as u8 }),
        );
    }
    scratch.write("images.idx", images);
    scratch.write("labels.idx", labels);
    scratch.write(
        "cnn.toml",
        "input = { channels = 1, height = 6, width = 6 }\nlayers = [\n\
         { type = \"conv2d\", channels = 2, kernel = [3, 3] },\n{ type = \"activation\", function = \"tanh\" },\n\
         { type = \"average-pool\", kernel = [2, 2] },\n{ type = \"flatten\" },\n{ type = \"linear\", outputs = 2 },\n]\n",
    );
    let data = "--data images.idx --labels labels.idx";
    scratch.ok(&format!("train {data} --network cnn.toml --out model"));
    scratch.ok(&format!("fit model {data} --structure kron"));
    scratch.ok("sample posterior -n 4 --batch 20");
    let auto = scratch
        .riemla("sample posterior -n 2 --batch auto --strength 0.1 --name auto")
        .output()
        .expect("runs");
    assert!(
        text(&auto.stderr).contains("rows per batch: ") && text(&auto.stderr).contains(" of "),
        "{auto:?}"
    );
    let wrong = scratch.run("sample posterior --batch 20 --batch-length 1.5");
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("at most 1"), "{wrong:?}");
    let wrong = scratch.run("sample posterior --batch 20 --batch-design random");
    let message = text(&wrong.stderr);
    assert!(
        wrong.status.code() == Some(2) && message.contains("uniform, stratified, leverage or leverage=SHARE"),
        "{message}"
    );
    // The same from the files, for a posterior without its data.
    scratch.ok(&format!("fit model {data} --structure kron --without-data --out bare"));
    scratch.ok(&format!("sample bare -n 4 --batch 20 {data}"));
    let draws =
        |posterior: &str| scratch.bytes(&format!("{posterior}/samples/riem-la-batches/samples.safetensors"));
    assert_eq!(draws("bare"), draws("posterior"));
    let (head, rows) = columns(&scratch.ok("predict posterior --method riem-la-batches --data images.idx"));
    assert_eq!((head[0].as_str(), rows.len()), ("prediction", 60));
    let input = std::fs::File::open(scratch.join("images.idx")).expect("opens");
    let piped = scratch
        .riemla("predict posterior --method riem-la-batches --data -")
        .stdin(input)
        .output()
        .expect("runs");
    assert_eq!(columns(&text(&piped.stdout)).1, rows, "{}", text(&piped.stderr));
    assert!(scratch.ok(&format!("evaluate posterior {data} --resamples 20")).contains("riem-la-batches"));
}

#[test]
fn an_imported_network_is_the_same_and_goes_back() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 5 --no-standardize --out model");
    scratch.ok("export model --out net.safetensors");
    let message = scratch.fails("export model --out net.safetensors");
    assert!(message.contains("already exists") && message.contains("--force"), "{message}");
    scratch.write(
        "net.toml",
        "input = 2\nlayers = [\n{ type = \"linear\", outputs = 5 },\n{ type = \"activation\", function = \"tanh\" },\n\
         { type = \"linear\", outputs = 2 },\n]\n",
    );
    scratch.ok("import net.safetensors --network net.toml --data train.csv --target kind --out imported");
    for model in ["model", "imported"] {
        scratch.ok(&format!(
            "fit {model} --data test.csv --other-data --prior-precision 1 --out {model}-posterior"
        ));
    }
    let predict =
        |model: &str| scratch.ok(&format!("predict {model}-posterior --method map --data test.csv"));
    assert_eq!(predict("model"), predict("imported"));
    // A Sequential with dropout numbers its layers otherwise.
    let bytes = scratch.bytes("net.safetensors");
    let shifted = text(&bytes).matches("\"2.").count();
    assert_eq!(shifted, 2);
    let renamed: Vec<u8> = replaced(&bytes, b"\"2.", b"\"3.");
    scratch.write("dropout.safetensors", &renamed);
    let message = scratch.fails("import dropout.safetensors --network net.toml --out dropout");
    assert!(message.contains("damaged") && message.contains("`checksum`"), "{message}");
    let renamed: Vec<u8> = replaced(&renamed, b"\"checksum\"", b"\"was_ours\"");
    scratch.write("dropout.safetensors", renamed);
    let with_dropout = scratch.read("net.toml").replace(
        "{ type = \"linear\", outputs = 2 }",
        "{ type = \"dropout\" },\n{ type = \"linear\", outputs = 2 }",
    );
    scratch.write("dropout.toml", with_dropout);
    scratch.ok("import dropout.safetensors --network dropout.toml --data train.csv --out dropout");
    scratch.ok("fit dropout --data test.csv --prior-precision 1 --out dropout-posterior");
    assert_eq!(predict("model"), predict("dropout"));
    let message = scratch.fails("import net.safetensors --out other");
    assert!(message.contains("--network"), "{message}");
    scratch.write("wrong.toml", scratch.read("net.toml").replace("outputs = 5", "outputs = 4"));
    let message = scratch.fails("import net.safetensors --network wrong.toml --out other");
    assert!(
        message.contains("0.weight") && message.contains("0.bias") && message.contains("2.weight"),
        "{message}"
    );
    assert!(!scratch.join("other").exists());
}

/// Bytes with every occurrence of `from` replaced by as many others.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - from.len() {
        if &bytes[at..at + from.len()] == from {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn tables_come_from_pipes_and_predictions_go_into_them() {
    let scratch = common::scratch();
    scratch.posterior();
    let input = std::fs::File::open(scratch.join("test.csv")).expect("opens");
    let output =
        scratch.riemla("predict posterior --method lin-la --data -").stdin(input).output().expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", common::text(&output.stderr));
    let direct = scratch.ok("predict posterior --method lin-la --data test.csv");
    assert_eq!(common::text(&output.stdout), direct);
    // A reader that has seen enough.
    let header = std::fs::read_to_string(scratch.join("test.csv")).expect("reads");
    let (head, rows) = header.split_once('\n').expect("a header");
    scratch.write("long.csv", format!("{head}\n{}", rows.repeat(200)));
    let mut child = scratch
        .riemla("--quiet predict posterior --method map --data long.csv")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), common::text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn inspect_tells_what_each_thing_is() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 2 --strength 0.1");
    scratch.ok("export model --out net.safetensors");
    for (path, kind) in [
        ("model", "model"),
        ("posterior", "posterior"),
        ("posterior/posterior.json", "posterior"),
        ("posterior/samples/riem-la", "draws"),
        ("posterior/samples/riem-la/draws.log", "log of draws"),
        ("net.safetensors", "tensors"),
        ("train.csv", "table (CSV)"),
    ] {
        let described = scratch.ok(&format!("inspect {path}"));
        assert!(described.starts_with(&format!("{path}: {kind}")), "{described}");
    }
    assert_eq!(json(&scratch.ok("inspect --json posterior"))["draws"][0], "riem-la");
    assert!(scratch.fails("inspect nothing").contains("nothing"));
}

#[test]
fn completions_and_manual_pages_come_from_the_arguments() {
    let scratch = common::scratch();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(scratch.ok(&format!("completions {shell}")).contains("evaluate"), "{shell}");
    }
    assert!(scratch.ok("man").contains(".TH riemla 1"));
    scratch.ok("man --out pages");
    assert!(scratch.read("pages/riemla-sample.1").contains("strength"));
}

#[test]
fn every_command_has_a_help_with_an_example() {
    let scratch = common::scratch();
    let help = scratch.ok("--help");
    for command in [
        "demo",
        "train",
        "import",
        "export",
        "fit",
        "sample",
        "predict",
        "evaluate",
        "compare",
        "inspect",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command}")), "{command}");
        let own = scratch.ok(&format!("{command} --help"));
        assert!(own.contains("Example") && own.contains(&format!("riemla {command}")), "{own}");
    }
}

/// On each of the UCI files of the experiments, with nothing but the name of the file. The files are not
/// part of the repository.
#[test]
fn the_uci_files_just_work() {
    let Some(directory) = riemla_repository::data_directory("UCI files by the commands") else { return };
    let scratch = common::scratch();
    for (name, least) in [
        ("vehicle", 0.7),
        ("glass", 0.5),
        ("ionosphere", 0.8),
        ("benchmark/waveform", 0.75),
        ("benchmark/australian", 0.75),
        ("benchmark/breast_cancer", 0.9),
    ] {
        let data = directory.join(format!("{name}.csv"));
        // Fewer iterations than usual: this is about files, not about scores.
        let train =
            format!("train --data {} --hidden 10 --iterations 40 --out model --force --json", data.display());
        let trained = json(&scratch.ok(&train));
        let validation = &trained["scores"][1];
        assert_eq!(validation["part"], "validation", "{name}");
        let accuracy = validation["scores"][0][1].as_f64().expect("a number");
        assert!(accuracy > least, "{name}: {accuracy}");
        scratch.ok(&format!("fit model --data {} --out posterior --force", data.display()));
        scratch.ok("sample posterior --method lin-la -n 3");
    }
}

#[test]
fn every_metric_can_be_chosen_and_only_those_with_a_strength_take_one() {
    let scratch = common::scratch();
    scratch.posterior();
    for (options, strength) in [
        ("--metric fisher", false),
        ("--metric preconditioned", true),
        ("--metric preconditioned --strength 0.2", true),
    ] {
        let name = options.replace([' ', '-'], "");
        let sampled = json(&scratch.ok(&format!("sample posterior -n 5 {options} --name {name} --json")));
        assert_eq!(sampled["draws"], 5);
        assert_eq!(sampled["summary"]["strength"].is_number(), strength, "{options}: {sampled}");
    }
    let message = scratch.fails("sample posterior -n 5 --metric fisher --strength 0.2");
    assert!(message.contains("has no strength"), "{message}");
}
