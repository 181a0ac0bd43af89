//! The data of earlier runs of `dlock bench`: comparisons, and reports from them.

use std::fs;

use serde_json::Value;

use crate::{
    bench::{json, sample},
    support::{Store, one_line},
};

#[test]
fn two_runs_are_compared_and_a_worse_one_fails() {
    let store = Store::new();
    let text = fs::read_to_string(sample()).expect("the sample");
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    for end in ["value", "low", "high"] {
        let number = &mut run["stores"][1]["cycles"][2]["of_floor"][end];
        *number = (number.as_f64().expect("a number") * 0.8).into();
    }
    let (old, new, report) = (store.file("old"), store.file("new"), store.file("report"));
    fs::write(&old, &text).expect("a file");
    fs::write(&new, run.to_string()).expect("a file");
    let element = r#"<template id="dlock-bench">"#;
    fs::write(&report, format!("<p>text</p>{element}{text}</template>")).expect("a file");
    let [old, new, report] = [&old, &new, &report].map(|file| file.to_str().expect("UTF-8"));
    let compare = |args: &[&str]| {
        let args = [&["bench", "--compare"], args].concat();
        store.bare(&args).output().expect("dlock runs")
    };
    let worse = compare(&[old, new, "--fail-over", "5%"]);
    assert_eq!(worse.status.code(), Some(1), "{worse:?}");
    let table = String::from_utf8(worse.stdout).expect("UTF-8");
    let line = table
        .lines()
        .find(|line| line.contains("worse"))
        .expect("a line");
    assert!(
        line.contains("redis") && line.contains("64 tasks"),
        "{line}"
    );
    for fine in [
        &[old, new][..],
        &[new, old, "--fail-over", "5%"],
        &[old, report],
    ] {
        assert_eq!(compare(fine).status.code(), Some(0), "{fine:?}");
    }
    let changes = json(&compare(&[old, new, "--json"]));
    assert!(
        changes["changes"]
            .as_array()
            .is_some_and(|changes| changes.len() > 30)
    );
}

#[test]
fn runs_that_cannot_be_compared_are_no_success() {
    let store = Store::new();
    let text = fs::read_to_string(sample()).expect("the sample");
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut run: Value = serde_json::from_str(&text).expect("JSON");
        change(&mut run);
        let file = store.file(name);
        fs::write(&file, run.to_string()).expect("a file");
        file.to_str().expect("UTF-8").to_owned()
    };
    let old = changed("old", &|_| ());
    let empty = changed("empty", &|run| run["stores"] = Value::Array(Vec::new()));
    let noisy = changed("noisy", &|run| run["noise"]["same_twice"] = 0.08.into());
    let other = changed("other", &|run| {
        for store in run["stores"].as_array_mut().expect("stores") {
            store["label"] = format!("{}-9", store["backend"]).into();
        }
    });
    for (new, why) in [
        (&empty, "nothing to compare"),
        (&other, "nothing to compare"),
        (&noisy, "too noisy to judge 5 %"),
    ] {
        let args = ["bench", "--compare", &old, new, "--fail-over", "5%"];
        let output = store.bare(&args).output().expect("dlock runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(one_line(&output).contains(why), "{output:?}");
    }
    let code = |args: &[&str]| store.bare(args).output().expect("dlock runs").status.code();
    assert_eq!(code(&["bench", "--compare", &empty, &empty]), Some(2));
    assert_eq!(code(&["bench", "--compare", &old, &noisy]), Some(0));
}

#[test]
fn a_report_that_cannot_be_written_at_the_end_does_not_cost_the_table() {
    let store = Store::new();
    // It can be opened, and is full.
    let output = store.output(&["bench", "--for", "500ms", "--report", "/dev/full"]);
    assert_eq!(output.status.code(), Some(70), "{output:?}");
    assert!(one_line(&output).contains("cannot write /dev/full"));
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(table.starts_with("1 store, "), "{table}");
}

#[test]
fn a_run_that_fails_leaves_no_report() {
    let store = Store::new();
    let report = store.file("report.html");
    let file = report.to_str().expect("UTF-8");
    let args = ["bench", "--for", "1s", "--all", "--report", file];
    assert_eq!(store.code(&args), 64, "no yes");
    assert!(!report.exists());
}

#[test]
fn data_of_another_version_is_refused_with_both() {
    let store = Store::new();
    let file = store.file("future");
    fs::write(&file, r#"{"format":"dlock-bench/2"}"#).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let output = store.bare(&["bench", "--compare", file, file]);
    let output = { output }.output().expect("dlock runs");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let line = one_line(&output);
    assert!(
        line.contains("dlock-bench/2") && line.contains("dlock-bench/1"),
        "{line}"
    );
}
