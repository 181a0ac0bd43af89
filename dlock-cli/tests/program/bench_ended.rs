//! `dlock bench` that is interrupted or killed.

use std::fs;

use rustix::process::Signal;

use crate::{
    bench::assert_clean,
    support::{Program, Store},
};

#[test]
fn an_interrupted_run_removes_its_locks() {
    let store = Store::new();
    let program = Program::start(store.dlock(&["bench", "--for", "60s"]));
    // The locks of the first cycles.
    while fs::read_dir(store.locks()).expect("a directory").count() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // As from `timeout`, which signals the process and then its group.
    program.send(Signal::TERM);
    program.send(Signal::TERM);
    assert_eq!(program.end().0, 143);
    assert_clean(&store);
}

/// The field of `/proc/PID/stat` with the scheduling class, after the name in parentheses; and the class SCHED_IDLE.
const POLICY: usize = 38;
const IDLE: &str = "5";

/// The child of a run that keeps the cores awake, once it is there.
fn spinner(run: &Program) -> String {
    let threads = format!("/proc/{}/task", run.pid().as_raw_nonzero());
    loop {
        // A child is that of the thread which started it.
        let children = fs::read_dir(&threads).expect("threads").flatten();
        let children = children
            .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
            .collect::<String>();
        let is_spinner = |child: &&str| {
            let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains("--spin")
        };
        if let Some(child) = children.split_whitespace().find(is_spinner) {
            return child.to_owned();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// How many threads of a process run only where a core has nothing else to do.
fn idle_threads(process: &str) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("threads");
    let stats = threads.flatten().filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        Some(fields.split_whitespace().nth(POLICY) == Some(IDLE))
    });
    stats.filter(|is_idle| *is_idle).count()
}

#[test]
fn a_killed_run_leaves_no_process() {
    let store = Store::new();
    let program = Program::start(store.dlock(&["bench", "--for", "60s"]));
    let spinner = spinner(&program);
    // A file of a lock: the rounds have begun, and the process has its threads.
    while fs::read_dir(store.locks()).expect("a directory").count() < 10 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let cores = std::thread::available_parallelism().expect("cores").get();
    assert_eq!(idle_threads(&spinner), cores);
    program.send(Signal::KILL);
    // The end of all that have its standard error, as the processes have that it started.
    assert_eq!(program.end().0, -9);
}

#[test]
fn a_run_that_is_interrupted_among_names_used_once_removes_them() {
    let store = Store::new();
    let program = Program::start(store.dlock(&["bench", "--for", "60s"]));
    // A slice of the floor, whose files have the names themselves.
    let is_used_once =
        |file: &fs::DirEntry| file.file_name().to_string_lossy().contains("bare-64-");
    let has_some = || {
        let files = fs::read_dir(store.locks()).expect("a directory").flatten();
        files.filter(is_used_once).count() > 64
    };
    while !has_some() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    program.send(Signal::TERM);
    assert_eq!(program.end().0, 143);
    assert_clean(&store);
}
