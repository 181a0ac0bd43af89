//! The line about a wait, without a terminal; with one it is in `terminal.rs`.

use crate::support::{Program, Store, one_line};

/// A wait that is long enough for the line.
const WAIT: &str = "1500ms";

fn held(store: &Store) -> Program {
    let holder = store.start(&["run", "a", "--", "sh", "-c", "echo ready; exec cat"]);
    assert_eq!(holder.line(), "ready");
    holder
}

#[test]
fn without_a_terminal_a_wait_is_silent() {
    let store = Store::new();
    let _holder = held(&store);
    let output = store.output(&["run", "a", "--wait", WAIT, "--", "true"]);
    assert_eq!(output.status.code(), Some(75));
    // Only that it is over.
    assert!(one_line(&output).contains("was not free within"));
}

#[test]
fn with_v_it_is_explained() {
    let store = Store::new();
    let holder = held(&store);
    let waiting = store.start(&["-v", "run", "a", "--wait", "1m", "--", "true"]);
    waiting.says(&format!("\"a\" is taken by pid {} on ", holder.pid()));
    drop(holder);
    assert_eq!(waiting.end().0, 0);
}
