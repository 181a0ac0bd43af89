//! Passwords in the environment of the command, in files and among the arguments.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::{Store, one_line};

const SECRET_URL: &str = "redis://app:s3cret@db-1";

/// The `DLOCK_URL` of the command.
fn inherited(store: &Store, url: &str, keep: &[&str]) -> String {
    let args = [
        &["run", "a"][..],
        keep,
        &["--", "sh", "-c", "echo \"$DLOCK_URL\""],
    ];
    let mut command = store.dlock(&args.concat());
    let output = command
        .env("DLOCK_URL", url)
        .output()
        .expect("dlock starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

#[test]
fn the_command_gets_a_url_with_a_password_only_if_it_is_kept() {
    let store = Store::new();
    assert_eq!(inherited(&store, SECRET_URL, &[]), "withheld:");
    let url = "redis-sentinel://h/s?sentinel_password=s3cret";
    assert_eq!(inherited(&store, url, &[]), "withheld:");
    assert_eq!(inherited(&store, SECRET_URL, &["--keep-url"]), SECRET_URL);
    let url = "redis://app@db-1?password_file=/run/secrets/redis";
    assert_eq!(inherited(&store, url, &[]), url);
}

#[test]
fn a_dlock_in_the_command_locks_nowhere_else() {
    let store = Store::new();
    let inner = format!("{} run b -- true", env!("CARGO_BIN_EXE_dlock"));
    let mut command = store.dlock(&["run", "a", "--", "sh", "-c", &inner]);
    let output = command.env("DLOCK_URL", SECRET_URL).output();
    let output = output.expect("dlock starts");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let line = one_line(&output);
    assert!(line.contains("--keep-url"), "{line}");
}

#[test]
fn a_file_with_a_password_that_all_can_read_is_warned_of() {
    let store = Store::new();
    let file = store.file("dlock.toml");
    fs::write(&file, "url = \"nosuch://app:s3cret@db-1\"").expect("file");
    for (mode, is_warned) in [(0o644, true), (0o640, false)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("mode");
        let output = store
            .bare(&["inspect", "a"])
            .output()
            .expect("dlock starts");
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("chmod o="), is_warned, "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn a_password_among_the_arguments_is_warned_of() {
    let store = Store::new();
    let args = ["--url", "nosuch://app:s3cret@db-1", "inspect", "a"];
    let output = store.bare(&args).output().expect("dlock starts");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("in the list of processes"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}
