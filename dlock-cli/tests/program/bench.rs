//! `dlock bench`.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::support::{Store, one_line};

/// The data of a run that is in the repository.
pub(crate) fn sample() -> PathBuf {
    let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../dlock-bench/tests/data");
    PathBuf::from(bench).join("sample.json")
}

/// Nothing but the layout is in the directory: no file of a lock or of the floor.
pub(crate) fn assert_clean(store: &Store) {
    let left = fs::read_dir(store.locks()).expect("a directory");
    let left = left.filter_map(|file| file.expect("a file").file_name().into_string().ok());
    assert_eq!(left.collect::<Vec<_>>(), ["layout"]);
}

pub(crate) fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("json")
}

/// Names used once were measured, and are gone.
fn assert_new_names(found: &Value) {
    for (row, tasks) in found["new_names"]
        .as_array()
        .expect("rows")
        .iter()
        .zip([1, 64])
    {
        assert_eq!(row["tasks"], tasks);
        for ratio in ["of_floor", "client_cpu_of_floor"] {
            assert!(row[ratio]["value"].as_f64() > Some(0.0), "{ratio}: {row}");
        }
    }
    // Each name of dlock has left a file, those of the floor are not counted; and no lock.
    let used = &found["used_once"];
    assert!(
        used["removed"].as_u64() > Some(0) && used["names"].as_u64() > used["removed"].as_u64(),
        "{used}"
    );
    assert_eq!(used["locks"], 0);
}

#[test]
fn every_workload_is_measured_and_nothing_is_left() {
    let (store, other) = (Store::new(), Store::new());
    let (first, second) = (store.url(), other.url());
    let args = [
        "bench", &first, &second, "--for", "3s", "--seed", "7f", "--json",
    ];
    let output = store.bare(&args).output().expect("dlock runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        output.stderr.is_empty(),
        "no progress bar without a terminal: {output:?}"
    );
    let run = json(&output);
    assert_eq!(
        (&run["format"], &run["seed"]),
        (&"dlock-bench/1".into(), &"7f".into())
    );
    assert!(run["rounds"].as_array().expect("rounds").len() >= 3);
    assert!(
        run["settings"]["awake"]["cores"].as_u64() > Some(0),
        "{}",
        run["settings"]
    );
    let stores = run["stores"].as_array().expect("stores");
    for (found, (label, url)) in stores.iter().zip([("file-1", &first), ("file-2", &second)]) {
        assert_eq!(
            (&found["label"], &found["url"]),
            (&label.into(), &url.as_str().into())
        );
        assert!(
            found["error"].is_null() && found["floor"].is_string(),
            "{found}"
        );
        for (row, tasks) in found["cycles"]
            .as_array()
            .expect("cycles")
            .iter()
            .zip([1, 64])
        {
            assert_eq!(row["tasks"], tasks);
            for side in ["dlock", "floor"] {
                assert!(
                    row[side]["per_second"]["value"].as_f64() > Some(0.0),
                    "{row}"
                );
                assert!(row[side]["client_cpu_ns"].as_f64() > Some(0.0), "{row}");
            }
            for ratio in ["of_floor", "same_twice", "client_cpu_of_floor"] {
                let [low, high] = ["low", "high"].map(|end| row[ratio][end].as_f64());
                assert!(low > Some(0.0) && high >= low, "{ratio}: {row}");
            }
        }
        assert_new_names(found);
        for workload in ["hand_over", "one_shot"] {
            assert!(
                found[workload]["median_ns"]["value"].as_f64() > Some(0.0),
                "{found}"
            );
        }
        assert!(
            found["exchange"].is_null() && found["takeover"].is_null(),
            "{found}"
        );
    }
    assert_eq!(stores.len(), 2);
    assert_clean(&store);
    assert_clean(&other);
}

#[test]
fn the_configured_store_is_the_default_and_people_get_a_table() {
    let store = Store::new();
    let output = store.output(&["bench", "--for", "500ms"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(table.starts_with("1 store, "), "{table}");
    for word in [
        "p50",
        "p99",
        "locks/s",
        "driver",
        "hand-over",
        "one shot",
        " file ",
    ] {
        assert!(table.contains(word), "{word}: {table}");
    }
}

#[test]
fn all_workloads_say_beforehand_that_they_load_the_server() {
    let store = Store::new();
    let args = ["bench", "--all", "--yes", "--for", "1s", "--json"];
    let output = store.output(&args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    assert!(
        said.starts_with("dlock: --all takes up to 6s and loads the servers"),
        "{said}"
    );
    let run = json(&output);
    let found = &run["stores"][0];
    assert!(found["error"].is_null(), "{found}");
    assert_eq!(found["cycles"].as_array().map(Vec::len), Some(3));
    assert!(
        found["steady"]["latency"]["p50_ns"].as_u64() > Some(0),
        "{found}"
    );
    let grants = found["contention"]["grants"].as_array().expect("grants");
    assert_eq!(grants.len(), 8);
    let killed = found["takeover"]["killed_ns"]
        .as_array()
        .expect("take-overs");
    assert_eq!(
        (killed.len(), &found["takeover"]["missed"]),
        (20, &0.into())
    );
    let held = found["held"].as_array().expect("held locks");
    assert!(
        held.iter().all(|row| row["lost"] == 0) && !held.is_empty(),
        "{found}"
    );
    assert_clean(&store);
}

#[test]
fn all_workloads_are_refused_without_a_word_of_the_user() {
    let store = Store::new();
    let output = store.output(&["bench", "--all", "--for", "1s"]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(
        said.contains("--all takes up to 6s and loads the servers"),
        "{said}"
    );
    assert!(
        said.ends_with("without a terminal, --all needs --yes\n"),
        "{said}"
    );
    assert!(output.stdout.is_empty());
    assert_eq!(
        fs::read_dir(store.locks()).expect("a directory").count(),
        0,
        "begun"
    );
}

#[test]
fn verdicts_stand_beside_the_speed() {
    let store = Store::new();
    let output = store.output(&["bench", "--for", "1s", "--verify=2s", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let run = json(&output);
    let verdict = &run["verdicts"]["stores"][0];
    assert_eq!(run["verdicts"]["format"], "dlock-verify/1");
    assert_eq!(verdict["url"], run["stores"][0]["url"]);
    assert_eq!(verdict["clauses"].as_array().map(Vec::len), Some(13));
    assert!(verdict["grants"].as_u64() > Some(0), "{verdict}");
    assert!(run["stores"][0]["cycles"].is_array());
    assert_clean(&store);
}

#[test]
fn verdicts_of_an_earlier_run_are_read() {
    let store = Store::new();
    let verdicts = store.file("verdicts.json");
    let verify = store.output(&["verify", "--for", "2s", "--no-faults", "--json"]);
    fs::write(&verdicts, &verify.stdout).expect("a file");
    let file = verdicts.to_str().expect("UTF-8");
    let report = store.file("report.html");
    let args = ["--for", "500ms", "--verify-file", file, "--report"];
    let args = [&["bench"], &args[..], &[report.to_str().expect("UTF-8")]].concat();
    let output = store.output(&args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(table.contains(" safety "), "{table}");
    let page = fs::read_to_string(&report).expect("the report");
    assert!(page.contains("exclusion") && !page.contains("Not verified in this run"));
    // A report is an earlier run, too, and keeps its verdicts.
    let again = store
        .bare(&["bench", "--from", report.to_str().expect("UTF-8")])
        .output();
    let again = again.expect("dlock runs");
    assert_eq!(String::from_utf8(again.stdout).expect("UTF-8"), table);
    // Verdicts about another store are refused before anything is measured.
    let other = Store::new();
    let output = other.output(&args);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    assert!(
        one_line(&output).contains("has no verdict about these stores"),
        "{output:?}"
    );
}

#[test]
fn bad_stores_are_refused_in_one_line() {
    let store = Store::new();
    for args in [
        &["bench", "memory:"][..],
        &["bench", "no-url"],
        &["bench", "file:/dev/null"],
        &["bench", "file:/tmp", "--seed", "xyz"],
        &["bench", "--compare", "/no-such-file", "/no-such-file"],
        &["bench", "file:/tmp", "--fail-over", "5%"],
        &["bench", "--from", "/no-such-file", "--fail-over", "5%"],
        &[
            "bench",
            "file:/tmp",
            "--report",
            "/no-such-folder/report.html",
        ],
        &["bench", "file:/tmp", "--report", "/tmp"],
    ] {
        let output = store.bare(args).output().expect("dlock runs");
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        one_line(&output);
    }
    assert_eq!(store.code(&["bench", "file:/tmp"]), 64, "two stores");
}
