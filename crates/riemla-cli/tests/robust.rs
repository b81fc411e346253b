//! Bad input, full disks, kills and interruptions: a clear message, and nothing lost.

mod common;

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Scratch, text};

#[test]
fn bad_tables_are_named_with_line_and_column() {
    let scratch = common::scratch();
    for (name, content, parts) in [
        ("ragged.csv", "a,b\n1,x\n2\n", &["ragged.csv", "line 3", "1 fields"][..]),
        ("empty.csv", "", &["empty.csv", "empty"]),
        ("header.csv", "a,b\n", &["header.csv", "no rows"]),
        ("nan.csv", "a,b\n1,x\nNaN,y\n", &["nan.csv", "line 3", "`a`", "missing"]),
        ("inf.csv", "a,b\n1,x\n-inf,y\n", &["inf.csv", "line 3", "`a`", "finite"]),
        ("gap.csv", "a,b\n1,x\n,y\n", &["gap.csv", "line 3", "`a`", "missing"]),
        ("twice.csv", "a,a\n1,2\n", &["twice.csv", "two columns"]),
        ("one.csv", "a,b\n1,x\n2,x\n3,x\n", &["one.csv", "`b`", "only one class"]),
        ("short.npy", "\u{93}NUMPY", &["short.npy"]),
        ("short.parquet", "PAR1", &["short.parquet", "Parquet"]),
    ] {
        scratch.write(name, content);
        let message = scratch.fails(&format!("train --data {name} --out model"));
        parts.iter().for_each(|part| assert!(message.contains(part), "{part}: {message}"));
        assert!(!scratch.join("model").exists());
    }
    let message = scratch.fails("train --data nowhere.csv --out model");
    assert!(message.contains("nowhere.csv") && message.matches("No such file").count() == 1, "{message}");
    scratch.moons();
    let message = scratch.fails("train --data train.csv --target colour --out model");
    assert!(message.contains("`colour`") && message.contains("`kind`"), "{message}");
}

#[test]
fn data_that_do_not_fit_a_model_are_refused() {
    let scratch = common::scratch();
    scratch.posterior();
    for (content, parts) in [
        ("x,kind\n1,north\n", &["missing column `y`"][..]),
        ("x,y,kind\n1,1,north\n1,2,east\n", &["line 3", "`east`", "`south`"]),
        ("x,y,kind\n1,many,north\n", &["line 2", "`y`", "`many`"]),
        ("x,y,kind\n", &["no rows"]),
    ] {
        scratch.write("bad.csv", content);
        let message = scratch.fails("evaluate posterior --method map --data bad.csv --report report.html");
        parts.iter().for_each(|part| assert!(message.contains(part), "{part}: {message}"));
    }
    assert!(!scratch.join("report.html").exists());
    scratch.write("old.csv", "something of mine");
    let message = scratch.fails("predict posterior --data bad.csv --method map --out old.csv --force");
    assert!(message.contains("no rows"), "{message}");
    assert_eq!(scratch.read("old.csv"), "something of mine");
    assert!(scratch.fails("predict posterior --data test.csv").contains("riemla sample"));
    assert!(scratch.fails("predict model --data test.csv").contains("riemla fit"));
    assert!(scratch.fails("fit posterior/samples --data train.csv --out p").contains("riemla train"));
}

#[test]
fn damaged_files_are_no_panic() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 2 --strength 0.1");
    for name in
        ["model.json", "weights.safetensors", "posterior.json", "posterior.safetensors", "data.safetensors"]
    {
        let path = format!("posterior/{name}");
        let bytes = scratch.bytes(&path);
        scratch.write(&path, &bytes[..bytes.len() / 2]);
        let message = scratch.fails("sample posterior -n 3 --strength 0.1");
        assert!(message.contains(name), "{message}");
        // A header that announces more than any memory.
        let mut hostile = bytes.clone();
        hostile[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        scratch.write(&path, &hostile);
        assert!(scratch.fails("sample posterior -n 3 --strength 0.1").contains(name));
        scratch.write(&path, &bytes);
    }
    scratch.ok("sample posterior -n 3 --strength 0.1");
}

#[test]
fn what_is_there_is_replaced_only_when_told() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 3 --out model");
    let message = scratch.fails("train --data train.csv --hidden 4 --out model");
    assert!(message.contains("already exists") && message.contains("--force"), "{message}");
    scratch.ok("train --data train.csv --hidden 4 --out model --force");
    assert!(scratch.read("model/model.json").contains("\"outputs\": 4"));
    scratch.ok("fit model --data train.csv --out p");
    assert!(scratch.fails("fit model --data train.csv --out p").contains("already exists"));
    scratch.ok("sample p -n 2 --strength 0.1");
    let message = scratch.fails("sample p -n 4 --strength 0.2");
    assert!(message.contains("strength") && message.contains("0.1"), "{message}");
}

#[test]
fn too_little_memory_is_told_before_it_is_taken() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 40 --out model");
    let message = scratch.fails("fit model --data train.csv --memory 4M --out p");
    assert!(message.contains("a full posterior of 202 weights needs about"), "{message}");
    assert!(message.contains("4.0 MB") && message.contains("--structure kron"), "{message}");
    assert!(!scratch.join("p").exists());
}

#[test]
fn a_budget_ends_the_draws_and_keeps_them() {
    let scratch = common::scratch();
    scratch.posterior();
    let output = scratch.run("sample posterior -n 1000000 --strength 0.5 --seconds 1");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("Time limit reached"), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("draws") && scratch.join("posterior/samples/riem-la/samples.json").exists());
}

/// The files that depend on the draws alone.
const FILES: [&str; 3] = ["samples.safetensors", "samples.jsonl", "samples.json"];

/// Kills a sampling each time its log has grown to one of `sizes`, lets it end, and compares with a set
/// that was never interrupted. Gives how often something was kept and something was missing.
#[cfg(unix)]
fn kill_at(scratch: &Scratch, sample: &str, sizes: [u64; 3]) -> usize {
    scratch.ok(&format!("{sample} --name whole"));
    let log = scratch.join("posterior/samples/killed/draws.log");
    let mut halved = 0;
    for size in sizes {
        let mut child = scratch
            .riemla(&format!("{sample} --name killed"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let begun = Instant::now();
        while fs::metadata(&log).map_or(0, |m| m.len()) < size && begun.elapsed() < Duration::from_secs(60) {
            if child.try_wait().expect("asks").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill(); // SIGKILL
        child.wait().expect("ends");
        halved += usize::from(log.exists());
    }
    scratch.ok(&format!("{sample} --name killed"));
    for file in FILES {
        let read = |name: &str| scratch.bytes(&format!("posterior/samples/{name}/{file}"));
        assert_eq!(read("killed"), read("whole"), "{file}");
    }
    halved
}

#[cfg(unix)]
#[test]
fn a_killed_run_goes_on_with_the_same_bits() {
    let scratch = common::scratch();
    scratch.posterior();
    kill_at(&scratch, "sample posterior -n 40 --strength 0.4 --seed 5", [1, 3000, 9000]);
}

#[cfg(unix)]
#[test]
fn killed_chains_go_on_with_the_same_bits() {
    let scratch = common::scratch();
    scratch.posterior();
    let halved = kill_at(&scratch, "sample posterior -m nuts --warmup 50 -n 400", [1, 20_000, 40_000]);
    assert!(halved > 0, "no kill came between the first draw and the last");
}

#[cfg(unix)]
#[test]
fn a_killed_fit_leaves_a_whole_posterior_or_none() {
    let scratch = common::scratch();
    scratch.moons();
    scratch.ok("train --data train.csv --hidden 30 --out model");
    let (mut whole, mut none) = (0, 0);
    for delay in [0, 5, 10, 20, 40, 80, 160, 320, 2000] {
        let mut child = scratch
            .riemla("fit model --data train.csv --out p --force")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        std::thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        child.wait().expect("ends");
        if scratch.join("p").exists() {
            scratch.ok("inspect p");
            whole += 1;
            fs::remove_dir_all(scratch.join("p")).expect("removes");
        } else {
            none += 1;
        }
    }
    assert!(whole + none == 9 && none >= 1, "{whole} whole, {none} none");
}

/// Runs with a limit to the size of files, which is a disk that fills up. Blocks have 512 bytes or more.
#[cfg(unix)]
fn limited(scratch: &Scratch, blocks: u64, arguments: &str) -> std::process::Output {
    let program = env!("CARGO_BIN_EXE_riemla");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} {arguments}");
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(scratch.path()).output();
    output.expect("sh runs")
}

#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing_that_was_there() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 5 --strength 0.1");
    let before = scratch.bytes("posterior/samples/riem-la/samples.safetensors");
    let output = limited(&scratch, 4, "sample posterior -n 200 --strength 0.1");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let message = text(&output.stderr);
    assert!(message.contains("draws.log") && message.contains("cannot add a draw"), "{message}");
    assert_eq!(scratch.bytes("posterior/samples/riem-la/samples.safetensors"), before);
    scratch.ok("sample posterior -n 6 --strength 0.1");
    let output = limited(&scratch, 1, "fit model --data train.csv --out p");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(!scratch.join("p").exists());
    let names: Vec<_> =
        fs::read_dir(scratch.path()).expect("lists").filter_map(|e| Some(e.ok()?.file_name())).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{names:?}");
}

#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_while_drawing_keeps_the_draws_for_the_next_run() {
    let scratch = common::scratch();
    scratch.posterior();
    scratch.ok("sample posterior -n 40 --strength 0.1 --name whole");
    let log = scratch.join("posterior/samples/full/draws.log");
    let size = fs::metadata(scratch.join("posterior/samples/whole/draws.log")).expect("is there").len();
    // Room for a part of the draws, whatever the size of a block is.
    for part in [6, 3] {
        let output =
            limited(&scratch, size / 512 / part, "sample posterior -n 40 --strength 0.1 --name full");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            message.contains("cannot add a draw") && message.contains("run the same command again"),
            "{message}"
        );
        assert!(!scratch.join("posterior/samples/full/samples.json").exists());
    }
    let kept = scratch.ok("inspect --json posterior/samples/full/draws.log");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    let draws = kept["draws"].as_u64().expect("a number");
    assert!((1..40).contains(&draws) && kept["damaged_bytes"] == 0, "{kept}");
    let sampled = scratch.ok("sample posterior -n 40 --strength 0.1 --name full --json");
    let sampled: serde_json::Value = serde_json::from_str(&sampled).expect("JSON");
    assert_eq!(sampled["new_draws"].as_u64(), Some(40 - draws), "what was kept is not drawn again");
    for file in FILES {
        let read = |name: &str| scratch.bytes(&format!("posterior/samples/{name}/{file}"));
        assert_eq!(read("full"), read("whole"), "{file}");
    }
    assert!(log.exists());
}

#[cfg(unix)]
fn send(signal: &str, child: &std::process::Child) {
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// Waits until a file has so many bytes.
#[cfg(unix)]
fn wait_for(child: &mut std::process::Child, file: &std::path::Path, bytes: u64) {
    while fs::metadata(file).map_or(0, |m| m.len()) < bytes {
        assert!(child.try_wait().expect("asks").is_none(), "it ended before");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_and_sigterm_keep_the_draws_and_the_same_command_goes_on() {
    let scratch = common::scratch();
    scratch.posterior();
    for signal in ["-INT", "-TERM"] {
        let mut child = scratch
            .riemla(&format!("sample posterior -n 1000000 --strength 0.5 --name set{signal}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let log = scratch.join(&format!("posterior/samples/set{signal}/draws.log"));
        wait_for(&mut child, &log, 5000);
        send(signal, &child);
        let output = child.wait_with_output().expect("ends");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{signal}: {message}");
        assert!(message.contains("run the same command to continue"), "{signal}: {message}");
        let predicted = scratch.ok(&format!("predict posterior -m set{signal} --data test.csv"));
        assert_eq!(predicted.lines().count(), 61);
    }
}

/// Under nohup the end of the terminal is ignored, as long as it takes.
#[cfg(unix)]
#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let scratch = common::scratch();
    scratch.posterior();
    let program = env!("CARGO_BIN_EXE_riemla");
    let script = format!("trap '' HUP; exec {program} sample posterior -n 60 --strength 0.5");
    let mut child = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    wait_for(&mut child, &scratch.join("posterior/samples/riem-la/draws.log"), 3000);
    send("-HUP", &child);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn a_search_that_is_ended_says_what_is_kept_and_goes_on() {
    let scratch = common::scratch();
    // So many rows that the search takes seconds: the signal must come before its end.
    let data = riemla::data::toy::two_moons(6000, 0.25, 1).expect("data");
    let rows = data.inputs().chunks(2).zip(data.labels().expect("classes"));
    let row = |(x, label): (&[f64], &usize)| format!("{},{},{}\n", x[0], x[1], ["north", "south"][*label]);
    scratch.write("train.csv", "x,y,kind\n".to_string() + &rows.map(row).collect::<String>());
    scratch.ok("train --data train.csv --hidden 30 --prior-precision 1 --out model");
    scratch.ok("fit model --data train.csv --prior-precision 1");
    let output = scratch.run("sample posterior -n 2 --seconds 1e-9");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("no trial was finished") && message.contains("more --seconds"), "{message}");
    assert!(!message.contains("nothing was written"), "{message}");
    let trials = scratch.join("posterior/samples/riem-la/calibration.trials.json");
    let mut child = scratch
        .riemla("sample posterior -n 2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    wait_for(&mut child, &trials, 1);
    send("-INT", &child);
    let output = child.wait_with_output().expect("ends");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    for part in ["interrupted", "kept in", "calibration.trials.json", "the same command continues"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let output = scratch.run("sample posterior -n 2 --seconds 1e-9");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    for part in
        ["the time limit (--seconds) was reached", "kept in", "calibration.trials.json", "more --seconds"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    scratch.ok("sample posterior -n 2");
    scratch.ok("sample posterior -n 2 --name whole");
    let read = |name: &str| scratch.bytes(&format!("posterior/samples/{name}/samples.safetensors"));
    assert_eq!(read("riem-la"), read("whole"), "the search went on to the same strength");
}

/// What a terminal shows of a command; `script` of util-linux gives the program one.
#[cfg(target_os = "linux")]
fn on_a_terminal(scratch: &Scratch, arguments: &str) -> String {
    let shown = std::process::Command::new("script")
        .args(["-qec", &format!("{} {arguments}", env!("CARGO_BIN_EXE_riemla")), "/dev/null"])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output();
    text(&shown.expect("`script` of util-linux runs").stdout)
}

#[cfg(target_os = "linux")]
#[test]
fn the_time_of_a_search_is_estimated_on_a_terminal() {
    let scratch = common::scratch();
    scratch.posterior();
    let estimate = "for the search of the strength";
    let shown = on_a_terminal(&scratch, "sample posterior -n 2");
    assert!(
        shown.contains(estimate) && shown.contains("estimated time: about") && shown.contains("for 2 draws"),
        "{shown}"
    );
    assert!(!on_a_terminal(&scratch, "-q sample posterior -n 2 --name quiet").contains(estimate));
    let output = scratch.run("sample posterior -n 2 --name piped");
    assert!(!text(&output.stderr).contains(estimate), "{}", text(&output.stderr));
}
