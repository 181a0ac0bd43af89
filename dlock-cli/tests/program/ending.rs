//! Configuration and stores that are wrong or not there.

use std::fs;

use crate::support::{Store, one_line};

#[test]
fn an_unknown_scheme_is_64() {
    let store = Store::new();
    let output = store
        .bare(&["--url", "nosuch://x", "run", "a", "--", "true"])
        .output();
    let output = output.expect("dlock starts");
    assert_eq!(output.status.code(), Some(64));
    let line = one_line(&output);
    assert!(line.contains("nosuch") && line.contains("file"), "{line}");
}

#[test]
fn a_store_of_one_process_is_64() {
    let store = Store::new();
    let output = store
        .bare(&["--url", "memory:", "run", "a", "--", "true"])
        .output();
    let output = output.expect("dlock starts");
    assert_eq!(output.status.code(), Some(64));
    let line = "dlock: memory: locks exist in one process only and would exclude no other run; use file: or a server";
    assert_eq!(one_line(&output), line);
}

#[test]
fn a_password_is_never_printed() {
    let store = Store::new();
    for url in [
        "nosuch://me:s3cret@x/",
        "file://me:s3cret@x/?ttl=",
        "s3cret://:s3cret@",
        "://u:s3cret@",
    ] {
        for args in [
            &["--url", url, "inspect", "a"][..],
            &["-vv", "--url", url, "inspect", "a"],
        ] {
            let output = store.bare(args).output().expect("dlock starts");
            assert_eq!(output.status.code(), Some(64), "{output:?}");
            let said = String::from_utf8_lossy(&output.stderr).replace("s3cret://", "");
            assert!(!said.contains("s3cret"), "{said}");
        }
    }
}

#[test]
fn the_environment_and_a_file_say_where_the_locks_are() {
    let store = Store::new();
    let held = || {
        let entries = fs::read_dir(store.locks()).expect("directory");
        entries.count()
    };
    let mut command = store.bare(&["run", "from-environment", "--", "true"]);
    assert!(
        command
            .env("DLOCK_URL", store.url())
            .status()
            .expect("status")
            .success()
    );
    let after_environment = held();
    assert!(after_environment > 0);

    fs::write(
        store.file("dlock.toml"),
        format!("url = {:?}\n", store.url()),
    )
    .expect("file");
    let mut command = store.bare(&["run", "from-file", "--", "true"]);
    assert!(command.status().expect("status").success());
    let after_file = held();
    assert!(after_file > after_environment);

    fs::rename(store.file("dlock.toml"), store.file("other.toml")).expect("rename");
    let mut command = store.bare(&["--config", "other.toml", "run", "explicit", "--", "true"]);
    assert!(command.status().expect("status").success());
    assert!(held() > after_file);
}

#[test]
fn a_broken_or_missing_file_is_64() {
    let store = Store::new();
    fs::write(store.file("broken.toml"), "url = [\n").expect("file");
    for file in ["broken.toml", "missing.toml"] {
        let output = store.bare(&["--config", file, "inspect", "a"]).output();
        let output = output.expect("dlock starts");
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        assert!(one_line(&output).contains(file));
    }
}

#[test]
fn a_directory_that_is_a_file_is_64() {
    let store = Store::new();
    fs::write(store.file("file"), "").expect("file");
    let url = format!("file:{}", store.file("file").display());
    let output = store
        .bare(&["--url", &url, "run", "a", "--", "true"])
        .output();
    let output = output.expect("dlock starts");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    one_line(&output);
}
