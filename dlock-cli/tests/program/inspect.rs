//! `dlock inspect`.

use std::fs;

use serde_json::{Value, json};

use crate::support::Store;

#[test]
fn a_free_lock_is_1() {
    let store = Store::new();
    let output = store.output(&["inspect", "a"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"a is free\n");
    assert!(output.stderr.is_empty());

    let output = store.output(&["inspect", "a", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_eq!(json, json!({ "name": "a", "held": false, "holder": null }));
}

#[test]
fn json_does_not_steer_the_terminal() {
    let store = Store::new();
    let script = "echo ready; exec cat";
    let args = ["run", "a", "--note", "steering", "--", "sh", "-c", script];
    let holder = store.start(&args);
    assert_eq!(holder.line(), "ready");
    // Another program may write to the store.
    let entries = fs::read_dir(store.locks()).expect("directory");
    for path in entries.map(|entry| entry.expect("entry").path()) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        if text.contains("steering") {
            let text = text.replace("steering", "\u{9b}31m\u{7f}ab");
            fs::write(&path, text).expect("file");
        }
    }
    let output = store.output(&["inspect", "a", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let line = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(line.contains(r"\u009b31m\u007fab"), "{line}");
    assert!(!line.trim_end().contains(char::is_control), "{line}");
}

#[test]
fn a_held_lock_is_0_and_says_by_whom() {
    let store = Store::new();
    let script = "echo $DLOCK_TOKEN; exec cat";
    let args = [
        "run",
        "a",
        "--note",
        "checkout 77",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut holder = store.start(&args);
    let token = holder.line();

    let output = store.output(&["inspect", "a"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.starts_with("a is held\n"), "{text}");
    for part in [
        &format!("pid {}", holder.pid()),
        "checkout 77",
        &token,
        "ago)",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }

    let output = store.output(&["inspect", "a", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let json: Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_eq!(json["held"], true);
    let holder_json = &json["holder"];
    assert_eq!(holder_json["pid"], holder.pid().as_raw_pid());
    assert_eq!(holder_json["token"], token);
    assert_eq!(holder_json["note"], "checkout 77");
    assert_eq!(holder_json["mode"], "exclusive");

    // An inspection does not disturb: the holder ends well, and the lock is free.
    holder.stdin = None;
    assert_eq!(holder.end(), (0, String::new()));
    assert_eq!(store.code(&["inspect", "a"]), 1);
}
