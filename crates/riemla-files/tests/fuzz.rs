//! Random bytes and damaged valid files: no reader panics or takes much memory.
//!
//! `RIEMLA_FUZZ_CASES` sets the number of inputs per reader (2000 unless told).

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{draws, model, run};
use proptest::prelude::*;
use riemla::nn::{Activation, NetworkSpec};
use riemla_files::idx::read_idx_from;
use riemla_files::state_dict::read_state_dict;
use riemla_files::table::read_table_from;
use riemla_files::tensors::TensorFile;
use riemla_files::{Existing, Model, ReadOptions, SampleStore, Source};

/// Remembers the largest single allocation.
struct Watching;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises hold for the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Bytes of a valid file with some of them changed, a piece removed or repeated, or noise.
fn damaged(valid: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 0..200);
    let edits = proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6);
    let cut = (any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), 0..4u8);
    (proptest::sample::select(valid), edits, cut, noise).prop_map(|(mut bytes, edits, cut, noise)| {
        for (place, value) in edits {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let (a, b) = (cut.0.index(bytes.len()), cut.1.index(bytes.len()));
        let piece = bytes[a.min(b)..a.max(b)].to_vec();
        match cut.2 {
            0 => bytes.truncate(a),
            1 => bytes.extend(piece),
            2 if a % 3 == 0 => bytes = noise,
            2 => bytes.extend(noise),
            _ => {}
        }
        bytes
    })
}

fn check(valid: Vec<Vec<u8>>, read: impl Fn(&[u8])) {
    let cases = std::env::var("RIEMLA_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let outcome = runner.run(&damaged(valid), |bytes| {
        read(&bytes);
        let largest = LARGEST.load(Ordering::Relaxed);
        prop_assert!(largest < 8 << 20, "an allocation of {largest} bytes for an input of {}", bytes.len());
        Ok(())
    });
    outcome.unwrap();
}

fn source(bytes: &[u8]) -> riemla_files::Result<Source> {
    let options = ReadOptions { max_bytes: 1 << 20, max_columns: 1000 };
    Source::from_reader("data", std::io::Cursor::new(bytes.to_vec()), options)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tables() -> Vec<Vec<u8>> {
    let csv = b"a,b,c\n1,2,x\n3,4.5,\"y, z\"\n-1e9,0,x\n".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend([0; 24]);
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["x.npy", "y.npy"] {
        writer.start_file(name, zip::write::FileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, &npy).unwrap();
    }
    let npz = writer.finish().unwrap().into_inner();
    vec![gzip(&csv), csv, npy, npz]
}

#[test]
fn tables_of_any_bytes() {
    check(tables(), |bytes| drop(source(bytes).and_then(|source| read_table_from(source, &[]))));
}

#[test]
fn images_of_any_bytes() {
    let idx = vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4];
    check(vec![gzip(&idx), idx], |bytes| drop(source(bytes).and_then(read_idx_from)));
}

#[test]
fn weights_of_any_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    model().write(&path, Existing::Refuse).unwrap();
    let weights = std::fs::read(path.join("weights.safetensors")).unwrap();
    let spec = NetworkSpec::mlp(&[2, 4, 2], Activation::Tanh);
    check(vec![weights], |bytes| drop(read_state_dict(&TensorFile::from_bytes("w", bytes.to_vec()), &spec)));
}

#[test]
fn models_of_any_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    model().write(&path, Existing::Refuse).unwrap();
    let file = path.join("model.json");
    let json = std::fs::read(&file).unwrap();
    check(vec![json], |bytes| {
        std::fs::write(&file, bytes).unwrap();
        drop(Model::read(&path));
    });
}

#[test]
fn logs_of_any_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("draws.log");
    let mut store = SampleStore::open(&path, &run()).unwrap();
    for draw in draws(2) {
        store.append(&draw).unwrap();
    }
    drop(store);
    let log = std::fs::read(&path).unwrap();
    check(vec![log], |bytes| {
        std::fs::write(&path, bytes).unwrap();
        if let Ok(mut store) = SampleStore::open(&path, &run()) {
            store.read_all().unwrap();
        }
    });
}
