//! Data sets: the real files where they are at hand, and downloads from a server on this machine.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use riemla_paper::datasets::{
    ALL, Content, DataDirs, DataError, DataFile, DataSet, Fetched, Source, Tables, fetch, load, presence,
};
use riemla_workflow::watch::{Session, Silent};

static STOP: AtomicBool = AtomicBool::new(true);

/// "hello\n", plain and packed by gzip.
const HELLO: &[u8] = b"hello\n";
const PACKED: &[u8] = &[
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xe7, 2, 0, 0x20, 0x30, 0x3a, 0x36, 6,
    0, 0, 0,
];
const SHA256: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

const FILE: DataFile = DataFile {
    path: "greeting/hello.gz",
    sha256: SHA256,
    bytes: 6,
    source: Source::Copy("https://example.invalid/hello.gz"),
};
const SET: DataSet = DataSet {
    name: "greeting",
    about: "a test",
    files: &[FILE],
    content: Content::Values { rows: 1, features: 0 },
    origin: "here",
    licence: "none",
    by_hand: "",
};

/// Serves one request: announces `length` bytes, sends `body`, hangs up. Returns its address.
fn server(status: &'static str, length: usize, body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a visitor");
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&body);
    });
    format!("http://{address}")
}

/// Fetches from a server; also returns whether anything is left in the directory.
fn fetched(mirror: &str) -> (Result<Vec<Fetched>, DataError>, bool) {
    let directory = tempfile::tempdir().expect("temporary directory");
    let result = fetch(&SET, &DataDirs::new(Some(directory.path())), Some(mirror), Session::silent());
    let anything = walk(directory.path());
    (result, anything)
}

/// Whether there is any file below.
fn walk(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).expect("lists").map(|entry| entry.expect("entry").path());
    entries.into_iter().any(|path| !path.is_dir() || walk(&path))
}

#[test]
fn a_download_is_checked_and_kept_and_not_repeated() {
    for body in [HELLO, PACKED] {
        let directory = tempfile::tempdir().expect("temporary directory");
        let directories = DataDirs::new(Some(directory.path()));
        assert!(matches!(presence(&SET, &directories, false), Err(DataError::Missing { .. })));
        let mirror = server("200 OK", body.len(), body.to_vec());
        let path = directory.path().join(FILE.path);
        let result = fetch(&SET, &directories, Some(&mirror), Session::silent()).expect("fetches");
        assert_eq!(result, [Fetched::Downloaded(path.clone())]);
        assert_eq!(fs::read(&path).expect("there"), body);
        // No server any more: nothing is asked for.
        let again = fetch(&SET, &directories, Some(&mirror), Session::silent()).expect("is there");
        assert_eq!(again, [Fetched::Present(path.clone())]);
        assert!(matches!(presence(&SET, &directories, true), Ok(Some(_))));
        fs::write(&path, b"hellp\n").expect("writes");
        assert!(matches!(presence(&SET, &directories, true), Err(DataError::Checksum { .. })));
    }
}

/// A table in another form, whose result is checked too.
#[test]
fn a_published_table_becomes_one_of_ours() {
    const TABLES: Tables =
        Tables { urls: &["https://example.invalid/t"], header: "x,label", skip: 1, labels: &["a", "b"] };
    const TABLE: DataSet = DataSet {
        files: &[DataFile {
            path: "table.csv",
            // Of "x,label\n0.50,1\n2,0\n".
            sha256: "33c0506cf0877fffbe415d206fcbda35ca373bb282f4bb1e301d7b9ca08cbf82",
            bytes: 19,
            source: Source::Tables(TABLES),
        }],
        ..SET
    };
    for (body, kept) in [("1,0.50,b\n2,2,a\n", true), ("1,0.5,b\n2,2,a\n", false), ("<html>", false)] {
        let directory = tempfile::tempdir().expect("temporary directory");
        let directories = DataDirs::new(Some(directory.path()));
        let mirror = server("200 OK", body.len(), body.into());
        let result = fetch(&TABLE, &directories, Some(&mirror), Session::silent());
        assert_eq!(result.is_ok(), kept, "{result:?}");
        assert_eq!(walk(directory.path()), kept);
        assert_eq!(matches!(presence(&TABLE, &directories, true), Ok(Some(_))), kept);
    }
}

#[test]
fn what_goes_wrong_leaves_nothing_and_is_explained() {
    let cut = server("200 OK", PACKED.len(), PACKED[..10].to_vec());
    let other = server("200 OK", 6, b"HELLO\n".to_vec());
    let absent = server("404 Not Found", 0, Vec::new());
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    for (mirror, words) in [
        (cut, "the connection was lost"),
        (other, "not 5891b5b5"),
        (absent, "404"),
        (nobody, "check the network"),
        ("http://example.invalid".into(), "cannot download"),
    ] {
        let (result, left) = fetched(&mirror);
        let message = result.expect_err("fails").to_string();
        assert!(message.contains(words), "{words}: {message}");
        assert!(!left, "{words}");
    }
}

#[test]
fn a_stop_leaves_nothing() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let mirror = server("200 OK", HELLO.len(), HELLO.to_vec());
    let directories = DataDirs::new(Some(directory.path()));
    let result = fetch(&SET, &directories, Some(&mirror), Session::new(&STOP, &Silent));
    assert!(matches!(result, Err(DataError::Interrupted { .. })));
    assert!(!walk(directory.path()));
}

/// A directory that cannot be made stands for everything that writing can meet; the full disk is
/// tested with the binary.
#[test]
fn a_place_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("file");
    fs::write(&file, b"").expect("writes");
    let mirror = server("200 OK", HELLO.len(), HELLO.to_vec());
    let result = fetch(&SET, &DataDirs::new(Some(&file)), Some(&mirror), Session::silent());
    assert!(result.expect_err("fails").to_string().contains("greeting"));
}

#[test]
fn the_registry_is_consistent() {
    for set in ALL {
        assert!(!set.origin.is_empty() && !set.licence.is_empty() && !set.about.is_empty(), "{}", set.name);
        for file in set.files {
            assert!(file.sha256.len() == 64 && file.bytes > 0, "{}", file.path);
            assert!(file.source.urls().iter().all(|url| url.starts_with("https://")), "{}", file.path);
            assert!(file.source != Source::ByHand || !set.by_hand.is_empty(), "{}", file.path);
        }
        let generated = matches!(set.content, Content::Generated(_));
        assert_eq!(set.files.is_empty(), generated, "{}", set.name);
        assert_eq!(ALL.iter().filter(|other| other.name == set.name).count(), 1);
    }
}

/// The real files are not part of the repository; the generated sets are always there.
#[test]
fn every_data_set_loads() {
    let directory = riemla_repository::data_directory("data sets of files load");
    let directories = DataDirs::new(directory.as_deref());
    let here = |set: &&DataSet| directory.is_some() || set.files.is_empty();
    let mut loaded_sets = 0;
    for set in ALL.iter().filter(here) {
        let loaded = load(set.name, &directories).unwrap_or_else(|error| panic!("{}: {error}", set.name));
        assert!(loaded.data.inputs().iter().all(|x| x.is_finite()));
        loaded_sets += 1;
        let images = matches!(set.content, Content::Images { .. });
        assert!(!images || loaded.data.inputs().iter().all(|x| (0.0..=1.0).contains(x)), "{}", set.name);
    }
    assert!(loaded_sets > 0, "no data set was loaded");
}

#[test]
fn wrong_shapes_are_refused_even_with_the_right_name() {
    let directory = tempfile::tempdir().expect("temporary directory");
    fs::write(directory.path().join("snelson.csv"), "x,y\n1,2\n").expect("writes");
    let error = load("snelson", &DataDirs::new(Some(directory.path()))).expect_err("other data");
    assert!(matches!(error, DataError::Checksum { .. }), "{error}");
    let error = load("mnist", &DataDirs::new(Some(directory.path()))).expect_err("absent").to_string();
    assert!(error.contains("riemla data fetch mnist"), "{error}");
    let error = load("imagenet", &DataDirs::new(None)).expect_err("unknown").to_string();
    assert!(error.contains("banana"), "{error}");
}
