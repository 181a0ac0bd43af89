//! The program itself, on files: a run that holds, and one in which no exception is allowed.

use std::process::{Command, Output};

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
fn an_unknown_store_or_fault_is_refused() {
    for (arguments, word) in [
        (["--only", "no-such"], "no-such"),
        (["no-such", "--ci"], "no-such"),
    ] {
        let output = chaos(&arguments);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(word) && text.contains("allowed"), "{text}");
    }
}
