//! Every reader of files, with valid files to damage.

use std::path::Path;

use riemla::curvature::{Structure, Subset};
use riemla::nn::{Activation, NetworkSpec};
use riemla_files::data::DATA_FILE;
use riemla_files::encoding::{Encoding, EncodingOptions, MissingValues, Tally, Task};
use riemla_files::idx::read_idx_from;
use riemla_files::onnx::import_onnx_bytes;
use riemla_files::posterior::TENSORS_FILE;
use riemla_files::samples::{read_samples, write_samples};
use riemla_files::spec::parse_model_spec;
use riemla_files::state_dict::read_state_dict;
use riemla_files::table::{ColumnKinds, read_table_from};
use riemla_files::tensors::TensorFile;
use riemla_files::{Existing, Model, ReadOptions, SampleStore, SavedPosterior, Source};

use crate::common::{draws, model, posterior, repair_json, repair_lines, repair_tensors, run};

/// Whether bytes were read without an error.
type Read = Box<dyn Fn(&[u8]) -> bool>;

/// A reader and what it is given.
pub struct Subject {
    pub name: &'static str,
    pub valid: Vec<Vec<u8>>,
    pub read: Read,
    /// Makes checksums fit again, so that damage gets past them.
    pub repair: Option<fn(&mut [u8])>,
}

fn subject(name: &'static str, valid: Vec<Vec<u8>>, read: impl Fn(&[u8]) -> bool + 'static) -> Subject {
    Subject { name, valid, read: Box::new(read), repair: None }
}

fn source(bytes: &[u8]) -> riemla_files::Result<Source> {
    let options = ReadOptions { max_bytes: 1 << 20, max_columns: 1000, ..ReadOptions::default() };
    Source::from_reader("data", std::io::Cursor::new(bytes.to_vec()), options)
}

/// A table that can be read; whether it can be encoded does not matter, but it must be tried.
fn is_table(bytes: &[u8]) -> bool {
    let read = source(bytes).and_then(|source| read_table_from(source, &ColumnKinds::default()));
    read.is_ok_and(|table| {
        let options = EncodingOptions {
            missing: MissingValues::Indicator,
            ..EncodingOptions::new(Task::Classification)
        };
        let fitted = Encoding::fit(&table, &options);
        let _ = fitted.and_then(|(encoding, _)| encoding.dataset(&table, &mut Tally::default()));
        true
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Files of a directory in testdata/ with this ending.
fn testdata(directory: &str, ending: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(directory);
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let files = paths.iter().filter(|path| path.extension().is_some_and(|found| found == ending));
    files.map(|path| std::fs::read(path).unwrap()).collect()
}

fn npy() -> Vec<u8> {
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n";
    let length = (header.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), &[0; 24]].concat()
}

fn npz() -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["x.npy", "y.npy"] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, &npy()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn tables() -> Vec<Subject> {
    let csv = b"a,b,c\n1,2,x\n3,4.5,\"y, z\"\n-1e9,0,x\n".to_vec();
    let sheet = b"\xef\xbb\xbfa;b;when\r1,5;NA;2024-01-31\r3;;\"y; z\"\r".to_vec();
    let idx = vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4];
    vec![
        subject("CSV", vec![csv.clone(), sheet], is_table),
        subject("CSV in gzip", vec![gzip(&csv)], is_table),
        subject("NPY", vec![npy()], is_table),
        subject("NPZ", vec![npz()], is_table),
        subject("Parquet", testdata("parquet", "parquet"), is_table),
        subject("IDX", vec![gzip(&idx), idx], |bytes| source(bytes).and_then(read_idx_from).is_ok()),
    ]
}

fn networks() -> Vec<Subject> {
    let directory = directory();
    let path = directory.path().join("model");
    model().write(&path, Existing::Refuse).unwrap();
    let weights = std::fs::read(path.join("weights.safetensors")).unwrap();
    let spec = NetworkSpec::mlp(&[2, 4, 2], Activation::Tanh);
    let json = serde_json::to_vec_pretty(&spec).unwrap();
    vec![
        subject("state dict (safetensors)", vec![weights], move |bytes| {
            read_state_dict(&TensorFile::from_bytes("w", bytes.to_vec()), &spec).is_ok()
        }),
        subject("ONNX", testdata("onnx", "onnx"), |bytes| import_onnx_bytes("model", bytes).is_ok()),
        subject("network (TOML)", testdata("onnx", "toml"), |bytes| parse_model_spec("net", bytes).is_ok()),
        subject("network (JSON)", vec![json], |bytes| parse_model_spec("net", bytes).is_ok()),
    ]
}

/// A directory in memory where the system has one: a million files would wear out a disk.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A file in a directory whose other files stay as they are.
fn in_directory(
    name: &'static str,
    file: &'static str,
    write: impl FnOnce(&Path),
    read: impl Fn(&Path) -> bool + 'static,
) -> Subject {
    let directory = directory();
    let place = directory.path().join("it");
    write(&place);
    let path = place.join(file);
    let valid = vec![std::fs::read(&path).unwrap()];
    subject(name, valid, move |bytes| {
        // The directory lives as long as this closure.
        let _ = &directory;
        std::fs::write(&path, bytes).unwrap();
        read(&place)
    })
}

fn saved() -> Vec<Subject> {
    let save_model = |path: &Path| model().write(path, Existing::Refuse).unwrap();
    let save = |structure: Structure| {
        move |path: &Path| posterior(structure, Subset::All).write(path, Existing::Refuse).unwrap()
    };
    let save_samples = |path: &Path| {
        std::fs::create_dir(path).unwrap();
        write_samples(path, &run(), &draws(3)).unwrap();
    };
    let is_posterior = |path: &Path| SavedPosterior::read(path).is_ok();
    let is_samples = |path: &Path| read_samples(path).is_ok();
    let log = in_directory(
        "log of draws",
        "draws.log",
        |path| {
            std::fs::create_dir(path).unwrap();
            let mut store = SampleStore::open(&path.join("draws.log"), &run()).unwrap();
            draws(2).iter().for_each(|draw| store.append(draw).unwrap());
        },
        |path| match SampleStore::open(&path.join("draws.log"), &run()) {
            Ok(mut store) => store.read_all().is_ok(),
            Err(_) => false,
        },
    );
    let kron = save(Structure::Kronecker);
    let low_rank = save(Structure::LowRank { rank: 3 });
    let is_model = |path: &Path| Model::read(path).is_ok();
    let subjects = [
        (in_directory("model.json", "model.json", save_model, is_model), repair_json as fn(&mut [u8])),
        (in_directory("weights.safetensors", "weights.safetensors", save_model, is_model), repair_tensors),
        (in_directory("posterior.json", "posterior.json", save(Structure::Full), is_posterior), repair_json),
        (
            in_directory("posterior.safetensors, full", TENSORS_FILE, save(Structure::Full), is_posterior),
            repair_tensors,
        ),
        (in_directory("posterior.safetensors, kron", TENSORS_FILE, kron, is_posterior), repair_tensors),
        (
            in_directory("posterior.safetensors, low-rank", TENSORS_FILE, low_rank, is_posterior),
            repair_tensors,
        ),
        (in_directory("data.safetensors", DATA_FILE, save(Structure::Full), is_posterior), repair_tensors),
        (in_directory("samples.json", "samples.json", save_samples, is_samples), repair_json),
        (in_directory("samples.jsonl", "samples.jsonl", save_samples, is_samples), repair_lines),
        (log, repair_log),
    ];
    subjects.into_iter().map(|(subject, repair)| Subject { repair: Some(repair), ..subject }).collect()
}

/// Puts the right checksums into a log of draws, wherever its lengths fit.
fn repair_log(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(frame) = bytes.get(at..at + 16) {
        let length = frame[8..12].first_chunk().map_or(0, |length| u32::from_le_bytes(*length)) as usize;
        let Some(payload) = bytes.get(at + 16..).and_then(|rest| rest.get(..length)) else { return };
        let crc = crc32fast::hash(payload);
        bytes[at + 12..at + 16].copy_from_slice(&crc.to_le_bytes());
        at += 16 + length;
    }
}

/// All readers.
pub fn all() -> Vec<Subject> {
    let mut all = tables();
    all.extend(networks());
    all.extend(saved());
    all
}
