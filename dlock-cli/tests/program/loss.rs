//! Locks that end before the command does, and dlocks that do.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::support::{Program, Store};

/// A command that ignores what can be ignored, with a child of its own.
fn stubborn(store: &Store) -> Program {
    let script = "trap '' TERM INT HUP; echo ready; cat; echo survived";
    let program = store.start(&["run", "a", "--", "sh", "-c", script]);
    assert_eq!(program.line(), "ready");
    program
}

fn lock_files(store: &Store) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(store.locks()).expect("directory");
    entries.map(|entry| entry.expect("entry").path()).collect()
}

#[test]
fn a_removed_lock_file_kills_the_command_and_all_of_its_group() {
    let store = Store::new();
    let program = stubborn(&store);
    for file in lock_files(&store) {
        fs::remove_file(file).expect("removed");
    }
    // No process has its output open any more, so the child of the command is gone, too.
    assert_eq!(program.silence(), Vec::<String>::new());
    let (code, said) = program.end();
    assert_eq!(code, 76);
    assert_eq!(
        said,
        "dlock: lost \"a\": its entry is gone from the store; the command is killed"
    );
    assert!(store.is_free("a"));
}

#[test]
fn a_killed_dlock_takes_its_command_along() {
    let store = Store::new();
    let program = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(program.line(), "ready");
    program.send(Signal::KILL);
    assert_eq!(program.end().0, -9);
    // The stdin of `cat` is still open: only its death ends its output.
    assert_eq!(program.silence(), Vec::<String>::new());
    assert!(store.is_free("a"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test's own stopwatch")]
fn a_killed_holder_lets_the_next_one_in_within_100_ms() {
    let store = Store::new();
    let mut waits = Vec::new();
    for _ in 0..5 {
        let holder = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
        assert_eq!(holder.line(), "ready");
        let next = store.start(&["-v", "run", "a", "--forever", "--", "echo", "entered"]);
        next.requests_the_lock();
        let killed = Instant::now();
        holder.send(Signal::KILL);
        assert_eq!(next.line(), "entered");
        waits.push(killed.elapsed());
        assert_eq!(next.end().0, 0);
    }
    // The start of the next command is in it; a busy machine may be late once or twice.
    waits.sort();
    assert!(waits[2] < Duration::from_millis(100), "{waits:?}");
}

#[test]
fn a_command_whose_dlock_is_gone_already_is_not_run() {
    let store = Store::new();
    // No process has a parent with the process id 2147483647.
    let output = store
        .bare(&["__exec", "2147483647", "--", "echo", "entered"])
        .output();
    let output = output.expect("dlock starts");
    assert_eq!(output.status.code(), Some(76));
    assert!(output.stdout.is_empty());
}
