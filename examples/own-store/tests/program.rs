//! The program on the store of this package: each subcommand knows it.

#![expect(clippy::expect_used, reason = "these are tests")]

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A directory of locks, and the program on it.
struct Store {
    directory: TempDir,
}

impl Store {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self { directory }
    }

    fn url(&self) -> String {
        format!("ledger:{}", self.directory.path().display())
    }

    /// Runs `dlock --url URL ARGS…` to its end.
    fn dlock(&self, args: &[&str]) -> Output {
        let url = self.url();
        dlock(&[&["--url", &url], args].concat())
    }

    /// Runs it with `--json`, and reads its one store.
    fn json(&self, args: &[&str]) -> (Option<i32>, Value) {
        let output = self.dlock(args);
        let mut document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code(), document["stores"][0].take())
    }
}

fn dlock(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock-own-store"));
    for variable in ["DLOCK_URL", "DLOCK_CONFIG", "DLOCK_REQUIRE_URL"] {
        command.env_remove(variable);
    }
    command.args(args).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("UTF-8")
}

fn assert_no_clause_fails(store: &Value) {
    let clauses = store["clauses"].as_array().expect("clauses");
    assert_eq!(clauses.len(), 13);
    let failed = clauses.iter().filter(|clause| clause["verdict"] == "fails");
    assert_eq!(failed.count(), 0, "{store}");
}

#[test]
fn a_directory_that_is_missing_is_named_in_one_line() {
    let output = dlock(&[
        "--url",
        "ledger:/no/such/directory",
        "run",
        "a",
        "--",
        "true",
    ]);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{errors}");
    assert!(errors.contains("a directory that exists"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn the_version_names_the_scheme() {
    let output = dlock(&["--version"]);
    let version = text(&output.stdout);
    let stores = version
        .lines()
        .find_map(|line| line.strip_prefix("stores: "));
    // Those of dlock that are built in come along.
    let mut schemes = stores.into_iter().flat_map(|line| line.split(", "));
    assert!(schemes.any(|scheme| scheme == "ledger"), "{version}");
}

#[test]
fn an_unknown_scheme_is_refused_with_those_of_this_program() {
    for args in [
        &["--url", "lodger:/tmp", "run", "a", "--", "true"][..],
        &["--url", "lodger:/tmp", "inspect", "a"],
        &["setup", "lodger:/tmp"],
        &["verify", "lodger:/tmp"],
        &["bench", "lodger:/tmp"],
    ] {
        let output = dlock(args);
        assert_eq!(output.status.code(), Some(64), "{args:?}: {output:?}");
        let said = text(&output.stderr);
        assert!(
            said.contains("unknown scheme \"lodger\"") && said.contains(", ledger, "),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn a_command_runs_under_a_lock_that_others_see() {
    let store = Store::new();
    let url = store.url();
    let program = env!("CARGO_BIN_EXE_dlock-own-store");
    let inspected = store.dlock(&["run", "a", "--", program, "--url", &url, "inspect", "a"]);
    assert_eq!(inspected.status.code(), Some(0), "{inspected:?}");
    let holder = text(&inspected.stdout);
    assert!(holder.starts_with("a is held\n"), "{holder}");
    let try_again = ["run", "a", "--", program, "--url", &url, "run", "--try"];
    let taken = store.dlock(&[&try_again[..], &["a", "--", "true"]].concat());
    assert_eq!(taken.status.code(), Some(75), "{taken:?}");
    let free = store.dlock(&["inspect", "a"]);
    assert_eq!(free.status.code(), Some(1), "{free:?}");
    assert_eq!(store.dlock(&["setup"]).stdout, b"the store is ready\n");
}

#[test]
fn it_is_verified() {
    let store = Store::new();
    let (code, verdict) = store.json(&["verify", "--for", "15s", "--no-faults", "--json"]);
    assert_no_clause_fails(&verdict);
    assert_eq!(verdict["clauses"][0]["verdict"], "holds", "{verdict}");
    // On a machine that is too slow a clause has no answer.
    let clauses = verdict["clauses"].as_array().expect("clauses");
    let is_unknown = clauses.iter().any(|clause| clause["verdict"] == "unknown");
    assert_eq!(code, Some(if is_unknown { 2 } else { 0 }), "{verdict}");
    assert!(verdict["grants"].as_u64() > Some(0), "{verdict}");
    // Nothing is known about the settings and the entries of such a store.
    let found = verdict["findings"].as_array().expect("findings");
    let about = found.iter().find(|found| found["id"] == "store.scheme");
    assert_eq!(about.expect("a finding")["severity"], "note");
    assert!(verdict["residue"]["unknown"].is_null(), "{verdict}");
}

#[test]
fn it_is_verified_under_faults_of_worker_processes() {
    let store = Store::new();
    let (_, verdict) = store.json(&["verify", "--for", "35s", "--json"]);
    assert!(verdict["error"].is_null(), "{verdict}");
    assert_no_clause_fails(&verdict);
    let faults = verdict["faults"].as_array().expect("faults");
    // The workers were granted locks of this store.
    assert!(
        faults
            .iter()
            .any(|fault| fault["grants"].as_u64() > Some(0)),
        "{verdict}"
    );
}

#[test]
fn it_is_measured_without_a_driver_to_compare_with() {
    let store = Store::new();
    let (code, measured) = store.json(&["bench", "--for", "1s", "--json"]);
    assert_eq!(code, Some(0), "{measured}");
    assert_eq!(measured["backend"], "ledger");
    for row in measured["cycles"].as_array().expect("cycles") {
        assert!(
            row["dlock"]["per_second"]["value"].as_f64() > Some(0.0),
            "{row}"
        );
        assert!(row["floor"].is_null() && row["of_floor"].is_null(), "{row}");
    }
    // Both need further processes of this program.
    for workload in ["hand_over", "one_shot"] {
        assert!(
            measured[workload]["median_ns"]["value"].as_f64() > Some(0.0),
            "{measured}"
        );
    }
    let notes = measured["notes"].as_array().expect("notes");
    let says = |note: &Value| {
        note.as_str()
            .is_some_and(|note| note.starts_with("no driver"))
    };
    assert!(notes.iter().any(says), "{measured}");
    let table = store.dlock(&["bench", "--for", "1s"]);
    assert_eq!(table.status.code(), Some(0), "{table:?}");
    assert!(
        text(&table.stdout).contains("no driver beside it"),
        "{table:?}"
    );
}
