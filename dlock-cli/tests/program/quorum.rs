//! A quorum of three directories: `dlock run`, `inspect` and `bench`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use rustix::process::Signal;
use serde_json::json;

use crate::{
    bench::json,
    support::{Program, Store, one_line},
};

/// Far above the default of 50 ms: on a busy machine a thread waits longer for its turn.
const PATIENT: &str = "node_timeout=10s";

/// Three directories beside each other, and the URL of their quorum.
struct Quorum {
    store: Store,
    nodes: [PathBuf; 3],
    url: String,
}

impl Quorum {
    fn new() -> Self {
        let store = Store::new();
        let nodes = ["1", "2", "3"].map(|number| store.file(number));
        for node in &nodes {
            fs::create_dir(node).expect("directory");
        }
        let [a, b, c] = nodes.each_ref().map(|node| file_url(node));
        let url = format!("quorum:?1={a}&2={b}&3={c}&{PATIENT}");
        Self { store, nodes, url }
    }

    /// Puts a file in the place of a node's directory: no lock can be taken there.
    fn break_node(&self, number: usize) {
        let node = &self.nodes[number - 1];
        fs::remove_dir_all(node).expect("the directory is gone");
        fs::write(node, "").expect("a file");
    }

    fn output(&self, args: &[&str]) -> Output {
        self.by(&self.url, args)
    }

    /// Runs `dlock --url URL ARGS…` to its end.
    fn by(&self, url: &str, args: &[&str]) -> Output {
        let args = [&["--url", url], args].concat();
        self.store.bare(&args).output().expect("dlock starts")
    }

    /// Starts a holder of the lock `a`, and reads its token. It ends with its stdin.
    fn holder(&self) -> (Program, String) {
        let script = "echo $DLOCK_TOKEN; exec cat";
        let run = [
            "run",
            "a",
            "--note",
            "checkout 77",
            "--",
            "sh",
            "-c",
            script,
        ];
        let args = [&["--url", &*self.url], &run[..]].concat();
        let program = Program::start(self.store.bare(&args));
        let token = program.line();
        (program, token)
    }

    /// Nothing but the layout is in each directory.
    fn assert_clean(&self) {
        for node in &self.nodes {
            let left = fs::read_dir(node).expect("a directory");
            let left = left.map(|file| file.expect("a file").file_name());
            assert_eq!(left.collect::<Vec<_>>(), ["layout"], "{}", node.display());
        }
    }
}

fn file_url(node: &Path) -> String {
    format!("file:{}", node.display())
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("UTF-8")
}

fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[test]
fn a_command_knows_its_token_and_a_second_one_is_refused() {
    let quorum = Quorum::new();
    let (mut holder, token) = quorum.holder();
    let first: u64 = token.parse().expect("a number");
    // Each node has the lock.
    for node in &quorum.nodes {
        let output = quorum.by(&file_url(node), &["inspect", "a"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let enter = ["run", "--try", "a", "--", "printenv", "DLOCK_TOKEN"];
    let output = quorum.output(&enter);
    assert_eq!(output.status.code(), Some(75), "{output:?}");
    assert_eq!(stdout(&output), "");
    let (pid, host) = (holder.pid(), host());
    let line = format!(
        "dlock: \"a\" is taken by pid {pid} on {host} (checkout 77); to wait for it, use --wait"
    );
    assert_eq!(one_line(&output), line);

    holder.stdin = None;
    assert_eq!(holder.end(), (0, String::new()));
    let output = quorum.output(&enter);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let second: u64 = stdout(&output).trim_end().parse().expect("a number");
    assert!(second > first, "{second} after {first}");
}

#[test]
fn nodes_may_be_given_by_variables_and_with_settings() {
    let quorum = Quorum::new();
    let (_holder, _) = quorum.holder();
    let [a, b, c] = quorum.nodes.each_ref().map(|node| file_url(node));
    // The question mark of a node is percent-encoded.
    let url = format!("quorum:?1={a}&2=env:SECOND&3={c}%3Fttl=3s&{PATIENT}");
    let args = ["--url", &url, "run", "--try", "a", "--", "true"];
    let mut command = quorum.store.bare(&args);
    let output = command.env("SECOND", b).output().expect("dlock starts");
    assert_eq!(output.status.code(), Some(75), "{output:?}");
    // Without the variable nothing runs.
    let output = quorum.by(&url, &args[2..]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let line = one_line(&output);
    assert!(line.contains("SECOND: the environment variable"), "{line}");
}

#[test]
fn one_of_three_nodes_may_be_broken_and_two_may_not() {
    let quorum = Quorum::new();
    let run = ["run", "--try", "a", "--", "echo", "entered"];
    quorum.break_node(1);
    let output = quorum.output(&run);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stdout(&output), "entered\n");
    // It excludes all the same.
    let (_holder, _) = quorum.holder();
    let output = quorum.output(&run);
    assert_eq!(output.status.code(), Some(75), "{output:?}");

    quorum.break_node(2);
    let output = quorum.output(&run);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    assert_eq!(stdout(&output), "");
    let line = one_line(&output);
    let part = "1 of 3 nodes can be reached, 2 are needed";
    assert!(line.contains(part), "{line}");
}

#[test]
fn inspect_shows_the_holder_and_then_that_the_lock_is_free() {
    let quorum = Quorum::new();
    let (mut holder, token) = quorum.holder();
    let (pid, host) = (holder.pid(), host());

    let output = quorum.output(&["inspect", "a"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    assert!(text.starts_with("a is held\n"), "{text}");
    for part in [&*format!("pid {pid} on {host}\n"), "checkout 77\n", &token] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let output = quorum.output(&["inspect", "a", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = json(&output);
    assert_eq!(
        (&found["name"], &found["held"]),
        (&json!("a"), &json!(true))
    );
    let by = &found["holder"];
    assert_eq!(by["pid"], pid.as_raw_pid());
    for (key, value) in [
        ("host", &*host),
        ("note", "checkout 77"),
        ("token", &token),
        ("mode", "exclusive"),
    ] {
        assert_eq!(by[key], value, "{key}");
    }

    // An inspection does not disturb.
    holder.stdin = None;
    assert_eq!(holder.end(), (0, String::new()));
    let output = quorum.output(&["inspect", "a"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(stdout(&output), "a is free\n");
    let output = quorum.output(&["inspect", "a", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let free = json!({ "name": "a", "held": false, "holder": null });
    assert_eq!(json(&output), free);
}

#[test]
fn the_lock_of_a_killed_holder_is_free() {
    let quorum = Quorum::new();
    let (holder, _) = quorum.holder();
    holder.send(Signal::KILL);
    assert_eq!(holder.end().0, -9);
    // The command, which the guardian kills, has the output open until then.
    holder.silence();
    let output = quorum.output(&["run", "a", "--wait", "50s", "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn bench_measures_it_and_leaves_no_lock() {
    let quorum = Quorum::new();
    let output = quorum.output(&["bench", "--for", "1ms", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let run = json(&output);
    let stores = run["stores"].as_array().expect("stores");
    assert_eq!(stores.len(), 1);
    let found = &stores[0];
    for (key, value) in [
        ("url", &*quorum.url),
        ("label", "quorum"),
        ("backend", "quorum"),
    ] {
        assert_eq!(found[key], value, "{key}");
    }
    assert!(found["error"].is_null(), "{found}");
    for workload in ["cycles", "new_names"] {
        for (row, tasks) in found[workload]
            .as_array()
            .expect("rows")
            .iter()
            .zip([1, 64])
        {
            assert_eq!(row["tasks"], tasks);
            let rate = &row["dlock"]["per_second"]["value"];
            assert!(rate.as_f64() > Some(0.0), "{workload}: {row}");
        }
    }
    for workload in ["hand_over", "one_shot"] {
        let median = &found[workload]["median_ns"]["value"];
        assert!(median.as_f64() > Some(0.0), "{workload}: {found}");
    }
    // A quorum has no driver to be compared with.
    assert!(found["floor"].is_null(), "{found}");
    // Each name has left a file in a majority of the directories at least.
    let used = &found["used_once"];
    let [names, removed] = ["names", "removed"].map(|key| used[key].as_u64().unwrap_or(0));
    assert!(names > 0 && removed >= 2 * names, "{used}");
    assert_eq!(used["locks"], 0);
    quorum.assert_clean();
}

/// Each of 64 tasks waits for nodes that are too slow for it, in each round.
#[test]
fn a_bench_whose_tasks_wait_says_so_a_few_times() {
    let quorum = Quorum::new();
    let url = quorum.url.replace(PATIENT, "node_timeout=1ms");
    let output = quorum.by(&url, &["bench", "--for", "1ms"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let waits: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("dlock: waiting: "))
        .collect();
    let end = "dlock: waiting: further waits are not shown; -v shows them";
    // Fewer on a machine that is fast enough.
    assert!(waits.len() <= 4, "{said}");
    assert!(waits.len() < 4 || waits.last() == Some(&end), "{said}");
}

#[test]
fn a_bench_that_is_interrupted_removes_its_locks_from_all_nodes() {
    let quorum = Quorum::new();
    let args = ["--url", &quorum.url, "bench", "--for", "60s"];
    let program = Program::start(quorum.store.bare(&args));
    // The locks of the first cycles.
    let count = |node: &PathBuf| fs::read_dir(node).expect("a directory").count();
    while quorum.nodes.iter().any(|node| count(node) < 3) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    program.send(Signal::TERM);
    assert_eq!(program.end().0, 143);
    quorum.assert_clean();
}

#[test]
fn a_move_of_a_quorum_is_not_planned() {
    let quorum = Quorum::new();
    let other = file_url(&quorum.store.file("other"));
    for (old, new) in [(&quorum.url, &other), (&other, &quorum.url)] {
        for step in ["plan", "start", "status"] {
            let out = quorum.store.bare(&["migrate", step, old, new]).output();
            let out = out.expect("dlock starts");
            assert_eq!(out.status.code(), Some(64), "{step}");
            let err = String::from_utf8_lossy(&out.stderr);
            assert!(err.contains("made of other stores"), "{step}: {err}");
        }
    }
}

#[test]
fn a_bench_leaves_nothing_in_the_nodes_that_are_there() {
    let quorum = Quorum::new();
    // The one that is cleared first.
    quorum.break_node(1);
    let output = quorum.output(&["bench", "--for", "1ms"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("could not check whether locks"), "{said}");
    for node in &quorum.nodes[1..] {
        let left = fs::read_dir(node).expect("a directory");
        let left = left.map(|file| file.expect("a file").file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["layout"], "{}", node.display());
    }
}
