//! Models, posteriors and draws: what is written comes back with the same bits, and what does
//! not fit is refused.

mod common;

use std::fs;
use std::path::Path;

use common::{draws, model, posterior, repair_json, repair_lines, repair_tensors, run};
use riemla::curvature::{Structure, Subset};
use riemla::data::toy::two_moons;
use riemla::nn::{Activation, NetworkSpec};
use riemla::objective::PriorPrecision;
use riemla::random::{Purpose, stream};
use riemla_files::samples::{read_samples, write_samples};
use riemla_files::tensors::{TensorFile, TensorRef, write_tensors};
use riemla_files::{Error, Existing, HeldOut, Model, SavedPosterior, import_state_dict, write_state_dict};
use safetensors::tensor::{Dtype, TensorView};

/// Changes a file as a program that keeps its checksum right would.
fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    let mut bytes = text.replacen(from, to, 1).into_bytes();
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        repair_lines(&mut bytes);
    } else {
        repair_json(&mut bytes);
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_model_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    let model = model();
    model.write(&path, Existing::Refuse).unwrap();
    assert_eq!(Model::read(&path).unwrap(), model);
    assert!(matches!(model.write(&path, Existing::Refuse), Err(Error::Exists { .. })));
    let other = Model { prior_precision: PriorPrecision::PerLayer(vec![0.1, 0.3]), ..model };
    other.write(&path, Existing::Replace).unwrap();
    assert_eq!(Model::read(&path).unwrap(), other);
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn bad_models_are_typed_errors() {
    let directory = tempfile::tempdir().unwrap();
    let fresh = |name: &str| {
        let path = directory.path().join(name);
        model().write(&path, Existing::Refuse).unwrap();
        path
    };
    let path = fresh("version");
    replace(&path.join("model.json"), "\"format_version\": 2", "\"format_version\": 7");
    assert!(matches!(Model::read(&path), Err(Error::Version { found: 7, .. })));
    let path = fresh("old");
    fs::write(path.join("model.json"), "{\"format_version\": 1, \"riemla_version\": \"0.1.0\"}").unwrap();
    assert!(matches!(Model::read(&path), Err(Error::Version { found: 1, supported: 2, .. })));
    let path = fresh("json");
    replace(&path.join("model.json"), "\"likelihood\"", "\"likelyhood\"");
    assert!(matches!(Model::read(&path), Err(Error::Json { line: 4.., .. })));
    let path = fresh("empty");
    fs::write(path.join("model.json"), "").unwrap();
    assert!(matches!(Model::read(&path), Err(Error::Damaged { .. })));
    let path = fresh("huge");
    replace(&path.join("model.json"), "\"outputs\": 4", "\"outputs\": 18446744073709551615");
    assert!(matches!(Model::read(&path), Err(Error::Content { .. })));
    let path = fresh("shape");
    replace(&path.join("model.json"), "\"outputs\": 4", "\"outputs\": 5");
    assert!(matches!(Model::read(&path), Err(Error::Tensors { problems, .. }) if problems.len() == 3));
    let path = fresh("scale");
    replace(&path.join("model.json"), "\"std\": ", "\"std\": -");
    assert!(matches!(Model::read(&path), Err(Error::Column { .. })));
    assert!(matches!(Model::read(&directory.path().join("none")), Err(Error::Io { .. })));
}

#[test]
fn weights_that_are_cut_or_hostile_are_typed_errors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w.safetensors");
    write_tensors(&path, &[TensorRef::new("a", vec![2, 2], &[1.0, 2.0, 3.0, 4.0])]).unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(TensorFile::from_bytes("w", whole.clone()).get("a").unwrap().values, [1.0, 2.0, 3.0, 4.0]);
    for length in 1..whole.len() {
        let error = TensorFile::from_bytes("w", whole[..length].to_vec()).get("a").unwrap_err();
        assert!(matches!(error, Error::Truncated { .. } | Error::Format { .. }), "{length}: {error}");
    }
    let error = TensorFile::from_bytes("w", whole[..whole.len() - 1].to_vec()).get("a").unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }));
    assert!(matches!(TensorFile::from_bytes("w", vec![]).get("a"), Err(Error::Empty { .. })));
    let longer = [whole.as_slice(), &[0]].concat();
    assert!(matches!(TensorFile::from_bytes("w", longer).get("a"), Err(Error::Format { .. })));
    for length in [u64::MAX, 1 << 40, 99_000_000] {
        let mut hostile = whole.clone();
        hostile[..8].copy_from_slice(&length.to_le_bytes());
        assert!(TensorFile::from_bytes("w", hostile).get("a").is_err());
    }
    let header = br#"{"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,8]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
    assert!(matches!(TensorFile::from_bytes("w", bytes).get("a"), Err(Error::Format { .. })));
}

#[test]
fn state_dicts_of_any_float_type_and_prefix_are_imported() {
    let spec = NetworkSpec::mlp(&[2, 1], Activation::Tanh);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("net.safetensors");
    let half = [0x00, 0x3c, 0x00, 0xc0]; // 1, −2
    let brain = [0x40, 0x40]; // 3
    let weight = TensorView::new(Dtype::F16, vec![1, 2], &half).unwrap();
    let bias = TensorView::new(Dtype::BF16, vec![1], &brain).unwrap();
    let named = [("model.net.0.weight", weight.clone()), ("model.net.0.bias", bias.clone())];
    fs::write(&path, safetensors::serialize(named, None).unwrap()).unwrap();
    assert_eq!(import_state_dict(&path, &spec).unwrap().theta, [1.0, -2.0, 3.0]);

    let integers = [0; 4];
    let integer = TensorView::new(Dtype::I32, vec![1], &integers).unwrap();
    let wrong = TensorView::new(Dtype::F16, vec![2, 1], &half).unwrap();
    let named = [("0.weight", wrong), ("0.bias", integer), ("running_mean", bias)];
    fs::write(&path, safetensors::serialize(named, None).unwrap()).unwrap();
    match import_state_dict(&path, &spec) {
        Err(Error::Tensors { problems, .. }) => {
            assert_eq!(problems.len(), 3, "{problems:?}");
            assert!(problems[0].contains("0.weight") && problems[0].contains("[2, 1]"));
            assert!(problems[1].contains("0.bias") && problems[1].contains("I32"));
            assert!(problems[2].contains("running_mean"));
        }
        other => panic!("{other:?}"),
    }
    let network = riemla::nn::Network::new(&spec).unwrap();
    write_state_dict(&path, &network, &[1.0, f64::NAN, 0.5]).unwrap();
    let error = import_state_dict(&path, &spec).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
}

#[test]
fn a_posterior_comes_back_and_draws_the_same_bits() {
    let directory = tempfile::tempdir().unwrap();
    let bias = || Subset::Parameters(vec!["0.bias".into(), "2.weight".into()]);
    let cases = [
        (Structure::Full, Subset::All),
        (Structure::Diagonal, Subset::LastLayer),
        (Structure::Kronecker, Subset::All),
        (Structure::Kronecker, bias()),
        (Structure::LowRank { rank: 5 }, Subset::All),
        (Structure::LowRank { rank: 100 }, bias()),
    ];
    for (i, (structure, subset)) in cases.into_iter().enumerate() {
        let path = directory.path().join(i.to_string());
        let saved = posterior(structure, subset);
        saved.write(&path, Existing::Refuse).unwrap();
        let read = SavedPosterior::read(&path).unwrap();
        assert_eq!((&read.model, &read.config), (&saved.model, &saved.config));
        assert_eq!(read.data, saved.data);
        assert_eq!(read.laplace.prior, saved.laplace.prior);
        assert_eq!(read.laplace.log_marginal_likelihood, saved.laplace.log_marginal_likelihood);
        let draw = |p: &SavedPosterior| p.laplace.gaussian.draw_tangent(&mut stream(1, Purpose::Draw, 2));
        assert_eq!(draw(&read), draw(&saved));
        assert_eq!(read.laplace.gaussian.precision().parts(), saved.laplace.gaussian.precision().parts());
        assert_eq!(read.laplace.eigenpairs, saved.laplace.eigenpairs);
        let tensors = path.join("posterior.safetensors");
        let bytes = fs::read(&tensors).unwrap();
        fs::write(&tensors, &bytes[..bytes.len() - 8]).unwrap();
        assert!(matches!(SavedPosterior::read(&path), Err(Error::Damaged { .. })));
        let mut damaged = bytes.clone();
        let end = damaged.len();
        damaged[end - 8..].copy_from_slice(&f64::to_le_bytes(-9.0));
        fs::write(&tensors, &damaged).unwrap();
        assert!(matches!(SavedPosterior::read(&path), Err(Error::Damaged { .. })));
        repair_tensors(&mut damaged);
        fs::write(&tensors, damaged).unwrap();
        assert!(matches!(SavedPosterior::read(&path), Err(Error::Content { .. })));
    }
}

#[test]
fn samples_come_back_and_leftovers_are_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let mut drawn = draws(3);
    if let Some(geodesic) = &mut drawn[1].geodesic {
        geodesic.diagnostics.loss_end = f64::INFINITY;
    }
    fs::write(directory.path().join(".riemla-tmp-1-0-samples.json"), "{").unwrap();
    write_samples(directory.path(), &run(), &drawn).unwrap();
    let read = read_samples(directory.path()).unwrap();
    assert_eq!(read.draws, drawn);
    assert_eq!(read.run, run());
    let lines = directory.path().join("samples.jsonl");
    replace(&lines, "\"reached\"", "\"lost\"");
    assert!(matches!(read_samples(directory.path()), Err(Error::Json { line: 1, .. })));
    fs::write(&lines, "").unwrap();
    assert!(matches!(read_samples(directory.path()), Err(Error::Mismatch { .. })));
}

#[test]
fn held_out_rows_are_found_again_only_in_the_same_data() {
    let data = two_moons(20, 0.2, 1).unwrap();
    let (held_out, parts) = HeldOut::choose(&data, 5, 7).unwrap();
    assert_eq!((parts.train.len(), parts.validation.as_ref().map(|v| v.len())), (15, Some(5)));
    assert_eq!(held_out.split(&data), Some(parts));
    assert_eq!(held_out.split(&two_moons(20, 0.2, 2).unwrap()), None);
    assert_eq!(held_out.split(&two_moons(21, 0.2, 1).unwrap()), None);
    assert!(HeldOut::choose(&data, 21, 7).is_none());
}
