//! The order of the library's modules (ARCHITECTURE.md): a module uses only modules of lower lines.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest line to the highest. Modules on one line do not know each other.
const LINES: [&[&str]; 10] = [
    &["error", "strict", "random"],
    &["linalg", "control"],
    &["nn", "data", "ode", "score", "compare"],
    &["objective"],
    &["train"],
    &["curvature", "reference"],
    &["geometry"],
    &["posterior"],
    &["predict"],
    &["testing"],
];

/// Leaves: useful without the rest of the library, so they know even less than their line allows.
const LEAVES: [(&str, &[&str]); 3] =
    [("ode", &["error", "control", "linalg"]), ("score", &["error", "random"]), ("compare", &["error"])];

/// What pure computation has no use for: printing, clocks, hidden randomness, the environment.
const FORBIDDEN: [&str; 8] =
    ["print!", "println!", "dbg!", "std::time", "std::env", "std::fs", "thread_rng", "rand::rng("];

fn line_of(module: &str) -> Option<usize> {
    LINES.iter().position(|line| line.contains(&module))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Every file of src with its module and its code, comments removed.
fn files() -> Vec<(String, String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&src, &mut paths);
    let describe = |path: PathBuf| {
        let name = path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        let module = name.split('/').next().unwrap().trim_end_matches(".rs").to_string();
        let code = fs::read_to_string(&path).unwrap();
        let code: Vec<&str> = code.lines().map(|l| l.split("//").next().unwrap()).collect();
        (name, module, code.join("\n"))
    };
    paths.into_iter().map(describe).collect()
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())]
}

/// The modules named after `crate::`, alone or in braces; `crate::Error` and `crate::Result` are `error`.
fn imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        if let Some(group) = rest.strip_prefix('{') {
            let (mut depth, mut start) = (0, 0);
            for (i, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth > 0 => depth -= 1,
                    ',' | '}' if depth == 0 => {
                        found.insert(first_word(&group[start..i]).to_string());
                        start = i + 1;
                        if c == '}' {
                            break;
                        }
                    }
                    _ => {}
                }
            }
        } else {
            found.insert(first_word(rest).to_string());
        }
    }
    for (alias, module) in [("Error", "error"), ("Result", "error"), ("Control", "control")] {
        if found.remove(alias) {
            found.insert(module.into());
        }
    }
    found.remove("");
    found
}

fn is_allowed(module: &str, import: &str) -> bool {
    if let Some((_, allowed)) = LEAVES.iter().find(|(leaf, _)| *leaf == module) {
        return import == module || allowed.contains(&import);
    }
    import == module || line_of(import).is_some_and(|line| line_of(module).is_some_and(|own| line < own))
}

#[test]
fn no_module_uses_a_higher_one() {
    let mut wrong = Vec::new();
    for (name, module, code) in files() {
        if module == "lib" {
            continue;
        }
        assert!(line_of(&module).is_some(), "{name}: give `{module}` its line here and in ARCHITECTURE.md");
        let bad = imports(&code).into_iter().filter(|import| !is_allowed(&module, import));
        wrong.extend(bad.map(|import| format!("{name} uses {import}")));
    }
    assert!(wrong.is_empty(), "against the order of modules:\n{}", wrong.join("\n"));
}

#[test]
fn only_linalg_knows_faer_and_nothing_prints_or_looks_at_a_clock() {
    let mut wrong = Vec::new();
    for (name, module, code) in files() {
        if module != "linalg" && code.contains("faer::") {
            wrong.push(format!("{name} uses faer"));
        }
        if name.contains("tests") {
            continue; // tests may print what they measured
        }
        let found = FORBIDDEN.iter().filter(|word| code.contains(**word));
        wrong.extend(found.map(|word| format!("{name} uses {word}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_test_would_notice() {
    let code = "use crate::posterior::Draw;\nuse crate::{Error, geometry::{self, Metric}, nn};";
    assert_eq!(imports(code).into_iter().collect::<Vec<_>>(), ["error", "geometry", "nn", "posterior"]);
    assert!(
        !is_allowed("nn", "posterior") && !is_allowed("ode", "objective") && !is_allowed("score", "linalg")
    );
    assert!(!is_allowed("curvature", "geometry") && is_allowed("curvature", "train"));
}
