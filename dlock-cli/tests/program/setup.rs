//! `dlock setup`.

use crate::support::Store;

#[test]
fn a_store_without_tables_is_ready_and_has_nothing_to_print() {
    let store = Store::new();
    let output = store.output(&["setup"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"the store is ready\n");

    let output = store.output(&["setup", "--print"]);
    assert_eq!(output.status.code(), Some(64));
    assert_eq!(output.stderr, b"dlock: file: needs no setup\n");
}

#[cfg(feature = "mysql")]
#[test]
fn the_statements_of_a_database_are_printed_without_it() {
    let store = Store::new();
    let url = "mysql://app@127.0.0.1:1/locks";
    let output = store.bare(&["setup", "--print", "--url", url]).output();
    let output = output.expect("dlock starts");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.starts_with("CREATE TABLE IF NOT EXISTS dlock_locks"),
        "{text}"
    );
    assert!(text.ends_with(";\n"), "{text}");
}
