//! `riemla sample --arithmetic`: recorded with the draws, resumed, and never mixed.

mod common;

const SAMPLE: &str = "sample posterior --strength 0.2 --polish 0";
const SET: &str = "posterior/samples/riem-la";

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn draws_in_single_precision_are_recorded_and_resumed() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 40,40 --prior-precision 1 --out model");
    scratch.ok("fit model --data train.csv --structure kron --out posterior");
    scratch.ok(&format!("{SAMPLE} -n 3"));
    assert!(!scratch.read(&format!("{SET}/samples.json")).contains("arithmetic"), "double is not written");
    let double = scratch.bytes(&format!("{SET}/samples.safetensors"));
    scratch.ok(&format!("{SAMPLE} -n 3 --arithmetic double"));
    assert_eq!(scratch.bytes(&format!("{SET}/samples.safetensors")), double);
    let message = scratch.fails(&format!("{SAMPLE} -n 3 --arithmetic single"));
    assert!(message.contains("config.arithmetic was not set, but is \"single\" now"), "{message}");

    scratch.ok(&format!("{SAMPLE} -n 2 --arithmetic single --name single --threads 1"));
    scratch.ok(&format!("{SAMPLE} -n 3 --arithmetic single --name single --threads 2"));
    scratch.ok(&format!("{SAMPLE} -n 3 --arithmetic single --name again"));
    let bytes = |set: &str| scratch.bytes(&format!("posterior/samples/{set}/samples.safetensors"));
    assert!(bytes("single") == bytes("again") && bytes("single") != double);
    let record = json(&scratch.read("posterior/samples/single/samples.json"));
    assert_eq!(record["run"]["config"]["arithmetic"], "single", "{record}");
    let message = scratch.fails(&format!("{SAMPLE} -n 4 --name single"));
    assert!(message.contains("config.arithmetic was \"single\", but is not set now"), "{message}");
    scratch.ok("predict posterior --data test.csv --method single --out predictions.csv");

    let output = scratch.run("sample posterior --arithmetic half");
    assert_eq!(output.status.code(), Some(2));
    assert!(common::text(&output.stderr).contains("must be double or single"));
    let message = scratch.fails("sample posterior -m la --arithmetic single");
    assert!(message.contains("la evaluates no loss"), "{message}");
}
