//! The program itself, on files: runs that hold, fail, are refused and are stopped.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

#[expect(clippy::expect_used, reason = "a test")]
fn chaos(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock-chaos"));
    let output = command.arg("file").args(arguments).output();
    output.expect("it runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_run_holds_and_prints_its_plan_first() {
    let output = chaos(&[
        "--seed",
        "7",
        "--grants",
        "100",
        "--only",
        "stop-holder,kill-waiter",
    ]);
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    let plan = "plan: seed 7, 100 grants, 12 cards";
    assert!(
        text.lines().next().is_some_and(|line| line.contains(plan)),
        "{text}"
    );
    assert!(text.contains("C1 exclusion: holds"), "{text}");
}

#[test]
fn an_exception_that_is_not_allowed_fails_in_30_lines() {
    let arguments = [
        "--seed",
        "8",
        "--grants",
        "100",
        "--only",
        "file-unlinked",
        "--strict",
    ];
    let output = chaos(&arguments);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let first = text
        .lines()
        .position(|line| line.contains("K1 BROKEN"))
        .expect("a failure");
    let shown: Vec<_> = text.lines().skip(first).collect();
    assert!(shown.len() <= 30, "{text}");
    for part in [
        "again: cargo xtask chaos file --seed 8",
        "--replay",
        "file-unlinked",
    ] {
        assert!(
            shown.iter().any(|line| line.contains(part)),
            "{part}: {text}"
        );
    }
    assert!(text.contains("TOTAL: 0 of 1 parts hold"), "{text}");
}

#[test]
fn an_unknown_fault_is_refused_and_leaves_no_directory() {
    let output = chaos(&["--seed", "9", "--only", "no-such"]);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("no fault no-such") && text.contains("file-unlinked"),
        "{text}"
    );
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/chaos/file-9");
    assert!(!Path::new(kept).exists(), "{kept}");
}

#[test]
fn an_unknown_store_is_refused() {
    let output = chaos(&["no-such"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("no-such") && error.contains("redis-sentinel"));
}

#[test]
fn the_help_lists_stores_and_exit_codes() {
    let output = chaos(&["--help"]);
    let text = text(&output);
    for part in [
        "mariadb",
        "migrate",
        "migrate-after",
        "quorum",
        "redis-unguarded",
        "Exit codes",
        "130",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A plan as a run keeps it, with this as its failed card.
fn kept(failed_card: &str) -> String {
    format!(
        r#"{{"plan": {{"seed": 1, "store": "file", "grants": 9, "cards": [
            {{"number": 1, "after": 3, "card": "fault", "fault": "kill-holder", "trigger": {{"at": "queued", "nth": 1}}, "length": 5,
              "choice": 1}},
            {{"number": 2, "after": 6, "card": "settle"}}]}}, "failed_card": {failed_card}}}"#
    )
}

#[test]
fn what_is_no_failure_is_not_searched_for() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("plan.json");
    for (text_of_file, why) in [
        (kept("null"), "keeps no failure"),
        (kept("2"), "failed_card 2"),
        (kept("7"), "failed_card 7"),
        (kept("1").replace("file", "tape"), "no store tape"),
        ("{}".to_owned(), "is not a plan"),
    ] {
        fs::write(&file, text_of_file).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlock-chaos"));
        let output = command.arg("--replay").arg(&file).output().expect("a run");
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(why) && text.contains("plan.json"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn a_stopped_run_leaves_nothing_and_says_how_to_go_on() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let directory = TempDir::new().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlock-chaos"));
        command.args(["file", "--seed", "a", "--grants", "20000"]);
        command.env("TMPDIR", directory.path());
        let mut run = command.stdout(Stdio::piped()).spawn().expect("a run");
        let mut lines = BufReader::new(run.stdout.take().expect("its output")).lines();
        let plan = lines.next().expect("a line").expect("text");
        assert!(plan.contains("plan: seed a"), "{plan}");
        // The locks are in a directory there.
        assert_ne!(entries(directory.path()), 0);
        let kill = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(run.id().to_string())
            .status();
        assert!(kill.expect("kill").success());
        let rest: Vec<_> = lines.map_while(Result::ok).collect();
        assert_eq!(run.wait().expect("its end").code(), Some(code), "{rest:?}");
        let last = rest.last().expect("a line");
        let on = "nothing is left; go on with the part that it was in: \
                  cargo xtask chaos file --seed a --grants 20000";
        assert!(last.contains("stopped") && last.ends_with(on), "{last}");
        assert_eq!(entries(directory.path()), 0);
    }
}

#[expect(clippy::expect_used, reason = "a test")]
fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).expect("a directory").count()
}
