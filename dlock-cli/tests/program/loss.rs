//! Locks that end before the command does, and dlocks that do.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    process::Command,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::support::{Program, Store, one_line};

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

/// How long after dlock's death the last process of its command may end, on a busy machine.
const GROUP_ENDS_MAX: Duration = Duration::from_secs(5);

#[test]
#[expect(clippy::disallowed_methods, reason = "the test's own stopwatch")]
fn a_killed_dlock_takes_the_commands_children_along() {
    let store = Store::new();
    // Each of the three has the output open. They ignore what can be ignored.
    let script = "trap '' TERM INT HUP; sleep 1000 & sleep 1000 & echo ready; cat";
    let program = store.start(&["run", "a", "--", "sh", "-c", script]);
    assert_eq!(program.line(), "ready");
    let killed = Instant::now();
    program.send(Signal::KILL);
    assert_eq!(program.silence(), Vec::<String>::new());
    assert!(killed.elapsed() < GROUP_ENDS_MAX, "{:?}", killed.elapsed());
    let said = "dlock: dlock was killed; its command is killed, too";
    assert_eq!(program.end(), (-9, said.to_owned()));
    assert!(store.is_free("a"));
}

/// The guardian of a running dlock.
fn guardian(dlock: Pid) -> Pid {
    let dlock = dlock.as_raw_nonzero();
    let children = format!("/proc/{dlock}/task/{dlock}/children");
    let children = fs::read_to_string(children).expect("children");
    let mut children = children.split_whitespace();
    let is_guardian = |child: &&str| {
        let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).nth(1) == Some(b"__guardian")
    };
    let child = children.find(is_guardian).expect("a guardian");
    Pid::from_raw(child.parse().expect("a number")).expect("a process")
}

#[test]
fn a_command_ends_with_dlock_also_if_the_guardian_was_killed() {
    let store = Store::new();
    let program = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(program.line(), "ready");
    kill_process(guardian(program.pid()), Signal::KILL).expect("signal");
    program.send(Signal::KILL);
    // The stdin of `cat` is still open: only its death ends its output.
    assert_eq!(program.silence(), Vec::<String>::new());
    assert_eq!(program.end().0, -9);
}

#[test]
fn the_guardian_ends_with_the_command() {
    let store = Store::new();
    let mut program = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(program.line(), "ready");
    let guardian = guardian(program.pid());
    program.stdin = None;
    assert_eq!(program.end(), (0, String::new()));
    // It was waited for: its number is free.
    assert!(test_kill_process(guardian).is_err());
}

#[test]
fn the_first_process_of_a_container_waits_for_orphans() {
    let enters = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
    ];
    let mut container = Command::new("unshare");
    container.args(enters);
    let is_allowed = Command::new("unshare").args(enters).arg("true").status();
    if !is_allowed.is_ok_and(|status| status.success()) {
        assert!(
            env::var_os("DLOCK_TEST_REQUIRE").is_none(),
            "unshare is not allowed"
        );
        return;
    }
    let store = Store::new();
    // The parent of `sleep` ends at once.
    let script = "[ \"$PPID\" = 1 ] || exit 1; orphan=$(sh -c 'sleep 0.1 >&2 & echo $!'); \
                  while [ -e \"/proc/$orphan\" ]; do :; done; exit 7";
    let dlock = env!("CARGO_BIN_EXE_dlock");
    container.args([
        dlock,
        "--url",
        &store.url(),
        "run",
        "a",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let program = Program::start(container);
    assert_eq!(program.end(), (7, String::new()));
}

#[test]
fn a_program_whose_command_may_not_be_ended_is_named_at_the_start() {
    let store = Store::new();
    let file = store.file("sudo");
    fs::write(&file, "#!/bin/sh\nexit 3\n").expect("file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("mode");
    let output = store.output(&["run", "a", "--", "./sudo", "true"]);
    assert_eq!(output.status.code(), Some(3));
    let line = one_line(&output);
    assert!(
        line.contains("\"./sudo\" runs its command as another user"),
        "{line}"
    );
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
