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
    assert_eq!(
        output.stderr,
        b"dlock: file: needs no setup; its locks can be used at once\n"
    );
}

#[test]
fn the_store_is_named_in_one_way() {
    let store = Store::new();
    let url = store.url();
    let output = store.bare(&["setup", &url]).output().expect("dlock starts");
    assert_eq!(output.stdout, b"the store is ready\n");
    let both = store.bare(&["setup", &url, "--url", &url]).output();
    assert_eq!(both.expect("dlock starts").status.code(), Some(64));
}

#[cfg(feature = "mysql")]
#[test]
fn the_statements_of_a_database_are_printed_without_it() {
    let store = Store::new();
    let url = "mysql://app@127.0.0.1:1/locks";
    for arguments in [
        &["setup", url, "--print"][..],
        &["setup", "--print", "--url", url],
    ] {
        let output = store.bare(arguments).output().expect("dlock starts");
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            text.starts_with("CREATE TABLE IF NOT EXISTS dlock_locks"),
            "{text}"
        );
        assert!(text.ends_with(";\n"), "{text}");
    }
}
