//! C6: a waiter of a free lock is granted in time.

use dlock_verify::{checker::Check, history::EventKind};

use crate::run::{CONTENDED, MS, Run};

#[test]
fn a_waiter_of_a_free_lock_is_granted_within_a_second() {
    let run = Run::default().hold(0, 1).request(5, 2, true);
    let granted = run.grant(900, 2, 5_000).release(901, 2);
    granted.assert_holds(Check::Liveness, 2);
}

#[test]
fn a_waiter_that_is_granted_late_is_flagged() {
    let run = Run::default().hold(0, 1).request(5, 2, true);
    let granted = run.grant(1_050, 2, 5_000).release(1_051, 2);
    granted.assert_violated(Check::Liveness);
}

#[test]
fn a_grant_may_be_as_late_as_timers() {
    let granted = |at_ms: u64, by_ms: u64| {
        let run = Run::default().hold(0, 1).request(5, 2, true);
        let run = run.add(500, 0, EventKind::Lagged { by: by_ms * MS });
        run.grant(at_ms, 2, 9_000).release(at_ms + 1, 2)
    };
    granted(1_050, 100).assert_holds(Check::Liveness, 2);
    granted(1_150, 100).assert_violated(Check::Liveness);
    // Nothing is known while they are that late, and the second begins again.
    granted(1_450, 300).assert_holds(Check::Liveness, 2);
    granted(1_550, 300).assert_violated(Check::Liveness);
}

#[test]
fn a_waiter_that_is_never_granted_is_flagged() {
    let run = Run::default().hold(0, 1).request(5, 2, true);
    let cancelled = run.add(3_000, 2, EventKind::Cancelled { op: 0 });
    cancelled.assert_violated(Check::Liveness);
    let contended =
        Run::default()
            .hold(0, 1)
            .request(5, 2, true)
            .refuse(3_000, 2, CONTENDED.0, CONTENDED.1);
    contended.assert_violated(Check::Liveness);
    let open = Run::default().hold(0, 1).request(5, 2, true).hold(5_000, 3);
    open.assert_violated(Check::Liveness);
}

#[test]
fn a_dead_holder_keeps_the_lock_for_its_ttl() {
    let run = Run::default()
        .request(0, 1, true)
        .grant(1, 1, 900)
        .add(500, 1, EventKind::Killed)
        .request(600, 2, true);
    run.grant(2_500, 2, 5_000).assert_holds(Check::Liveness, 2);
    let late = Run::default()
        .request(0, 1, true)
        .grant(1, 1, 900)
        .add(500, 1, EventKind::Killed)
        .request(600, 2, true)
        .grant(2_530, 2, 5_000);
    late.assert_violated(Check::Liveness);
}

#[test]
fn no_grant_is_due_while_a_fault_is_on() {
    let run = Run::default().hold(0, 1).request(5, 2, true);
    let run = run.fault(500, 3_000).grant(4_900, 2, 6_000);
    run.assert_holds(Check::Liveness, 2);
    let run = Run::default().hold(0, 1).request(5, 2, true);
    let run = run.fault(500, 3_000).grant(5_100, 2, 6_000);
    run.assert_violated(Check::Liveness);
}

#[test]
fn no_grant_is_due_while_an_abandoned_attempt_may_have_the_lock() {
    let run = Run::default().request(0, 3, true);
    let run = run
        .add(100, 3, EventKind::Cancelled { op: 0 })
        .request(105, 2, true)
        .grant(2_000, 2, 5_000);
    run.assert_holds(Check::Liveness, 2);
}
