//! Networks of other programs, from file to predictions; and what is said about those that do not fit.

mod common;

use common::{Scratch, columns};

fn with_files(names: &[&str]) -> Scratch {
    let scratch = common::scratch();
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/onnx");
    for name in names {
        scratch.write(name, std::fs::read(directory.join(name)).expect("is there"));
    }
    scratch
}

/// A table of `features` columns and a class of three.
fn table(features: usize) -> String {
    let head: Vec<String> = (0..features).map(|j| format!("x{j}")).collect();
    let row = |i: usize| {
        let values: Vec<String> =
            (0..features).map(|j| format!("{:.3}", (1.7 * (i * j + i + j) as f64).sin())).collect();
        format!("{},{}", values.join(","), ["a", "b", "c"][i % 3])
    };
    let rows: Vec<String> = (0..30).map(row).collect();
    format!("{},kind\n{}\n", head.join(","), rows.join("\n"))
}

#[test]
fn a_residual_network_goes_from_the_file_to_predictions() {
    let scratch = with_files(&["script_resnet_17.onnx", "resnet.safetensors", "resnet.toml"]);
    scratch.write("train.csv", table(36));
    scratch.ok("import script_resnet_17.onnx --data train.csv --target kind --out onnx");
    scratch.ok("import resnet.safetensors --network resnet.toml --data train.csv --target kind --out named");
    for structure in ["kron", "diagonal", "full"] {
        let out = format!("onnx-{structure}");
        scratch.ok(&format!(
            "fit onnx --data train.csv --prior-precision 5 --structure {structure} --out {out}"
        ));
        scratch.ok(&format!("sample {out} -n 2 --strength 0.1"));
        let (_, rows) = columns(&scratch.ok(&format!("predict {out} --data train.csv")));
        assert_eq!(rows.len(), 30);
    }
    // The same function, with the normalisations merged or as layers of their own.
    scratch.ok("fit named --data train.csv --prior-precision 5 --structure kron --out named-kron");
    let classes = |posterior: &str| {
        let (_, rows) = columns(&scratch.ok(&format!("predict {posterior} --method map --data train.csv")));
        rows.into_iter().map(|row| row[0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(classes("onnx-kron"), classes("named-kron"));
}

#[test]
fn messages_have_three_lines_and_details_are_in_inspect() {
    let scratch = with_files(&["named.pt", "named.safetensors", "mlp.toml", "script_mlp_11.onnx"]);
    let three = |message: &str| assert_eq!(message.trim_end().lines().count(), 3, "{message}");
    for command in
        ["import named.pt --out model", "inspect named.pt", "import named.pt --network mlp.toml --out model"]
    {
        let message = scratch.fails(command);
        three(&message);
        assert!(message.contains("save_file(torch.load(\"named.pt\""), "{message}");
    }
    let message = scratch.fails("import named.safetensors --out model");
    three(&message);
    assert!(
        message.contains("--network") && message.contains("riemla inspect named.safetensors"),
        "{message}"
    );
    let message = scratch.fails("import named.safetensors --network mlp.toml --out model");
    three(&message);
    assert!(message.contains("and ") && message.contains(" more"), "{message}");
    assert!(scratch.ok("inspect named.safetensors").contains("fc10.weight"));
    assert!(scratch.ok("inspect mlp.toml").contains("10.weight"));
    // Operators that nobody has.
    let bytes = scratch.bytes("script_mlp_11.onnx");
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let other = text.replace("Tanh", "Tanz").replace("Sigmoid", "Sigmund");
    scratch.write("other.onnx", other.chars().map(|c| c as u8).collect::<Vec<u8>>());
    let message = scratch.fails("import other.onnx --out model");
    three(&message);
    assert!(message.contains("Tanz") && message.contains("riemla inspect other.onnx"), "{message}");
    let all = scratch.ok("inspect other.onnx");
    for words in ["cannot be imported", "Tanz", "Sigmund", "Gemm"] {
        assert!(all.contains(words), "{words}: {all}");
    }
}
