//! A flipped bit anywhere in a stored file is an error that says so, never another result.

mod common;

use std::fs;
use std::path::Path;

use common::{draws, model, posterior, run};
use riemla::curvature::{Structure, Subset};
use riemla_files::samples::{read_samples, write_samples};
use riemla_files::{Error, Existing, Model, SavedPosterior, TrainingData, import_state_dict};

/// Flips a bit in every byte of a file, another bit each time, and reads what it belongs to.
fn every_flip_is_seen<T>(path: &Path, read: impl Fn() -> riemla_files::Result<T>) {
    let whole = fs::read(path).unwrap();
    assert!(read().is_ok(), "{}", path.display());
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(path, &damaged).unwrap();
        match read() {
            Err(Error::Damaged { file, problem, remedy }) => {
                assert_eq!(Path::new(&file), path);
                assert!(!problem.is_empty() && remedy.contains("again"), "{problem}; {remedy}");
            }
            Err(other) => panic!("{}, byte {place}: not reported as damaged: {other}", path.display()),
            Ok(_) => panic!("{}, byte {place}: read as if nothing had happened", path.display()),
        }
    }
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(path, &whole[..length]).unwrap();
        assert!(matches!(read(), Err(Error::Damaged { .. })), "{}, cut at {length}", path.display());
    }
    fs::write(path, [&whole[..], b" "].concat()).unwrap();
    assert!(read().is_err(), "{}: a byte more", path.display());
    fs::write(path, &whole).unwrap();
    assert!(read().is_ok());
}

#[test]
fn models() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    model().write(&path, Existing::Refuse).unwrap();
    for file in ["model.json", "weights.safetensors"] {
        every_flip_is_seen(&path.join(file), || Model::read(&path));
    }
}

#[test]
fn posteriors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("posterior");
    posterior(Structure::Kronecker, Subset::LastLayer).write(&path, Existing::Refuse).unwrap();
    for file in
        ["model.json", "weights.safetensors", "posterior.json", "posterior.safetensors", "data.safetensors"]
    {
        every_flip_is_seen(&path.join(file), || SavedPosterior::read(&path));
    }
}

#[test]
fn sets_of_draws() {
    let directory = tempfile::tempdir().unwrap();
    write_samples(directory.path(), &run(), &draws(3)).unwrap();
    for file in ["samples.json", "samples.safetensors", "samples.jsonl"] {
        let path = directory.path().join(file);
        if file != "samples.jsonl" {
            every_flip_is_seen(&path, || read_samples(directory.path()));
            continue;
        }
        // Lines can also be lost as a whole, or run together.
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(&path, &damaged).unwrap();
            let error = read_samples(directory.path()).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "byte {place}: {error}");
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn exported_weights_and_data() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.safetensors");
    let data = posterior(Structure::Diagonal, Subset::All).data.unwrap();
    data.write(&path).unwrap();
    every_flip_is_seen(&path, || TrainingData::read(&path, "write it again"));
    // Files of other programs have no checksum; one that is there must be right.
    let (model, path) = (model(), directory.path().join("net.safetensors"));
    let network = riemla::nn::Network::new(&model.network).unwrap();
    riemla_files::write_state_dict(&path, &network, &model.theta).unwrap();
    let whole = fs::read(&path).unwrap();
    let data = 8 + u64::from_le_bytes(*whole.first_chunk().unwrap()) as usize;
    for place in data..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(&path, &damaged).unwrap();
        assert!(
            matches!(import_state_dict(&path, &model.network), Err(Error::Damaged { .. })),
            "byte {place}"
        );
    }
}
