//! Pages: their links lead somewhere, their code is run, and no picture lies around that no page shows.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below `directory` with this ending, without those of hidden directories and build products.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "riemla-demo" {
            found.extend(files(&path, ending));
        } else if path.is_file() && name.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The pages with their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let paths = files(&root(), ".md");
    assert!(paths.len() > 20, "{paths:?}");
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("reads"))).collect()
}

/// A page without what stands between code fences.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// What a page links to or shows, outside its code: `](here)` and `src="here"`.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let images = prose.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let local = |target: &&str| !target.contains("://") && !target.starts_with('#');
    links
        .chain(images)
        .filter(local)
        .map(|target| target.split('#').next().unwrap_or_default().into())
        .collect()
}

#[test]
fn links_lead_to_files_of_the_repository() {
    let mut links = 0;
    for (page, text) in pages() {
        let folder = page.parent().expect("a folder");
        for target in targets(&text) {
            assert!(folder.join(&target).exists(), "{}: nothing at {target}", page.display());
            links += 1;
        }
    }
    assert!(links > 60, "only {links} links were found");
}

/// Figures are made by commands: what no page shows is not kept.
#[test]
fn every_picture_is_shown_by_a_page() {
    let show = |page: &Path, text: &str| {
        let folder = page.parent().expect("a folder").to_path_buf();
        let shown =
            targets(text).into_iter().filter_map(move |target| folder.join(target).canonicalize().ok());
        shown.collect::<Vec<_>>()
    };
    let shown: Vec<PathBuf> = pages().iter().flat_map(|(page, text)| show(page, text)).collect();
    let pictures = [files(&root().join("docs"), ".svg"), files(&root().join("docs"), ".png")].concat();
    assert!(pictures.len() > 10, "{pictures:?}");
    for picture in pictures {
        assert!(
            shown.contains(&picture.canonicalize().expect("a file")),
            "{} is on no page",
            picture.display()
        );
    }
}

/// A page with Rust code that src/lib.rs does not include would rot.
#[test]
fn rust_code_on_pages_is_run() {
    let included = include_str!("../src/lib.rs");
    for (page, text) in pages() {
        let path = page.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
        let code = text.split("```").skip(1).step_by(2).any(|block| block.starts_with("rust\n"));
        assert!(
            !code || included.contains(&format!("../../../{path}\"")),
            "{path} has Rust code that no test runs"
        );
    }
}
