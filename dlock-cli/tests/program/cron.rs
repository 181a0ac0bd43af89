//! A lock that is taken, without a reader: `--quiet` and `--skip-ok`.

use crate::support::{Program, Store};

fn held(store: &Store) -> Program {
    let holder = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(holder.line(), "ready");
    holder
}

#[test]
fn a_taken_lock_is_silent_and_may_be_no_error() {
    let store = Store::new();
    let _holder = held(&store);
    for (options, code) in [
        (&["--quiet"][..], 75),
        (&["-q"], 75),
        (&["--skip-ok"], 0),
        (&["--quiet", "--skip-ok"], 0),
    ] {
        for wait in [&["--try"][..], &["--wait", "50ms"]] {
            let args = [&["run", "a"][..], options, wait, &["--", "echo", "ran"]].concat();
            let output = store.output(&args);
            assert_eq!(output.status.code(), Some(code), "{args:?}");
            assert!(output.stdout.is_empty(), "the command does not run");
            assert!(output.stderr.is_empty(), "{output:?}");
        }
    }
    // With -v there is a line.
    let output = store.output(&["-v", "run", "a", "--try", "--skip-ok", "--", "true"]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("dlock: \"a\" is taken"), "{said}");
}

#[test]
fn only_a_taken_lock_is_skipped() {
    let store = Store::new();
    let run = |args: &[&str]| {
        let args = [&["run", "a", "--quiet", "--skip-ok"][..], args].concat();
        store.output(&args)
    };
    let output = run(&["--", "sh", "-c", "exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    let output = run(&["--", "no-such-command"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(!output.stderr.is_empty());
    let output = run(&["--ttl", "1ns", "--grace", "0s", "--", "true"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(!output.stderr.is_empty());
}
