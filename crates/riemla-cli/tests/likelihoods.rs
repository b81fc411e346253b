//! Counts, labels, noises of outputs and of inputs, and weights of rows, through all commands.

mod common;

use common::{Scratch, columns};
use riemla::random::{Purpose, fill_normal, stream};
use riemla::score::{count_quantile, normal_cdf};
use serde_json::Value;

/// Rows of two inputs and three numbers of noise, all normal.
fn rows(n: usize, seed: u64) -> Vec<[f64; 5]> {
    let mut normal = vec![0.0; 5 * n];
    fill_normal(&mut stream(seed, Purpose::Data, 3), &mut normal);
    normal.chunks_exact(5).map(|row| [row[0], row[1], row[2], row[3], row[4]]).collect()
}

/// `train.csv` and `test.csv` with inputs u and v, and what `targets` makes of a row.
fn write(scratch: &Scratch, head: &str, targets: impl Fn(&[f64; 5]) -> String) {
    for (name, n, seed) in [("train.csv", 150, 1), ("test.csv", 100, 2)] {
        let line = |row: &[f64; 5]| format!("{},{},{}\n", row[0], row[1], targets(row));
        let text: String = rows(n, seed).iter().map(line).collect();
        scratch.write(name, format!("u,v,{head}\n{text}"));
    }
}

fn visits(row: &[f64; 5]) -> f64 {
    count_quantile(normal_cdf(row[2]), (0.5 + 0.8 * row[0].sin() - 0.4 * row[1]).exp(), 0.0)
}

/// Trains a small network, fits, draws, and scores it.
fn all_commands(scratch: &Scratch, options: &str) -> Value {
    scratch.ok(&format!("train --data train.csv --hidden 4 {options} --out model"));
    let fitted = scratch.run("fit model --data train.csv");
    let message = common::text(&fitted.stderr);
    assert!(fitted.status.success() && !message.contains("warning"), "{message}");
    scratch.ok("sample posterior -n 8 --strength 0.1");
    scratch.ok("evaluate posterior --data test.csv --report report.html");
    serde_json::from_str(&scratch.ok("evaluate posterior --data test.csv --resamples 50 --json"))
        .expect("JSON")
}

/// The scores of a method by name.
fn scores(evaluation: &Value, method: &str) -> Value {
    let methods = evaluation["methods"].as_array().expect("methods");
    let found = methods.iter().find(|found| found["method"] == method);
    found.unwrap_or_else(|| panic!("no {method}"))["scores"].clone()
}

fn estimate(evaluation: &Value, method: &str, score: &str) -> f64 {
    let value = scores(evaluation, method)[score]["estimate"].as_f64();
    value.unwrap_or_else(|| panic!("{method} has no {score}"))
}

fn names(scores: &Value) -> Vec<String> {
    let mut names: Vec<String> = scores.as_object().expect("scores").keys().cloned().collect();
    names.sort_unstable();
    names
}

fn numbers(table: &(Vec<String>, Vec<Vec<String>>), name: &str) -> Vec<f64> {
    let place = table.0.iter().position(|head| head == name);
    let place = place.unwrap_or_else(|| panic!("no column {name} in {:?}", table.0));
    table.1.iter().map(|row| row[place].parse().expect("a number")).collect()
}

#[test]
fn counts() {
    let scratch = common::scratch();
    write(&scratch, "visits", |row| visits(row).to_string());
    let found = all_commands(&scratch, "--likelihood poisson");
    assert_eq!(names(&scores(&found, "riem-la")), ["coverage95", "deviance", "nll", "rmse"]);
    assert!(estimate(&found, "riem-la", "nll") < estimate(&found, "constant", "nll") - 0.1);
    let coverage = estimate(&found, "riem-la", "coverage95");
    // A perfect model covers at least 0.95: 100 rows, three standard errors.
    assert!(coverage > 0.885, "{coverage}");
    let table = columns(&scratch.ok("predict posterior --data test.csv --conformal 0.8"));
    let (mean, lower, upper) = (numbers(&table, "mean"), numbers(&table, "lower"), numbers(&table, "upper"));
    assert!(lower.iter().chain(&upper).all(|bound| bound.fract() == 0.0 && *bound >= 0.0));
    assert!(mean.iter().zip(&lower).zip(&upper).all(|((m, l), u)| *m > 0.0 && l <= u && *l <= m.ceil()));
    // Counts given their rate have the rate as variance.
    let aleatoric = numbers(&table, "aleatoric_std");
    assert!(aleatoric.iter().zip(&mean).all(|(s, m)| (s * s / m - 1.0).abs() < 1e-9));
    assert!(numbers(&table, "conformal_lower").iter().all(|bound| *bound >= 0.0));
    scratch.ok("predict posterior -m lin-la-probit --data test.csv");
    scratch.ok("sample posterior -n 2 --metric fisher --name fisher");
    let message = scratch.fails("predict posterior -m riem-la --data test.csv --max-error 0.1");
    assert!(message.contains("one class per row"), "{message}");
    assert!(scratch.read("report.html").contains("intervals end at whole numbers"));
    // A count in training that is none.
    let wrong = scratch.read("train.csv").replacen(",0\n", ",-1\n", 1);
    scratch.write("wrong.csv", wrong);
    let message = scratch.fails("train --data wrong.csv --likelihood poisson --out other");
    assert!(message.contains("-1 is not a count"), "{message}");
}

#[test]
fn numbers_with_a_noise_each() {
    let scratch = common::scratch();
    let two = |row: &[f64; 5]| {
        let (first, second) = (row[0].sin() + 0.1 * row[2], 0.7 * row[1] + row[3]);
        format!("{},{}", 500.0 + 100.0 * first, 0.01 * second)
    };
    write(&scratch, "large,small", two);
    let found = all_commands(&scratch, "--target large,small");
    assert_eq!(names(&scores(&found, "riem-la")), ["coverage95", "crps", "nlpd", "rmse"]);
    let riem_la = found["methods"].as_array().expect("methods").last().expect("one");
    let rmse = |target: &str| riem_la["per_target"][target]["rmse"].as_f64().expect("a score");
    assert!(rmse("large") > 5.0 && rmse("large") < 25.0 && rmse("small") < 0.02, "{riem_la}");
    let table = columns(&scratch.ok("predict posterior --data test.csv"));
    let mean = |name: &str| {
        let values = numbers(&table, name);
        values.iter().sum::<f64>() / values.len() as f64
    };
    // The noises of the data are 10 and 0.01; a standard deviation of 127 rows is known to 6 %.
    let (large, small) = (mean("aleatoric_std_large"), mean("aleatoric_std_small"));
    assert!((large / 10.0 - 1.0).abs() < 0.25 && (small / 0.01 - 1.0).abs() < 0.25, "{large} {small}");
    assert!(scratch.ok("inspect model").contains("large, small"));
    // One noise for both is another likelihood.
    scratch.ok("train --data train.csv --hidden none --target large,small --likelihood gaussian --out one");
    assert!(scratch.read("one/model.json").contains("\"gaussian\""));
    let message = scratch.fails("train --data train.csv --target large,tiny --out other");
    assert!(message.contains("tiny"), "{message}");
    let message = scratch.fails("train --data train.csv --target large,large --out other");
    assert!(message.contains("twice"), "{message}");
}

#[test]
fn several_labels() {
    let scratch = common::scratch();
    let labels = |row: &[f64; 5]| {
        let (first, second) = (row[0] + 0.3 * row[2] > 0.0, row[0] * row[1] + 0.3 * row[3] > 0.0);
        format!("{},{}", u8::from(first), if second { "yes" } else { "no" })
    };
    write(&scratch, "right,same", labels);
    let found = all_commands(&scratch, "--target right,same");
    assert_eq!(names(&scores(&found, "riem-la")), ["accuracy", "auroc", "brier", "ece", "nll"]);
    assert!(estimate(&found, "riem-la", "auroc") > 0.8);
    assert!(estimate(&found, "riem-la", "nll") < estimate(&found, "constant", "nll") - 0.1);
    assert!(found["methods"][0]["per_target"]["same"]["accuracy"].as_f64().expect("a score") > 0.6);
    let table = columns(&scratch.ok("predict posterior --data test.csv --keep same"));
    let probabilities = numbers(&table, "p_same");
    let parts = (numbers(&table, "aleatoric_same"), numbers(&table, "epistemic_same"));
    for (i, total) in numbers(&table, "entropy_same").iter().enumerate() {
        assert!((parts.0[i] + parts.1[i] - total).abs() < 1e-9);
    }
    let place = table.0.iter().position(|head| head == "prediction_same").expect("a prediction");
    let agree = |(row, p): (&Vec<String>, &f64)| (row[place] == "yes") == (*p > 0.5);
    assert!(table.1.iter().zip(&probabilities).all(agree));
    let message = scratch.fails("predict posterior --data test.csv --conformal 0.9");
    assert!(message.contains("not for several labels"), "{message}");
    let noted: Value = serde_json::from_str(
        &scratch.ok("evaluate posterior --data test.csv --conformal 0.9 --resamples 10 --json"),
    )
    .expect("JSON");
    assert!(noted["notes"].to_string().contains("not for several labels"), "{}", noted["notes"]);
    assert!(scratch.read("report.html").contains("Scores of same alone"));
}

#[test]
fn noise_that_depends_on_the_input() {
    let scratch = common::scratch();
    let noisy = |row: &[f64; 5]| (100.0 + row[1] + row[2] * if row[0] > 0.0 { 1.0 } else { 0.1 }).to_string();
    write(&scratch, "y", noisy);
    let found = all_commands(&scratch, "--likelihood heteroscedastic");
    let coverage = estimate(&found, "riem-la", "coverage95");
    assert!(coverage > 0.85, "{coverage}");
    let table = columns(&scratch.ok("predict posterior --data test.csv --keep u"));
    let (u, noise) = (numbers(&table, "u"), numbers(&table, "aleatoric_std"));
    let mean = |right: bool| {
        let side: Vec<f64> =
            u.iter().zip(&noise).filter(|(u, _)| (**u > 0.5) == right).map(|(_, s)| *s).collect();
        side.iter().sum::<f64>() / side.len() as f64
    };
    assert!(mean(true) > 2.0 * mean(false), "{} {}", mean(true), mean(false));
    // A noise that does not exist is not searched for, and the fit's own prior search works without one.
    assert!(!scratch.read("model/model.json").contains("sigma_noise"));
    scratch.ok("fit model --data train.csv --prior-precision auto --out again");
    scratch.ok("predict posterior -m lin-la-probit --data test.csv");
}

/// The law of weights, through the commands: a row of weight 2 is two equal rows.
#[test]
fn a_row_of_weight_two_is_two_rows() {
    let scratch = common::scratch();
    let data = rows(60, 5);
    let line = |row: &[f64; 5]| format!("{},{},{}", row[0], row[1], row[0].sin() + 0.3 * row[2]);
    let (mut weighted, mut repeated) = (String::from("u,v,y,copies\n"), String::from("u,v,y\n"));
    for (i, row) in data.iter().enumerate() {
        weighted += &format!("{},{}\n", line(row), i % 3);
        (0..i % 3).for_each(|_| repeated += &format!("{}\n", line(row)));
    }
    scratch.write("weighted.csv", &weighted);
    scratch.write("repeated.csv", repeated);
    let train = |data: &str, options: &str| -> Value {
        let usual = "--target y --task regression --hidden 3 --validation 0 --json --force --out model";
        let found = scratch.ok(&format!("train --data {data} {options} {usual}"));
        scratch.ok(&format!("fit model --data {data} --force"));
        serde_json::from_str(&found).expect("JSON")
    };
    let predicted = || {
        let table = columns(&scratch.ok("predict posterior -m lin-la-probit --data repeated.csv"));
        [numbers(&table, "mean"), numbers(&table, "std"), numbers(&table, "epistemic_std")].concat()
    };
    let two = (train("repeated.csv", ""), predicted());
    let one = (train("weighted.csv", "--weights copies"), predicted());
    assert!(scratch.read("model/model.json").contains("\"weights\": \"copies\""));
    let evidence = |found: &Value| found["log_marginal_likelihood"].as_f64().expect("an evidence");
    let (a, b) = (evidence(&one.0), evidence(&two.0));
    assert!((a - b).abs() < 1e-4 * b.abs(), "{a} {b}");
    for (a, b) in one.1.iter().zip(&two.1) {
        assert!((a - b).abs() < 1e-3 * b.abs().max(0.1), "{a} {b}");
    }
    // A fit has the same weights without being asked, and is refused other ones.
    let fitted = scratch.run("fit model --data weighted.csv --force");
    let message = common::text(&fitted.stderr);
    assert!(fitted.status.success() && !message.contains("warning"), "{message}");
    scratch.ok("sample posterior -n 2 --strength 0.1");
    scratch.write("other.csv", weighted.replacen(",2\n", ",3\n", 1));
    let message = scratch.fails("fit model --data other.csv --out other --quiet");
    assert!(message.contains("other values"), "{message}");
    let message = scratch.fails("fit model --data repeated.csv --out other --quiet");
    assert!(message.contains("copies"), "{message}");
    // Scores and predictions count every row once and need no weights.
    scratch.ok("evaluate posterior --data repeated.csv --resamples 10");
    scratch.ok("predict posterior --data repeated.csv");
    scratch.write("negative.csv", weighted.replacen(",2\n", ",-2\n", 1));
    let message = scratch.fails("train --data negative.csv --target y --weights copies --out other");
    assert!(message.contains("copies") && message.contains("at least 0"), "{message}");
}

#[test]
fn imported_networks_can_have_them() {
    let scratch = common::scratch();
    write(&scratch, "visits", |row| visits(row).to_string());
    scratch.ok(
        "train --data train.csv --hidden 3 --likelihood poisson --no-standardize --validation 0 --out model",
    );
    scratch.ok("export model --out net.safetensors");
    let network = "input = 2\nlayers = [{ type = \"linear\", outputs = 3 }, { type = \"activation\", function = \
                   \"tanh\" }, { type = \"linear\", outputs = 1 }]\n";
    scratch.write("net.toml", network);
    let import =
        "import net.safetensors --network net.toml --data train.csv --target visits --out imported --force";
    let message = scratch.fails(import);
    assert!(message.contains("poisson"), "{message}");
    scratch.ok(&format!("{import} --likelihood poisson"));
    scratch.ok("fit imported --data train.csv");
    let same = |posterior: &str, data: &str| {
        numbers(&columns(&scratch.ok(&format!("predict {posterior} -m map --data {data}"))), "mean")
    };
    scratch.ok("fit model --data train.csv --out trained");
    assert_eq!(same("posterior", "test.csv"), same("trained", "test.csv"));
    // Weights that the import knows nothing of.
    let text = scratch.read("train.csv");
    let heavier: String =
        text.lines().enumerate().map(|(i, line)| format!("{line},{}\n", ["copies", "2"][i.min(1)])).collect();
    scratch.write("heavier.csv", heavier);
    scratch.ok("fit imported --data heavier.csv --weights copies --out heavier");
    assert!(scratch.read("heavier/model.json").contains("copies"));
    // Probabilities are made logits again.
    let sigmoid = network
        .replace("outputs = 1 }]", "outputs = 1 }, { type = \"activation\", function = \"sigmoid\" }]");
    scratch.write("sigmoid.toml", sigmoid);
    let import = "import net.safetensors --network sigmoid.toml --out labels --likelihood multi-label";
    let message = common::text(&scratch.run(import).stderr);
    assert!(message.contains("the final Sigmoid is left out"), "{message}");
    assert!(!scratch.read("labels/model.json").contains("sigmoid"));
}
