//! `dlock bench`.

use serde_json::Value;

use crate::support::{Store, one_line};

#[test]
fn every_workload_is_measured_and_nothing_is_left_held() {
    let store = Store::new();
    let other = Store::new();
    let (first, second) = (store.url(), other.url());
    let mut command = store.bare(&["bench", &first, &second, "--for", "100ms", "--json"]);
    let output = command.output().expect("dlock runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        output.stderr.is_empty(),
        "no progress bar without a terminal: {output:?}"
    );

    let reports: Value = serde_json::from_slice(&output.stdout).expect("json");
    for (report, url) in reports
        .as_array()
        .expect("a list")
        .iter()
        .zip([&first, &second])
    {
        assert_eq!(report["url"], url.as_str());
        assert_eq!(report["backend"], "file");
        let rows = report["rows"].as_array().expect("rows");
        let workloads: Vec<_> = rows
            .iter()
            .map(|row| (&row["workload"], &row["at_a_time"]))
            .collect();
        assert_eq!(workloads.len(), 3, "{workloads:?}");
        for (row, expected) in rows
            .iter()
            .zip([("cycle", 1), ("cycle", 64), ("hand-over", 2)])
        {
            assert_eq!(
                (row["workload"].as_str(), row["at_a_time"].as_i64()),
                (Some(expected.0), Some(expected.1))
            );
            for figure in ["count", "per_second", "median_ns", "p99_ns"] {
                assert!(row[figure].as_f64() > Some(0.0), "{figure}: {row}");
            }
        }
        let floors = rows.iter().filter(|row| row["workload"] == "cycle");
        for floor in floors.map(|row| &row["baseline"]) {
            assert_eq!(floor["what"], "floor");
            for figure in ["per_second", "ratio"] {
                assert!(floor[figure].as_f64() > Some(0.0), "{figure}: {floor}");
            }
        }
        assert!(rows[2]["baseline"].is_null(), "no server: {}", rows[2]);
        assert!(report["floor"].is_string(), "{report}");
    }
    for name in ["dlock-bench", "dlock-bench/hand-over"] {
        assert!(store.is_free(name));
    }
    let left = std::fs::read_dir(store.locks()).expect("a directory");
    let left = left.filter_map(|file| file.expect("a file").file_name().into_string().ok());
    let left: Vec<_> = left.filter(|file| !file.ends_with(".lock")).collect();
    assert_eq!(left, ["layout"], "the floor's files are removed");
}

#[test]
fn the_configured_store_is_the_default_and_people_get_a_table() {
    let store = Store::new();
    let output = store.output(&["bench", "--for", "50ms"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(table.starts_with(&store.url()), "{table}");
    for word in ["median", "p99", "per second", "floor", "hand-over"] {
        assert!(table.contains(word), "{table}");
    }
}

#[test]
fn bad_stores_are_refused_in_one_line() {
    let store = Store::new();
    for args in [
        &["bench", "memory:"][..],
        &["bench", "no-url"],
        &["bench", "file:/dev/null"],
    ] {
        let output = store.bare(args).output().expect("dlock runs");
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        one_line(&output);
    }
    assert_eq!(store.code(&["bench", "file:/tmp"]), 64, "two stores");
}
