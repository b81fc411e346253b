//! ONNX graphs made by hand: what exporters seldom write, and what is refused, by name.

mod protobuf;

use protobuf::{attribute, declared, integers, list, model, node, number, raw, tensor, whole, word};
use riemla::nn::LayerSpec;
use riemla_files::onnx::import_onnx_bytes;
use riemla_files::{Error, ImportedNetwork, import_onnx};

fn linear(name: &str, inputs: i64, outputs: i64) -> Vec<u8> {
    let values: Vec<f32> = (0..inputs * outputs).map(|i| (i % 7) as f32 - 3.0).collect();
    tensor(name, &[inputs, outputs], &values)
}

fn import(bytes: &[u8]) -> riemla_files::Result<ImportedNetwork> {
    import_onnx_bytes("model", bytes)
}

/// The obstacles named by the error.
fn obstacles(bytes: &[u8]) -> String {
    match import(bytes) {
        Err(Error::Unsupported { problems, .. }) => problems.join("\n"),
        other => panic!("{other:?}"),
    }
}

fn invalid(bytes: &[u8]) -> String {
    match import(bytes) {
        Err(Error::Format { format: "ONNX", problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn factors_and_biases_of_gemm_are_applied() {
    let weights = tensor("w", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let gemm = |attributes: &[Vec<u8>]| node("Gemm", &["x", "w", "b"], "h", attributes);
    let attributes = [number("alpha", 2.0), number("beta", 3.0)];
    let parts = [
        gemm(&attributes),
        weights,
        tensor("b", &[1, 3], &[1.0, 0.0, -1.0]),
        node("Add", &["c", "h"], "s", &[]),
        tensor("c", &[3], &[10.0, 20.0, 30.0]),
        node("Dropout", &["s"], "d", &[]),
        node("Identity", &["d"], "y", &[]),
    ];
    let imported = import(&model(&[2], &parts)).unwrap();
    assert_eq!(imported.theta, [2.0, 8.0, 4.0, 10.0, 6.0, 12.0, 13.0, 20.0, 27.0]);
    assert_eq!(imported.network.layers, [LayerSpec::Linear { outputs: 3, bias: true }]);
}

#[test]
fn padding_by_name_and_global_pooling_are_worked_out() {
    let kernel = tensor("k", &[1, 1, 3, 3], &[1.0; 9]);
    let same = word("auto_pad", "SAME_UPPER");
    let parts = |stride: i64| {
        vec![
            node("Conv", &["x", "k"], "c", &[same.clone(), list("strides", &[stride, stride])]),
            kernel.clone(),
            node("GlobalAveragePool", &["c"], "p", &[]),
            node("Squeeze", &["p", "axes"], "y", &[]),
            integers("axes", &[2, 3]),
        ]
    };
    let imported = import(&model(&[1, 5, 5], &parts(1))).unwrap();
    let LayerSpec::Conv2d { padding, .. } = imported.network.layers[0] else { panic!() };
    assert_eq!(padding, [1, 1]);
    assert_eq!(imported.network.layers[1], LayerSpec::AveragePool { kernel: [5, 5], stride: None });
    assert!(import(&model(&[1, 5, 5], &parts(2))).is_ok());
    assert!(obstacles(&model(&[1, 6, 6], &parts(2))).contains("more padding on one side"));
}

#[test]
fn normalisation_is_merged_only_into_the_layer_before() {
    let numbers = |name: &str, values: [f32; 2]| tensor(name, &[2], &values);
    let constants = [
        tensor("w", &[1, 2], &[1.0, 10.0]),
        numbers("scale", [2.0, 3.0]),
        numbers("shift", [0.5, -0.5]),
        numbers("mean", [1.0, 4.0]),
        numbers("variance", [4.0, 9.0]),
    ];
    let normalize = |from: &str| {
        let inputs = [from, "scale", "shift", "mean", "variance"];
        node("BatchNormalization", &inputs, "y", &[number("epsilon", 0.0)])
    };
    let first = node("MatMul", &["x", "w"], "h", &[]);
    let direct = [&constants[..], &[first.clone(), normalize("h")]].concat();
    let imported = import(&model(&[1], &direct)).unwrap();
    assert_eq!(imported.theta, [1.0, 10.0, -0.5, -4.5]);
    assert!(imported.notes[0].contains("BatchNormalization"));
    let after = [&constants[..], &[first, node("Tanh", &["h"], "t", &[]), normalize("t")]].concat();
    assert!(obstacles(&model(&[1], &after)).contains("does not directly follow"));
}

#[test]
fn maxima_over_height_and_width_are_pooling_in_any_order_of_axes() {
    let kernel = tensor("k", &[2, 1, 1, 1], &[1.0, -1.0]);
    let parts = |axes: &[i64]| {
        vec![
            node("Conv", &["x", "k"], "c", &[]),
            kernel.clone(),
            node("Transpose", &["c"], "t", &[list("perm", &[0, 2, 3, 1])]),
            node("ReduceMax", &["t"], "m", &[list("axes", axes), attribute("keepdims", 1)]),
            node("Flatten", &["m"], "y", &[]),
        ]
    };
    let imported = import(&model(&[1, 3, 4], &parts(&[1, 2]))).unwrap();
    assert_eq!(imported.network.layers[1], LayerSpec::MaxPool { kernel: [3, 4], stride: None });
    for axes in [&[2, 3][..], &[1], &[1, 1], &[0, 1], &[1, 2, 3]] {
        assert!(obstacles(&model(&[1, 3, 4], &parts(axes))).contains("height and width"), "{axes:?}");
    }
}

#[test]
fn every_obstacle_is_named_at_once() {
    let parts = [
        node("LSTM", &["x"], "first", &[]),
        node("Conv", &["first", "k"], "second", &[attribute("group", 2), list("dilations", &[2, 2])]),
        node("MaxPool", &["second"], "third", &[list("kernel_shape", &[2, 2]), list("pads", &[1, 1, 1, 1])]),
        node("Gelu", &["third"], "fourth", &[word("approximate", "erf")]),
        node("Gemm", &["fourth", "w"], "y", &[attribute("transA", 1), attribute("novel", 1)]),
        // What the output does not depend on does not matter.
        node("NonMaxSuppression", &["x"], "unused", &[]),
    ];
    let bytes = model(&[4], &parts);
    let named = obstacles(&bytes);
    for word in [
        "LSTM (`first`)",
        "group is 2",
        "dilations is [2, 2]",
        "pads",
        "approximate is erf",
        "transA",
        "novel",
    ] {
        assert!(named.contains(word), "{word} in {named}");
    }
    assert!(!named.contains("NonMax"), "{named}");
    let message = import(&bytes).unwrap_err().to_string();
    assert!(message.contains("What can be imported: Gemm"), "{message}");
}

#[test]
fn what_is_not_a_chain_is_refused() {
    let w = linear("w", 2, 2);
    let first = node("MatMul", &["x", "w"], "a", &[]);
    let residual = [first.clone(), w.clone(), node("Add", &["a", "x"], "y", &[])];
    assert!(obstacles(&model(&[2], &residual)).contains("branches"));
    let used_before_bias = [
        first.clone(),
        w.clone(),
        tensor("b", &[2], &[1.0, 2.0]),
        node("Add", &["a", "b"], "s", &[]),
        node("Mul", &["a", "s"], "y", &[]),
    ];
    assert!(obstacles(&model(&[2], &used_before_bias)).contains("branches"));
    let cycle = [node("MatMul", &["y", "w"], "a", &[]), w.clone(), node("Add", &["a", "x"], "y", &[])];
    assert!(invalid(&model(&[2], &cycle)).contains("cycle"));
    let dangling = [node("MatMul", &["nothing", "w"], "y", &[]), w.clone()];
    assert!(invalid(&model(&[2], &dangling)).contains("`nothing`, which nobody makes"));
    let twice = [node("MatMul", &["x", "w"], "y", &[]), node("Tanh", &["x"], "y", &[]), w.clone()];
    assert!(invalid(&model(&[2], &twice)).contains("two operations"));
    let outputs = [node("MatMul", &["x", "w"], "y", &[]), w.clone(), declared(12, "z", &[-1, 2])];
    assert!(invalid(&model(&[2], &outputs)).contains("2 outputs"));
    let open = [node("GlobalMaxPool", &["x"], "y", &[])];
    assert!(invalid(&model(&[1, -1, 8], &open)).contains("fixed size along axis 2"));
    let moved =
        [node("Transpose", &["x"], "t", &[list("perm", &[1, 0])]), node("MatMul", &["t", "w"], "y", &[]), w];
    assert!(obstacles(&model(&[2], &moved)).contains("moves the batch"));
    let softmax =
        [first, linear("w", 2, 2), node("Softmax", &["a"], "p", &[]), node("Relu", &["p"], "y", &[])];
    assert!(obstacles(&model(&[2], &softmax)).contains("last operation"));
    let scaled = [
        node("Mul", &["x", "c"], "h", &[]),
        tensor("c", &[], &[0.5]),
        node("MatMul", &["h", "w"], "y", &[]),
        linear("w", 2, 2),
    ];
    assert!(obstacles(&model(&[2], &scaled)).contains("not one of the activations"));
}

#[test]
fn hostile_sizes_are_typed_errors() {
    let matmul = node("MatMul", &["x", "w"], "y", &[]);
    let with = |weights: Vec<u8>| model(&[2], &[matmul.clone(), weights]);
    assert!(invalid(&with(raw("w", 1, &[2, 2], &[0; 15]))).contains("15 bytes"));
    assert!(invalid(&with(raw("w", 1, &[-2, 2], &[0; 16]))).contains("[-2, 2]"));
    assert!(invalid(&with(raw("w", 1, &[i64::MAX, i64::MAX], &[]))).contains("impossible"));
    assert!(invalid(&with(raw("w", 1, &[1 << 40, 1 << 20], &[]))).contains("bytes"));
    assert!(invalid(&with(raw("w", 1, &[1; 100], &[0; 4]))).contains("impossible"));
    assert!(obstacles(&with(raw("w", 8, &[2, 2], &[]))).contains("STRING"));
    assert!(invalid(&with(tensor("w", &[2, 1], &[f32::NAN, 1.0]))).contains("NaN at flat index 0"));
    assert!(invalid(&with(linear("w", 3, 1))).contains("2 features"));
    assert!(obstacles(&with(raw("w", 1, &[0, 1 << 40, 1 << 40], &[]))).contains("not 2"));
    assert!(invalid(&with(raw("w", 1, &[2, 0], &[]))).contains("empty"));
    let bytes = model(&[1 << 40, 1 << 40], &[matmul.clone(), linear("w", 2, 2)]);
    assert!(invalid(&bytes).contains("impossible dimensions"));
    assert!(matches!(import(&[]), Err(Error::Empty { .. })));
    for length in 1..200 {
        let bytes = with(linear("w", 2, 2));
        assert!(import(&bytes[..bytes.len() - length.min(bytes.len() - 1)]).is_err());
    }
}

#[test]
fn nesting_and_repetition_cost_neither_stack_nor_memory() {
    // Graphs in attributes of nodes of graphs: 5000 levels, five times what overflows a recursive reader.
    let mut nested = Vec::new();
    for _ in 0..5000 {
        nested = protobuf::bytes(1, protobuf::bytes(5, protobuf::bytes(6, nested)));
    }
    assert!(import(&whole(&[nested])).is_err());
    // A list of sizes that doubles with every node, and a constant that is copied by every node.
    let mut parts = vec![integers("s0", &[1, 2, 3])];
    for i in 0..60 {
        parts.push(node("Concat", &[&format!("s{i}"), &format!("s{i}")], &format!("s{}", i + 1), &[]));
    }
    parts.push(node("Reshape", &["x", "s60"], "y", &[]));
    assert!(obstacles(&model(&[2], &parts)).contains("joins more than"));
    let mut parts = vec![linear("t0", 100, 100)];
    for i in 0..500 {
        let (from, to) = (format!("t{i}"), format!("t{}", i + 1));
        parts.push(node("Transpose", &[&from], &to, &[list("perm", &[1, 0])]));
    }
    parts.push(node("MatMul", &["x", "t500"], "y", &[]));
    assert!(obstacles(&model(&[100], &parts)).contains("memory"));
}

#[test]
fn second_files_are_read_only_beside_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let weights: Vec<u8> = [1.0f32, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    for place in [directory.path().join("w.bin"), inner.join("w.bin")] {
        std::fs::write(place, &weights).unwrap();
    }
    let entry = |key: &str, value: &str| {
        protobuf::bytes(13, [protobuf::bytes(1, key), protobuf::bytes(2, value)].concat())
    };
    let write = |location: &str, offset: &str| {
        let place = [entry("location", location), entry("offset", offset), protobuf::integer(14, 1)].concat();
        let dims = [protobuf::integer(1, 2), protobuf::integer(1, 1), protobuf::integer(2, 1)].concat();
        let tensor = protobuf::bytes(5, [dims, protobuf::bytes(8, "w"), place].concat());
        let path = inner.join("model.onnx");
        std::fs::write(&path, model(&[2], &[node("MatMul", &["x", "w"], "y", &[]), tensor])).unwrap();
        import_onnx(&path)
    };
    assert_eq!(write("w.bin", "0").unwrap().theta, [1.0, 2.0]);
    let absolute = inner.join("w.bin").display().to_string();
    for location in
        ["../w.bin", "../inner/w.bin", "./../w.bin", absolute.as_str(), "", "..", "missing.bin", "."]
    {
        let error = write(location, "0").unwrap_err();
        assert!(matches!(error, Error::Format { .. }), "{location}: {error}");
    }
    for offset in ["4", "18446744073709551615", "-1", "x"] {
        assert!(matches!(write("w.bin", offset), Err(Error::Format { .. })), "{offset}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(directory.path().join("w.bin"), inner.join("link.bin")).unwrap();
        assert!(write("link.bin", "0").unwrap_err().to_string().contains("leads out"));
    }
}
