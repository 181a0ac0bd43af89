//! C7: nothing undocumented is left.

use dlock_verify::{
    checker::Check,
    history::{Entry, EventKind},
};

use crate::run::{Run, entry};

#[test]
fn nothing_is_left_when_all_have_ended() {
    let run = Run::default().hold(0, 1).list(20, &[entry(true, None)]);
    run.assert_holds(Check::Residue, 1);
    let run = Run::default().hold(0, 1).list(20, &[entry(false, None)]);
    run.assert_violated(Check::Residue);
}

#[test]
fn a_lock_that_is_held_has_an_entry() {
    let held = Run::default().request(0, 1, true).grant(1, 1, 1_000);
    held.list(20, &[entry(false, None)])
        .assert_unknown(Check::Residue);
    Run::default().hold(0, 1).assert_unknown(Check::Residue);
}

#[test]
fn an_entry_without_a_name_is_of_all_locks() {
    let lease = Entry {
        name: "".into(),
        what: "lease 7".to_owned(),
        documented: false,
        owner: None,
    };
    let run = Run::default()
        .hold(0, 1)
        .list(20, std::slice::from_ref(&lease));
    run.assert_violated(Check::Residue);
    let other = EventKind::Requested {
        op: 0,
        name: "other".into(),
        shared: false,
        waits: true,
    };
    let run = Run::default().hold(0, 1).add(15, 5, other);
    run.list(20, &[lease]).assert_holds(Check::Residue, 1);
}
