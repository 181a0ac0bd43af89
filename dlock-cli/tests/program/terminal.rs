//! With a terminal: the command shares it with dlock, and its keys work as without dlock.

use std::{
    fs::{self, File},
    io::{Read, Write as _},
    os::fd::OwnedFd,
};

use pty_process::blocking::{Command, open};
use rustix::process::Signal;

use crate::support::{Program, Store, undisturbed};

const CTRL_C: &[u8] = b"\x03";
const CTRL_Z: &[u8] = b"\x1a";
const CTRL_D: &[u8] = b"\x04";
const CTRL_BACKSLASH: &[u8] = b"\x1c";

/// A shell script on a terminal of its own, in which `$dlock` runs dlock.
struct Session {
    keyboard: File,
    program: Program,
}

impl Session {
    fn start(store: &Store, script: &str) -> Self {
        let (pty, pts) = open().expect("terminal");
        let dlock = format!("{} --url {}", env!("CARGO_BIN_EXE_dlock"), store.url());
        let words = undisturbed("sh");
        let child = Command::new(words[0])
            .args(&words[1..])
            .args(["-c", script])
            .env("dlock", dlock)
            .current_dir(store.locks())
            .spawn(pts)
            .expect("shell starts");
        let keyboard = File::from(OwnedFd::from(pty));
        let screen = keyboard.try_clone().expect("clone");
        Self {
            keyboard,
            program: Program::follow(child, Box::new(screen) as Box<dyn Read + Send>),
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).expect("keys");
    }

    /// Waits until the screen shows a line with `text` in it.
    fn shows(&self, text: &str) {
        while !self.program.line().contains(text) {}
    }
}

#[test]
fn ctrl_c_reaches_the_command_once_and_dlock_lives_to_return_its_exit_code() {
    let store = Store::new();
    // The screen shows what `cat` has read, not what was typed: so it is there.
    let script = "stty -echo; echo quiet; \
                  exec $dlock run a -- sh -c 'trap \"echo got\" INT; cat; cat; exit 3'";
    let mut session = Session::start(&store, script);
    session.shows("quiet");
    session.press(b"first\n");
    session.shows("first");
    session.press(CTRL_C);
    session.shows("got");
    session.press(b"second\n");
    session.shows("second");
    session.press(CTRL_D);
    // A second signal would make the shell say so now.
    assert_eq!(session.program.silence(), Vec::<String>::new());
    assert_eq!(session.program.end().0, 3);
    assert!(store.is_free("a"));
}

#[test]
fn ctrl_c_and_ctrl_backslash_end_a_command_that_does_not_care() {
    for (key, code) in [(CTRL_C, 130), (CTRL_BACKSLASH, 131)] {
        let store = Store::new();
        let script = "ulimit -c 0; exec $dlock run a -- sh -c 'echo ready; exec cat'";
        let mut session = Session::start(&store, script);
        session.shows("ready");
        session.press(key);
        assert_eq!(session.program.end().0, code);
        assert!(store.is_free("a"));
    }
}

#[test]
fn ctrl_c_ends_the_wait() {
    let store = Store::new();
    let holder = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(holder.line(), "ready");
    let mut session = Session::start(&store, "exec $dlock -v run a --forever -- echo entered");
    session.shows("requesting the lock");
    session.press(CTRL_C);
    assert_eq!(session.program.end().0, 130);
}

#[test]
fn a_wait_of_a_second_is_explained() {
    let store = Store::new();
    let args = [
        "run",
        "a",
        "--note",
        "n 7",
        "--",
        "sh",
        "-c",
        "echo ready; exec cat",
    ];
    let mut holder = store.start(&args);
    assert_eq!(holder.line(), "ready");
    let session = Session::start(&store, "exec $dlock run a --wait 1m -- echo entered");
    let line = session.program.line();
    let begin = format!("dlock: \"a\" is taken by pid {} on ", holder.pid());
    assert!(line.starts_with(&begin), "{line}");
    assert!(line.contains(" (n 7), for "), "{line}");
    assert!(line.contains(" s now; waiting for up to 5"), "{line}");
    holder.stdin = None;
    session.shows("entered");
    assert_eq!(session.program.end().0, 0);
}

#[test]
fn a_quiet_wait_is_silent() {
    let store = Store::new();
    let holder = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(holder.line(), "ready");
    let script = "exec $dlock run a --quiet --wait 1500ms -- echo entered";
    let session = Session::start(&store, script);
    assert_eq!(session.program.silence(), Vec::<String>::new());
    assert_eq!(session.program.end().0, 75);
}

#[test]
fn a_loss_ends_the_children_of_the_command_too() {
    let store = Store::new();
    let script = "exec $dlock run a -- \
                  sh -c 'trap \"\" TERM INT HUP; echo ready; cat; echo survived'";
    let session = Session::start(&store, script);
    session.shows("ready");
    for entry in fs::read_dir(store.locks()).expect("directory") {
        fs::remove_file(entry.expect("entry").path()).expect("removed");
    }
    // No process has the terminal open any more, so `cat` is gone, too.
    let lines = session.program.silence();
    assert!(!lines.iter().any(|line| line == "survived"), "{lines:?}");
    assert_eq!(session.program.end().0, 76);
    assert!(store.is_free("a"));
}

#[test]
fn the_command_reads_the_terminal() {
    let store = Store::new();
    let script = "exec $dlock run a -- sh -c 'echo ready; read line; echo got $line'";
    let mut session = Session::start(&store, script);
    session.shows("ready");
    session.press(b"hello\n");
    session.shows("got hello");
    assert_eq!(session.program.end().0, 0);
}

#[test]
fn ctrl_z_stops_both_and_fg_continues_both() {
    let store = Store::new();
    // 148 is what shells say of a job stopped by SIGTSTP.
    let script = "set -m; $dlock run a -- sh -c 'echo ready; exec cat'; echo stopped $?; fg; \
                  echo ended $?";
    let mut session = Session::start(&store, script);
    session.shows("ready");
    session.press(CTRL_Z);
    session.shows("stopped 148");
    session.press(b"hello\n");
    session.shows("hello");
    session.press(CTRL_D);
    session.shows("ended 0");
    assert_eq!(session.program.end().0, 0);
    assert!(store.is_free("a"));
}

#[test]
fn signals_that_no_key_sends_are_passed_on() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::USR1, 138)] {
        let store = Store::new();
        let script = "exec $dlock run a -- sh -c 'echo ready; exec cat'";
        let session = Session::start(&store, script);
        session.shows("ready");
        session.program.send(signal);
        assert_eq!(session.program.end().0, code);
        assert!(store.is_free("a"));
    }
}

#[test]
fn in_a_session_of_its_own_the_command_has_a_group_of_its_own() {
    let store = Store::new();
    // Its stdin is the terminal, but that belongs to the session before.
    let script = "exec setsid --wait $dlock run a -- \
                  sh -c 'read a b c d group rest </proc/$$/stat; echo leads $((group == $$))'";
    let session = Session::start(&store, script);
    session.shows("leads 1");
    assert_eq!(session.program.end().0, 0);
}

#[test]
fn all_workloads_are_measured_after_a_yes_only() {
    let store = Store::new();
    let run = "exec $dlock bench --all --for 500ms";
    let mut session = Session::start(&store, run);
    session.shows("type yes to begin");
    session.press(b"no\n");
    assert_eq!(session.program.end().0, 64);
    let mut session = Session::start(&store, run);
    session.shows("type yes to begin");
    session.press(CTRL_C);
    assert_eq!(session.program.end().0, 130);
    let mut session = Session::start(&store, run);
    session.shows("type yes to begin");
    session.press(b"yes\n");
    session.shows("8 processes, one lock");
    assert_eq!(session.program.end().0, 0);
}
