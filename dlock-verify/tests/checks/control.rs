//! C4: the control shows that a run was hard.

use dlock_verify::{
    checker::Check,
    history::{EventKind, RegisterKind},
};

use crate::run::Run;

fn write(value: u64) -> EventKind {
    EventKind::Write {
        name: "n".into(),
        register: RegisterKind::Control,
        token: 1,
        value,
        accepted: true,
    }
}

#[test]
fn a_control_that_lost_an_update_shows_that_the_run_was_hard() {
    let run = Run::default().add(1, 1, write(1)).add(2, 2, write(1));
    run.assert_holds(Check::Control, 2);
}

#[test]
fn a_control_that_lost_nothing_proves_nothing() {
    let run = Run::default().add(1, 1, write(1)).add(2, 2, write(2));
    run.assert_unknown(Check::Control);
    Run::default().assert_unknown(Check::Control);
}
