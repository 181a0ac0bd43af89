//! `--at-least`: hosts whose clocks differ run a short job once.

use std::{fs, sync::mpsc, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Store, TEST_TIMEOUT};

#[test]
fn twenty_hosts_with_skewed_clocks_run_a_short_job_once() {
    const HOSTS: u32 = 20;
    const SKEW_MAX: Duration = Duration::from_secs(1);
    let store = Store::new();
    // The parent of the command is dlock.
    let job = "sleep 0.05; echo $PPID >> ran";
    let options = ["--try", "--skip-ok", "--at-least", "1m"];
    let args = [&["run", "job"][..], &options, &["--", "sh", "-c", job]].concat();
    let (report, ended) = mpsc::channel();
    thread::scope(|scope| {
        for host in 0..HOSTS {
            let (store, args, report) = (&store, &args, report.clone());
            scope.spawn(move || {
                thread::sleep(SKEW_MAX * host / HOSTS);
                let output = store.output(args);
                report.send(output.status.code()).expect("the test waits");
            });
        }
        let next = || ended.recv_timeout(TEST_TIMEOUT).expect("a host ends");
        for _ in 1..HOSTS {
            assert_eq!(next(), Some(0));
        }
        // All others have ended, and one still holds the lock of its ended command.
        let ran = fs::read_to_string(store.file("ran")).expect("it ran");
        let holder: i32 = ran.trim().parse().expect("it ran once");
        assert!(!store.is_free("job"));
        kill_process(Pid::from_raw(holder).expect("a process"), Signal::TERM).expect("it lives");
        assert_eq!(next(), Some(0), "the code of the command");
    });
    assert!(store.is_free("job"));
}

#[test]
fn a_command_that_fails_is_held_as_long() {
    let store = Store::new();
    for (command, code) in [("exit 3", 3), ("kill -KILL $$", 137)] {
        let args = [
            "-v",
            "run",
            "a",
            "--at-least",
            "10m",
            "--",
            "sh",
            "-c",
            command,
        ];
        let program = store.start(&args);
        program.says("the command has ended");
        assert!(!store.is_free("a"));
        program.send(Signal::INT);
        assert_eq!(program.end().0, code);
        assert!(store.is_free("a"));
    }
}

#[test]
fn a_short_command_is_held_for_all_of_the_time() {
    let store = Store::new();
    let args = ["-v", "run", "a", "--at-least", "300ms", "--", "true"];
    let output = store.output(&args);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    let held = said
        .lines()
        .find_map(|line| line.split_once("held \"a\" for "));
    let (_, held) = held.expect("how long it was held");
    let millis: u64 = held.trim_end_matches(" ms").parse().expect("milliseconds");
    assert!(millis >= 300, "{held}");
    assert!(store.is_free("a"));
}

#[test]
fn the_time_counts_from_the_grant() {
    let store = Store::new();
    let args = [
        "-v",
        "run",
        "a",
        "--at-least",
        "100ms",
        "--",
        "sleep",
        "0.3",
    ];
    let output = store.output(&args);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("held \"a\" for "), "{said}");
    assert!(!said.contains("stays taken"), "{said}");
}

#[test]
fn a_signal_to_the_command_ends_the_time_too() {
    let store = Store::new();
    let script = "echo ready; exec cat";
    let args = ["run", "a", "--at-least", "10m", "--", "sh", "-c", script];
    let program = store.start(&args);
    assert_eq!(program.line(), "ready");
    program.send(Signal::TERM);
    assert_eq!(program.end(), (143, String::new()));
    assert!(store.is_free("a"));
}

#[test]
fn a_loss_ends_the_time_and_keeps_the_code_of_the_command() {
    let store = Store::new();
    let args = [
        "-v",
        "run",
        "a",
        "--at-least",
        "10m",
        "--",
        "sh",
        "-c",
        "exit 3",
    ];
    let program = store.start(&args);
    program.says("the command has ended");
    for entry in fs::read_dir(store.locks()).expect("directory") {
        fs::remove_file(entry.expect("entry").path()).expect("removed");
    }
    let (code, said) = program.end();
    assert_eq!(code, 3);
    let line = "dlock: lost \"a\" after the command ended, before --at-least was over: its entry is gone from the store";
    assert!(said.lines().any(|said| said == line), "{said}");
    assert!(!said.contains("before the command ended"), "{said}");
}
