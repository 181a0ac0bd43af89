//! Several dlocks and one name.

use std::{fs, thread};

use crate::support::{Program, Store, one_line};

fn holder(store: &Store, note: &str) -> Program {
    let program = store.start(&[
        "run",
        "a",
        "--note",
        note,
        "--",
        "sh",
        "-c",
        "echo ready; exec cat",
    ]);
    assert_eq!(program.line(), "ready");
    program
}

#[test]
fn try_ends_with_75_and_says_who_holds_it() {
    let store = Store::new();
    let holder = holder(&store, "checkout 77");
    let output = store.output(&["run", "a", "--try", "--", "echo", "entered"]);
    assert_eq!(output.status.code(), Some(75));
    assert!(output.stdout.is_empty());
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let pid = holder.pid();
    let line = format!(
        "dlock: \"a\" is taken by pid {pid} on {host} (checkout 77); to wait for it, use --wait"
    );
    assert_eq!(one_line(&output), line);
}

#[test]
fn a_wait_that_is_over_ends_with_75() {
    let store = Store::new();
    let _holder = holder(&store, "x");
    let output = store.output(&["run", "a", "--wait", "50ms", "--", "echo", "entered"]);
    assert_eq!(output.status.code(), Some(75));
    let line = one_line(&output);
    assert!(
        line.ends_with("was not free within 50ms; to wait longer, use --wait"),
        "{line}"
    );
    assert_eq!(store.code(&["run", "a", "--wait", "0s", "--", "true"]), 75);
}

#[test]
fn a_waiter_enters_when_the_holder_ends() {
    let store = Store::new();
    let mut holder = holder(&store, "x");
    let waiting = store.start(&["-v", "run", "a", "--", "echo", "entered"]);
    waiting.requests_the_lock();
    holder.stdin = None;
    assert_eq!(waiting.line(), "entered");
    assert_eq!(waiting.end().0, 0);
}

#[test]
fn twenty_processes_count_to_a_thousand() {
    const PROCESSES: usize = 20;
    const ROUNDS: usize = 50;
    let store = Store::new();
    fs::write(store.file("counter"), "0\n").expect("counter");
    let script = "read n < counter; echo $((n + 1)) > counter; echo $DLOCK_TOKEN >> tokens";
    thread::scope(|scope| {
        for _ in 0..PROCESSES {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let args = ["run", "counter", "--forever", "--", "sh", "-c", script];
                    let output = store.output(&args);
                    assert!(output.status.success(), "{output:?}");
                }
            });
        }
    });
    let count = fs::read_to_string(store.file("counter")).expect("counter");
    assert_eq!(count, format!("{}\n", PROCESSES * ROUNDS));
    let tokens = fs::read_to_string(store.file("tokens")).expect("tokens");
    let tokens: Vec<u64> = tokens
        .lines()
        .map(|token| token.parse().expect("number"))
        .collect();
    assert_eq!(tokens.len(), PROCESSES * ROUNDS);
    assert!(
        tokens.is_sorted_by(|a, b| a < b),
        "tokens in order of entry do not grow"
    );
}

#[test]
fn cron_and_a_login_meet_in_the_users_one_directory() {
    let store = Store::new();
    // One name for all runs: its file stays in the user's directory.
    let name = "dlock-test/cron-and-login";
    let elsewhere = store.file("elsewhere");
    // A login with a home and a runtime directory of its own making,
    let script = "echo held; exec cat";
    let mut login = store.bare(&["run", name, "--", "sh", "-c", script]);
    login
        .env("HOME", &elsewhere)
        .env("XDG_RUNTIME_DIR", &elsewhere);
    login
        .env("XDG_STATE_HOME", &elsewhere)
        .env("TMPDIR", &elsewhere);
    let mut login = Program::start(login);
    assert_eq!(login.line(), "held");

    // and cron, with next to nothing.
    let mut cron = store.bare(&["run", "--try", name, "--", "true"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cron = cron
        .env_clear()
        .env("PATH", path)
        .output()
        .expect("dlock starts");
    assert_eq!(cron.status.code(), Some(75), "{cron:?}");

    login.stdin = None;
    assert_eq!(login.end().0, 0);
    assert!(!elsewhere.exists());
}
