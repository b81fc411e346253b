//! Packages: each builds on its own, with its licences; nothing is included from outside.

use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(folder).expect("reads").map(|entry| entry.expect("an entry").path());
    let published = |path: &PathBuf| {
        let manifest = fs::read_to_string(path.join("Cargo.toml"));
        manifest.is_ok_and(|text| !text.contains("publish = false"))
    };
    let mut found: Vec<PathBuf> = entries.filter(published).collect();
    found.sort();
    assert!(found.len() >= 4, "{found:?}");
    found
}

/// Rust files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).expect("reads").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// The texts and bytes that a source file includes, as it names them.
fn included(text: &str) -> Vec<&str> {
    let calls = ["include_str!(", "include_bytes!(", "include!("].map(|call| text.split(call).skip(1));
    let names = calls.into_iter().flatten().filter_map(|rest| rest.split(')').next());
    names.map(|name| name.trim().trim_matches('"')).collect()
}

#[test]
fn sources_include_only_files_of_their_package() {
    let mut count = 0;
    for package in crates() {
        let package = package.canonicalize().expect("a folder");
        let folders = ["src", "examples"].map(|name| package.join(name));
        for source in folders.iter().filter(|folder| folder.is_dir()).flat_map(|folder| sources(folder)) {
            let text = fs::read_to_string(&source).expect("reads");
            for name in included(&text) {
                let target = source.parent().expect("a folder").join(name).canonicalize();
                let target = target.unwrap_or_else(|error| panic!("{}: {name}: {error}", source.display()));
                assert!(target.starts_with(&package), "{} includes {name}", source.display());
                count += 1;
            }
        }
    }
    assert!(count > 1, "only {count} inclusions were found");
}

#[test]
fn packages_have_their_licences_and_metadata() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for package in crates() {
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let path = package.join(name);
            assert!(fs::symlink_metadata(&path).is_ok(), "no {}", path.display());
            // Where links are not made, as on some Windows systems, the file holds the path.
            let own = fs::read_to_string(&path).expect("reads");
            let common = fs::read_to_string(root.join(name)).expect("reads");
            assert!(own == common || own.trim() == format!("../../{name}"), "{} is another", path.display());
        }
        let manifest = fs::read_to_string(package.join("Cargo.toml")).expect("reads");
        for field in ["description", "keywords", "categories", "readme", "repository", "license", "include"] {
            let there = manifest.lines().any(|line| line.starts_with(field));
            assert!(there, "{}: no {field}", package.display());
        }
    }
}
