//! ONNX graphs made by hand: what exporters seldom write, and what is refused, by name.

mod protobuf;

use protobuf::{attribute, declared, integers, list, model, node, number, raw, tensor, whole, word};
use riemla::nn::{LayerSpec, Network, Trace};
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
fn normalisation_is_merged_into_the_layer_before_or_is_a_layer() {
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
    let imported = import(&model(&[1], &after)).unwrap();
    assert_eq!(imported.network.layers[2], LayerSpec::Scale { bias: true });
    assert_eq!(imported.theta, [1.0, 10.0, 1.0, 1.0, -0.5, -4.5]);
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
        node("Conv", &["first", "k"], "second", &[attribute("group", 0), list("dilations", &[2, 0])]),
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
        "group is 0",
        "dilations is [2, 0]",
        "pads",
        "approximate is erf",
        "transA",
        "novel",
    ] {
        assert!(named.contains(word), "{word} in {named}");
    }
    assert!(!named.contains("NonMax"), "{named}");
    let error = import(&bytes).unwrap_err();
    let message = error.to_string();
    assert!(message.lines().count() == 3 && message.contains(" more\n"), "{message}");
    assert!(matches!(error, Error::Unsupported { supported, .. } if supported.contains("Gemm")), "{message}");
}

/// Values of an imported network at one input.
fn values(bytes: &[u8], x: &[f64]) -> Vec<f64> {
    let imported = import(bytes).unwrap();
    let network = Network::new(&imported.network).unwrap();
    let mut trace = Trace::new(&network, 1);
    network.forward(&imported.theta, x, &mut trace);
    trace.output().to_vec()
}

#[test]
fn sums_of_branches_are_imported() {
    let w = tensor("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let first = node("MatMul", &["x", "w"], "a", &[]);
    let x = [0.5, -0.25];
    let a = [0.5 - 0.75, 1.0 - 1.0];
    let residual = |operator: &str, order: [&str; 2]| {
        values(&model(&[2], &[first.clone(), w.clone(), node(operator, &order, "y", &[])]), &x)
    };
    assert_eq!(residual("Add", ["a", "x"]), [a[0] + x[0], a[1] + x[1]]);
    assert_eq!(residual("Add", ["x", "a"]), [a[0] + x[0], a[1] + x[1]]);
    assert_eq!(residual("Sub", ["x", "a"]), [x[0] - a[0], x[1] - a[1]]);
    assert_eq!(residual("Sub", ["a", "x"]), [a[0] - x[0], a[1] - x[1]]);
    // An activation that two branches use is one layer; a factor of a branch is part of its weights.
    let parts = [
        first.clone(),
        w.clone(),
        node("Tanh", &["a"], "t", &[]),
        linear("v", 2, 2),
        node("MatMul", &["t", "v"], "b", &[]),
        node("Mul", &["b", "half"], "c", &[]),
        tensor("half", &[], &[0.5]),
        node("Add", &["t", "c"], "y", &[]),
    ];
    let imported = import(&model(&[2], &parts)).unwrap();
    let [LayerSpec::Linear { .. }, LayerSpec::Activation { .. }, LayerSpec::Residual { body, shortcut }] =
        imported.network.layers.as_slice()
    else {
        panic!("{:?}", imported.network)
    };
    assert_eq!((body.as_slice(), shortcut.len()), (&[LayerSpec::Linear { outputs: 2, bias: false }][..], 0));
    // A function that is a sum of two known ones, of one tensor.
    let parts =
        [first.clone(), w.clone(), node("Tanh", &["a"], "t", &[]), node("Add", &["a", "t"], "y", &[])];
    let found = values(&model(&[2], &parts), &x);
    assert!(found.iter().zip(a).all(|(found, a)| (found - (a + a.tanh())).abs() < 1e-15), "{found:?}");
    // A layer whose output is used before and after its bias is there with both.
    let parts = [
        first.clone(),
        w.clone(),
        tensor("b", &[2], &[1.0, 2.0]),
        node("Add", &["a", "b"], "s", &[]),
        node("Tanh", &["s"], "t", &[]),
        node("Add", &["a", "t"], "y", &[]),
    ];
    let found = values(&model(&[2], &parts), &x);
    let expected = [a[0] + (a[0] + 1.0).tanh(), a[1] + (a[1] + 2.0).tanh()];
    assert!(found.iter().zip(expected).all(|(found, y)| (found - y).abs() < 1e-15), "{found:?}");
}

#[test]
fn branches_that_are_no_sums_are_refused() {
    let w = linear("w", 2, 2);
    let matmul = |from: &str, to: &str| node("MatMul", &[from, "w"], to, &[]);
    let add = |a: &str, b: &str, to: &str| node("Add", &[a, b], to, &[]);
    let product = [matmul("x", "a"), w.clone(), node("Mul", &["a", "x"], "y", &[])];
    assert!(obstacles(&model(&[2], &product)).contains("only sums of branches"));
    // f(x) is part of the first sum, and of another branch of the second.
    let crossed = [matmul("x", "f"), w.clone(), add("x", "f", "s"), matmul("f", "g"), add("s", "g", "y")];
    assert!(obstacles(&model(&[2], &crossed)).contains("branches cross"));
    // s + x, again and again: the nesting has an end.
    let mut parts = vec![matmul("x", "s0"), w.clone()];
    parts.extend((0..100).map(|i| add(&format!("s{i}"), "x", &format!("s{}", i + 1))));
    parts.push(matmul("s100", "y"));
    assert!(obstacles(&model(&[2], &parts)).contains("nested more than"));
    let shapes = [matmul("x", "a"), linear("w", 2, 3), add("a", "x", "y")];
    assert!(obstacles(&model(&[2], &shapes)).contains("adds branches of [3] and [2]"));
}

#[test]
fn factors_and_normalisations_before_a_layer_become_part_of_it() {
    let x = [0.5, -0.25];
    let scaled = [
        node("Sub", &["x", "m"], "c", &[]),
        tensor("m", &[2], &[0.25, 0.5]),
        node("Div", &["c", "d"], "n", &[]),
        tensor("d", &[2], &[0.5, 4.0]),
        node("MatMul", &["n", "w"], "y", &[]),
        tensor("w", &[2, 1], &[3.0, 8.0]),
    ];
    let imported = import(&model(&[2], &scaled)).unwrap();
    assert_eq!(imported.network.layers, [LayerSpec::Linear { outputs: 1, bias: true }]);
    assert_eq!(imported.theta, [6.0, 2.0, -2.5]);
    assert_eq!(values(&model(&[2], &scaled), &x), [0.0]);
    // One number for all: also a factor of every channel.
    let half = [
        node("Mul", &["x", "c"], "h", &[]),
        tensor("c", &[], &[0.5]),
        node("MatMul", &["h", "w"], "y", &[]),
        tensor("w", &[2, 1], &[3.0, 8.0]),
    ];
    assert_eq!(import(&model(&[2], &half)).unwrap().theta, [1.5, 4.0]);
    // With padding a shift would not reach the border: a layer of its own.
    let conv = |pads: &[i64], shift: f32| {
        let parts = [
            node("BatchNormalization", &["x", "g", "b", "m", "v"], "n", &[]),
            tensor("g", &[2], &[1.0, 2.0]),
            tensor("b", &[2], &[shift, 0.0]),
            tensor("m", &[2], &[0.0, 0.0]),
            tensor("v", &[2], &[1.0, 1.0]),
            node("Conv", &["n", "k"], "c", &[list("pads", pads), attribute("group", 2)]),
            tensor("k", &[2, 1, 1, 1], &[3.0, 5.0]),
            node("Flatten", &["c"], "y", &[]),
        ];
        import(&model(&[2, 1, 1], &parts)).unwrap()
    };
    let merged = conv(&[0, 0, 0, 0], 1.0);
    assert!(matches!(merged.network.layers[0], LayerSpec::Conv2d { groups: 2, bias: true, .. }));
    let deviation = (1.0f64 + 1e-5).sqrt();
    let expected = [3.0 / deviation, 10.0 / deviation, 3.0, 0.0];
    assert!(merged.theta.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", merged.theta);
    assert!(merged.notes.concat().contains("BatchNormalization is merged"), "{:?}", merged.notes);
    assert!(matches!(conv(&[1, 1, 1, 1], 0.0).network.layers[0], LayerSpec::Conv2d { .. }));
    let kept = conv(&[1, 1, 1, 1], 1.0);
    assert_eq!(kept.network.layers[0], LayerSpec::Scale { bias: true });
    assert!(kept.notes.concat().contains("became a scale layer"), "{:?}", kept.notes);
}

#[test]
fn what_is_no_graph_of_layers_is_refused() {
    let w = linear("w", 2, 2);
    let first = node("MatMul", &["x", "w"], "a", &[]);
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
    let cubed = [
        node("Pow", &["x", "c"], "h", &[]),
        tensor("c", &[], &[3.0]),
        node("MatMul", &["h", "w"], "y", &[]),
        linear("w", 2, 2),
    ];
    assert!(obstacles(&model(&[2], &cubed)).contains("not one of the activations"));
    // A factor of more channels than there is memory for.
    let wide = [
        node("Mul", &["x", "c"], "h", &[]),
        tensor("c", &[], &[3.0]),
        node("MatMul", &["h", "w"], "y", &[]),
        linear("w", 2, 2),
    ];
    assert!(obstacles(&model(&[1 << 31], &wide)).contains("memory"));
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
