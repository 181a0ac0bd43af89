//! The input of the command, and its output and exit code.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::PermissionsExt as _,
    },
    process::Output,
};

use crate::support::{Store, one_line};

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout)
        .expect("UTF-8")
        .trim_end()
}

#[test]
fn the_commands_output_and_exit_code_are_dlocks() {
    let store = Store::new();
    let output = store.output(&[
        "run",
        "a",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 7",
    ]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(
        (output.stdout, output.stderr),
        (b"out\n".to_vec(), b"err\n".to_vec())
    );
    assert_eq!(store.code(&["run", "a", "--", "true"]), 0);
    assert_eq!(store.code(&["run", "a", "--", "sh", "-c", "exit 255"]), 255);
}

#[test]
fn a_signal_that_ended_the_command_comes_back_as_128_and_its_number() {
    let store = Store::new();
    assert_eq!(
        store.code(&["run", "a", "--", "sh", "-c", "kill -KILL $$"]),
        137
    );
    assert_eq!(
        store.code(&["run", "a", "--", "sh", "-c", "kill -SEGV $$"]),
        139
    );
}

#[test]
fn the_command_knows_the_name_and_a_token_that_grows() {
    let store = Store::new();
    let mut last = 0;
    for _ in 0..5 {
        let script = "echo \"$DLOCK_NAME\"; echo \"$DLOCK_TOKEN\"";
        let output = store.output(&["run", "seat/14C ü", "--", "sh", "-c", script]);
        let (name, token) = stdout(&output).split_once('\n').expect("two lines");
        assert_eq!(name, "seat/14C ü");
        let token: u64 = token.parse().expect("a number");
        assert!(token > last, "{token} after {last}");
        last = token;
    }
}

#[test]
fn the_lock_is_held_while_the_command_runs_and_free_afterwards() {
    let store = Store::new();
    let inner = format!(
        "{dlock} --url {url} run a --try -- true; echo $?; {dlock} --url {url} run b --try -- true; echo $?",
        dlock = env!("CARGO_BIN_EXE_dlock"),
        url = store.url(),
    );
    let output = store.output(&["run", "a", "--", "sh", "-c", &inner]);
    assert_eq!(stdout(&output), "75\n0");
    assert!(store.is_free("a"));
}

#[test]
fn arguments_that_are_not_utf_8_pass_through() {
    let store = Store::new();
    let odd = OsString::from_vec(b"a\xff b".to_vec());
    let args = ["run", "a", "--", "printf", "%s"].map(OsStr::new);
    let output = store.output(&[&args[..], &[odd.as_os_str()]].concat());
    assert_eq!(output.stdout, odd.as_bytes());
}

#[test]
fn arguments_of_the_command_are_not_dlocks() {
    let store = Store::new();
    let output = store.output(&["run", "a", "--", "echo", "--try", "-v", "--", "--help"]);
    assert_eq!(stdout(&output), "--try -v -- --help");
}

#[test]
fn stdin_is_the_commands() {
    let store = Store::new();
    let mut program = store.start(&["run", "a", "--", "cat"]);
    program.say("hello");
    assert_eq!(program.line(), "hello");
    program.stdin = None;
    assert_eq!(program.end(), (0, String::new()));
}

#[test]
fn a_command_that_is_not_there_is_127() {
    let store = Store::new();
    for missing in ["no-such-command", "./no/such/file", ""] {
        let output = store.output(&["run", "a", "--", missing]);
        assert_eq!(output.status.code(), Some(127));
        let line =
            format!("dlock: cannot run {missing:?}: not found; give its path, or check PATH");
        assert_eq!(one_line(&output), line);
    }
    assert!(store.is_free("a"));
}

#[test]
fn a_line_of_a_shell_is_not_a_command() {
    let store = Store::new();
    let output = store.output(&["run", "a", "--", "echo it's && echo there"]);
    assert_eq!(output.status.code(), Some(127));
    let line = "dlock: cannot run \"echo it's && echo there\": it is a line of a shell; run it by: \
                sh -c 'echo it'\\''s && echo there'";
    assert_eq!(one_line(&output), line);
}

#[test]
fn a_script_whose_interpreter_is_not_there_names_it() {
    let store = Store::new();
    let file = store.file("script");
    fs::write(&file, "#! /no/such/python3 -u\n").expect("file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("mode");
    let args = ["run", "a", "--", "./script"];
    let output = store.output(&args);
    assert_eq!(output.status.code(), Some(127));
    let line = one_line(&output);
    assert!(line.contains("interpreter \"/no/such/python3\""), "{line}");
}

#[test]
fn a_command_that_cannot_be_executed_is_126() {
    let store = Store::new();
    let file = store.file("data");
    fs::write(&file, "not a program").expect("file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("mode");
    let output = store.output(&[
        "run".as_ref(),
        "a".as_ref(),
        "--".as_ref(),
        file.as_os_str(),
    ]);
    assert_eq!(output.status.code(), Some(126));
    assert!(
        one_line(&output)
            .ends_with("permission denied; check that it is a program and executable (chmod +x)")
    );
    assert!(store.is_free("a"));
}

#[test]
fn a_script_without_an_interpreter_line_runs_as_in_a_shell() {
    let store = Store::new();
    let file = store.file("script");
    fs::write(&file, "echo $DLOCK_NAME\n").expect("file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("mode");
    let output = store.output(&[
        "run".as_ref(),
        "a".as_ref(),
        "--".as_ref(),
        file.as_os_str(),
    ]);
    assert_eq!(stdout(&output), "a");
}

#[test]
fn what_the_command_leaves_in_the_background_does_not_hold_the_lock() {
    let store = Store::new();
    // The background process lives until the test closes its stdin.
    let script = "exec 3<&0; cat <&3 >/dev/null 2>&1 & echo left";
    let mut program = store.start(&["run", "a", "--", "sh", "-c", script]);
    assert_eq!(program.line(), "left");
    assert_eq!(program.end().0, 0);
    assert!(store.is_free("a"));
    program.stdin = None;
}
