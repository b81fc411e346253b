//! ONNX files of real exporters, and state dicts: they give the outputs of the original programs.

use std::path::{Path, PathBuf};

use riemla::nn::{Network, NetworkSpec, Shape, Trace, pack, unpack};
use riemla::objective::Likelihood;
use riemla_files::tensors::{TensorRef, write_tensors};
use riemla_files::{ImportedNetwork, import_onnx, import_state_dict, read_model_spec};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/onnx")
}

fn outputs(spec: &NetworkSpec, theta: &[f64], inputs: &[f64]) -> Vec<f64> {
    let network = Network::new(spec).unwrap();
    let n = inputs.len() / network.inputs();
    let block = pack(inputs, network.inputs(), &(0..n).collect::<Vec<_>>());
    let mut trace = Trace::new(&network, n);
    network.forward(theta, &block, &mut trace);
    let mut rows = Vec::new();
    unpack(trace.output(), n, network.outputs(), &mut rows);
    rows
}

#[derive(serde::Deserialize)]
struct Case {
    files: Vec<String>,
    shape: Vec<usize>,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
}

#[derive(serde::Deserialize)]
struct Cases {
    cases: std::collections::BTreeMap<String, Case>,
}

fn cases(name: &str) -> Cases {
    serde_json::from_slice(&std::fs::read(directory().join(name)).unwrap()).unwrap()
}

/// Height × width × channels to channels × height × width, for all samples.
fn channels_first(inputs: &[f64], shape: &[usize]) -> Vec<f64> {
    let &[height, width, channels] = shape else { panic!("{shape:?}") };
    let sample = |values: &[f64]| -> Vec<f64> {
        let place = |i: usize| (i % (height * width)) * channels + i / (height * width);
        (0..values.len()).map(|i| values[place(i)]).collect()
    };
    inputs.chunks(height * width * channels).flat_map(sample).collect()
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0f64, |scale, value| scale.max(value.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-5 * scale, "{what}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn exports_of_pytorch_give_its_outputs() {
    let mut imported = 0;
    for (name, case) in cases("cases_torch.json").cases {
        for file in &case.files {
            let path = directory().join(file);
            let (spec, theta) = if file.ends_with(".onnx") {
                let ImportedNetwork { network, theta, likelihood, notes } = import_onnx(&path).unwrap();
                let categorical = (name == "logsoftmax").then_some(Likelihood::Categorical);
                assert_eq!(likelihood, categorical);
                // The old exporter leaves the second normalisation of `norm` as it is.
                let noted = categorical.is_some() || file == "script_norm_13.onnx";
                assert_eq!(notes.len(), usize::from(noted), "{notes:?}");
                (network, theta)
            } else {
                let spec = read_model_spec(&directory().join(format!("{name}.toml"))).unwrap().network;
                let theta = import_state_dict(&path, &spec).unwrap().theta;
                (spec, theta)
            };
            assert_close(&outputs(&spec, &theta, &case.inputs), &case.outputs, file);
            imported += 1;
        }
    }
    assert_eq!(imported, 20);
}

#[test]
fn branches_and_normalisations_of_pytorch_give_its_outputs() {
    let cases = cases("cases_branches.json").cases;
    let mut imported = 0;
    for (name, case) in &cases {
        for file in case.files.iter().filter(|file| file.ends_with(".onnx")) {
            let found = import_onnx(&directory().join(file)).unwrap_or_else(|error| panic!("{error}"));
            assert_close(&outputs(&found.network, &found.theta, &case.inputs), &case.outputs, file);
            let text = serde_json::to_string(&found.network).unwrap();
            let branches = matches!(name.as_str(), "norms" | "resnet" | "preactivation");
            assert_eq!(text.contains("residual"), branches, "{file}: {text}");
            assert_eq!(text.contains("scale"), name == "preactivation", "{file}: {text}");
            // Two normalisations with factors, one without.
            let norms = |affine: bool| text.matches(&format!("\"affine\":{affine}")).count();
            assert_eq!([norms(true), norms(false)], if name == "norms" { [2, 1] } else { [0, 0] }, "{file}");
            imported += 1;
        }
    }
    assert_eq!(imported, 10);
}

#[test]
fn state_dicts_with_any_names_give_the_outputs_of_pytorch() {
    let cases = cases("cases_branches.json").cases;
    for name in ["named", "norms", "resnet"] {
        let case = &cases[name];
        let spec = read_model_spec(&directory().join(format!("{name}.toml"))).unwrap().network;
        let file = directory().join(format!("{name}.safetensors"));
        let found = import_state_dict(&file, &spec).unwrap_or_else(|error| panic!("{error}"));
        assert_close(&outputs(&spec, &found.theta, &case.inputs), &case.outputs, name);
        let notes = found.notes.join("; ");
        assert_eq!(notes.contains("batch normalisations"), name == "resnet", "{notes}");
        if name == "named" {
            // Numbers are counted, not spelled: 2 comes before 10.
            assert!(notes.contains("fc1 → 0, fc2 → 2, fc10 → 4, out → 6"), "{notes}");
        }
    }
}

#[test]
fn names_that_do_not_say_the_order_are_not_guessed() {
    let spec = read_model_spec(&directory().join("named.toml")).unwrap().network;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.safetensors");
    let write = |names: [&str; 4]| {
        let shapes = [[4, 3], [4, 4], [4, 4], [2, 4]];
        let values: Vec<Vec<f64>> = shapes.iter().map(|[a, b]| vec![0.5; a * b]).collect();
        let bias = [0.25; 4];
        let mut tensors = Vec::new();
        for ((name, dims), values) in names.iter().zip(shapes).zip(&values) {
            tensors.push(TensorRef::new(format!("{name}.weight"), dims.to_vec(), values));
            if dims[0] == 4 {
                tensors.push(TensorRef::new(format!("{name}.bias"), vec![4], &bias));
            }
        }
        write_tensors(&path, &tensors).unwrap();
        import_state_dict(&path, &spec)
    };
    assert!(write(["first", "block.3", "block.7", "last"]).is_ok());
    let error = write(["first", "encoder", "decoder", "last"]).unwrap_err().to_string();
    for words in ["`decoder` and `encoder` have the same shapes", "save_file("] {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(error.lines().count(), 3, "{error}");
    // Too many of one kind, and none of another.
    let small = NetworkSpec::mlp(&[3, 4, 2], riemla::nn::Activation::Tanh);
    let error = import_state_dict(&path, &small).unwrap_err();
    let riemla_files::Error::Tensors { problems, .. } = &error else { panic!("{error}") };
    assert!(problems.iter().any(|p| p.contains("the network has 0 layers of these shapes")), "{problems:?}");
    assert!(problems.iter().any(|p| p.contains("nothing has the shapes of layer 2")), "{problems:?}");
}

#[test]
fn pickles_are_refused_with_the_way_to_convert_them() {
    let spec = read_model_spec(&directory().join("named.toml")).unwrap().network;
    let error = import_state_dict(&directory().join("named.pt"), &spec).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 3, "{error}");
    for words in ["pickle", "from safetensors.torch import save_file", "named.safetensors\")"] {
        assert!(error.contains(words), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.pth");
    std::fs::write(&old, b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.").unwrap();
    assert!(import_state_dict(&old, &spec).unwrap_err().to_string().contains("pickle"));
}

#[test]
fn onnx_and_state_dict_give_the_same_network() {
    for name in ["mlp", "cnn"] {
        let spec = read_model_spec(&directory().join(format!("{name}.toml"))).unwrap().network;
        let theta = import_state_dict(&directory().join(format!("{name}.safetensors")), &spec).unwrap().theta;
        let imported = import_onnx(&directory().join(format!("script_{name}_11.onnx"))).unwrap();
        assert_eq!((imported.network, imported.theta), (spec, theta));
    }
}

#[test]
fn exports_of_keras_give_its_outputs() {
    for (name, case) in cases("cases_keras.json").cases {
        for file in &case.files {
            let imported = import_onnx(&directory().join(file)).unwrap();
            let notes = imported.notes.join("; ");
            let mut inputs = case.inputs.clone();
            if case.shape.len() == 3 {
                let [height, width, channels] = [case.shape[0], case.shape[1], case.shape[2]];
                assert_eq!(imported.network.input, Shape::Image { channels, height, width });
                // With one channel both orders are the same, and there is nothing to say.
                assert_eq!(notes.contains("channel by channel"), channels > 1, "{notes}");
                inputs = channels_first(&inputs, &case.shape);
            }
            let mut found = outputs(&imported.network, &imported.theta, &inputs);
            if name == "softmax" {
                // Logits up to a constant per sample: both as logarithms of probabilities.
                for row in found.chunks_mut(3) {
                    let log_sum = row.iter().map(|value| value.exp()).sum::<f64>().ln();
                    row.iter_mut().for_each(|value| *value -= log_sum);
                }
            }
            let expected = match name.as_str() {
                "softmax" => Some(Likelihood::Categorical),
                "sigmoid" => Some(Likelihood::Bernoulli),
                _ => None,
            };
            assert_eq!(imported.likelihood, expected, "{notes}");
            assert_eq!(notes.contains("left out"), expected.is_some(), "{notes}");
            assert_close(&found, &case.outputs, file);
        }
    }
}
