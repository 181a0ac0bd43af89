//! Wrong command lines: the right code, one line, no panic.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, process::Stdio};

use crate::support::{Store, one_line};

/// Runs dlock with wrong arguments, and gives what it said.
fn refused<S: AsRef<OsStr>>(args: &[S]) -> String {
    let store = Store::new();
    let output = store.output(args);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    assert!(output.stdout.is_empty());
    let entries = std::fs::read_dir(store.locks()).expect("directory");
    let files = entries.map(|entry| entry.expect("entry").path());
    // Connecting may have left the version of the layout.
    let locks = files.filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "lock")
    });
    assert_eq!(locks.count(), 0, "refused before anything was locked");
    one_line(&output).split_off("dlock: ".len())
}

#[test]
fn durations_need_a_unit_and_a_sign_is_none() {
    let shape = "a duration has a unit, such as 30s, 500ms or 2m";
    let run = |option: &str, value: &str| refused(&["run", "a", option, value, "--", "true"]);
    assert_eq!(
        run("--ttl", "5"),
        format!("invalid value '5' for '--ttl <TIME>': {shape}; did you mean 5s?; try --help")
    );
    assert_eq!(
        run("--wait", "-1s"),
        format!("invalid value '-1s' for '--wait <TIME>': {shape}; try --help")
    );
    assert_eq!(
        run("--ttl", "0"),
        "invalid value '0' for '--ttl <TIME>': it must be longer than zero; try --help"
    );
    assert_eq!(
        run("--grace", "a\nb"),
        format!("invalid value 'a b' for '--grace <TIME>': {shape}; try --help")
    );
}

#[test]
fn a_ttl_beyond_the_stores_bounds_is_refused() {
    let line = refused(&["run", "a", "--ttl", "1ns", "--grace", "0s", "--", "true"]);
    assert!(line.contains("ttl 1ns is out of range ("), "{line}");
}

#[test]
fn a_grace_that_is_too_long_is_refused() {
    let line = refused(&["run", "a", "--ttl", "9s", "--grace", "3s", "--", "true"]);
    let why = "--grace 3s is too long: it must be less than ttl/3, and the ttl is 9s";
    assert_eq!(line, why);
}

#[test]
fn names_are_checked() {
    let named = |name: &[u8]| {
        let args = [
            OsStr::new("run"),
            OsStr::from_bytes(name),
            OsStr::new("--"),
            OsStr::new("true"),
        ];
        refused(&args)
    };
    assert_eq!(
        named(b""),
        "the lock name is empty (allowed: 1 to 255 bytes)"
    );
    assert_eq!(
        named(&[b'x'; 256]),
        "the lock name has 256 bytes (allowed: 1 to 255)"
    );
    assert_eq!(named(b"a\xff"), "the lock name \"a\\xFF\" is not UTF-8");
    assert_eq!(
        named(b"a\nb"),
        "the lock name has a control character (U+000A at byte 1); remove it"
    );
}

#[test]
fn notes_are_checked() {
    let note = "x".repeat(256);
    let line = refused(&["run", "a", "--note", &note, "--", "true"]);
    assert!(
        line.ends_with("the note has 256 bytes (allowed: up to 255)"),
        "{line}"
    );
}

#[test]
fn wrong_arguments_are_reported_in_one_line() {
    for (args, start) in [
        (
            &["run"][..],
            "the following required arguments were not provided: <NAME> ",
        ),
        (
            &["run", "a"],
            "the following required arguments were not provided: ",
        ),
        (
            &["run", "a", "--"],
            "the following required arguments were not provided: ",
        ),
        (&["run", "a", "true"], "unexpected argument 'true' found"),
        (
            &["run", "a", "--tyr", "--", "x"],
            "unexpected argument '--tyr' found; try --help",
        ),
        (&["runn"], "unrecognized subcommand 'runn'; tip: "),
        (
            &["run", "a", "--try", "--forever", "--", "x"],
            "the argument '--try' cannot be used",
        ),
        (
            &["inspect"],
            "the following required arguments were not provided: <NAME>",
        ),
        (
            &["completions", "tcsh"],
            "invalid value 'tcsh' for '<SHELL>'",
        ),
        (&["__exec"], "__exec is for internal use; use `dlock run`"),
    ] {
        let line = if args == ["__exec"] {
            let output = Store::new().bare(args).output().expect("dlock starts");
            assert_eq!(output.status.code(), Some(64));
            one_line(&output).split_off("dlock: ".len())
        } else {
            refused(args)
        };
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn without_arguments_help_goes_to_stderr() {
    let output = Store::new().bare(&[]).output().expect("dlock starts");
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: dlock"));
}

#[test]
fn help_version_and_completions_go_to_stdout() {
    let store = Store::new();
    for (args, part) in [
        (&["--help"][..], "Examples:"),
        (&["run", "--help"], "DLOCK_TOKEN"),
        (&["inspect", "--help"], "Exit codes:"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
        (&["completions", "bash"], "_dlock"),
        (&["completions", "zsh"], "#compdef dlock"),
        (&["completions", "fish"], "complete -c dlock"),
    ] {
        let output = store.bare(args).output().expect("dlock starts");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty());
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains(part), "no {part:?} in {text}");
        assert!(!text.contains("__exec"), "an inner word is shown");
    }
}

#[test]
fn each_subcommand_has_a_manual_page() {
    let store = Store::new();
    let pages = store.file("man");
    // It is made.
    let output = store.bare(&["man", "man"]).output().expect("dlock starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let entries = std::fs::read_dir(&pages).expect("directory");
    let names = entries.map(|entry| entry.expect("entry").file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect("UTF-8")).collect();
    names.sort_unstable();
    let pages_of = [
        "-bench",
        "-completions",
        "-inspect",
        "-man",
        "-migrate-cancel",
        "-migrate-check",
        "-migrate-plan",
        "-migrate-start",
        "-migrate-status",
        "-migrate-switch",
        "-migrate",
        "-run",
        "-setup",
        "-verify",
        "",
    ];
    assert_eq!(names, pages_of.map(|word| format!("dlock{word}.1")));
    let page = std::fs::read_to_string(pages.join("dlock-run.1")).expect("page");
    assert!(
        page.contains("dlock\\-run") && page.contains("DLOCK_TOKEN"),
        "{page}"
    );

    let line = refused(&["man", "/dev/null/man"]);
    let start = "cannot write the manual pages to \"/dev/null/man\": ";
    assert!(line.starts_with(start), "{line}");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let store = Store::new();
    let url = store.url();
    for args in [
        &["--help"][..],
        &["completions", "bash"],
        &["--url", &url, "inspect", "a"],
        &["--url", &url, "inspect", "a", "--json"],
        &["--url", &url, "-vv", "run", "a", "--", "true"],
        &["--url", "no-url", "inspect", "a"],
    ] {
        let (reader, writer) = std::io::pipe().expect("pipe");
        drop(reader);
        let mut command = store.bare(args);
        command
            .stdout(writer.try_clone().expect("clone"))
            .stderr(writer)
            .stdin(Stdio::null());
        let status = command.status().expect("dlock starts");
        // 101 is what a panic ends with.
        let code = status
            .code()
            .unwrap_or_else(|| panic!("{args:?}: {status}"));
        assert!([0, 1, 64].contains(&code), "{args:?}: {code}");
    }
}
