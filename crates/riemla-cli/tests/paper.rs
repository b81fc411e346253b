//! `riemla reproduce` and `riemla data` are handed over to the program of the paper, where there is one.

#![cfg(unix)]

mod common;

use std::fs;
use std::process::Command;

#[test]
fn a_program_beside_riemla_gets_the_arguments_and_gives_its_exit_code() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = common::scratch();
    let own = scratch.join("riemla");
    fs::copy(env!("CARGO_BIN_EXE_riemla"), &own).expect("copies");
    let run = |arguments: &[&str]| {
        let output = Command::new(&own).args(arguments).env("PATH", "/nowhere").output().expect("starts");
        (output.status.code(), common::text(&output.stdout), common::text(&output.stderr))
    };
    for command in ["reproduce", "data"] {
        let (code, _, message) = run(&[command, "list"]);
        assert_eq!(code, Some(1));
        assert!(message.contains("needs the program riemla-paper") && message.contains("cargo"), "{message}");
    }
    scratch.write("riemla-paper", "#!/bin/sh\necho \"$@\"\nexit 7\n");
    fs::set_permissions(scratch.join("riemla-paper"), fs::Permissions::from_mode(0o755)).expect("may run");
    let expected = |line: &str| (Some(7), format!("{line}\n"), String::new());
    assert_eq!(run(&["data", "fetch", "mnist", "-q"]), expected("data fetch mnist -q"));
    assert_eq!(run(&["reproduce", "--help"]), expected("reproduce --help"));
    let global = ["--quiet", "--threads", "2", "reproduce", "all", "--seeds", "3"];
    assert_eq!(run(&global), expected("reproduce all --seeds 3 --quiet --threads 2"));
}
