//! C6b: a refusal of a free lock is flagged.

use dlock_verify::{
    checker::{Check, Verdict, contention},
    history::{RefusalEffect, RefusalKind},
};

use crate::run::{CONTENDED, Run, bounds};

fn refused_at(ms: u64, before: Run) -> Run {
    before
        .request(ms, 2, false)
        .refuse(ms + 1, 2, CONTENDED.0, CONTENDED.1)
}

#[test]
fn a_lock_that_is_held_is_taken() {
    let run = refused_at(5, Run::default().request(0, 1, true).grant(1, 1, 1_000));
    run.assert_holds(Check::Contention, 1);
    refused_at(10, Run::default().hold(0, 1)).assert_holds(Check::Contention, 1);
}

#[test]
fn a_lock_that_was_released_is_free() {
    refused_at(11, Run::default().hold(0, 1)).assert_violated(Check::Contention);
}

#[test]
fn two_that_refuse_each_other_are_flagged() {
    let run = refused_at(11, Run::default().hold(0, 1));
    let run = run
        .request(11, 3, false)
        .refuse(12, 3, CONTENDED.0, CONTENDED.1);
    run.assert_violated(Check::Contention);
}

#[test]
fn tries_that_collide_may_refuse_each_other_but_none_alone() {
    let mut colliding = bounds();
    colliding.tries_collide = true;
    let alone = refused_at(11, Run::default().hold(0, 1));
    let verdict = contention(&alone.facts(), &colliding);
    assert_eq!(verdict.violations().len(), 1, "{verdict:?}");
    let both = alone
        .request(11, 3, false)
        .refuse(12, 3, CONTENDED.0, CONTENDED.1);
    let verdict = contention(&both.facts(), &colliding);
    assert_eq!(verdict, Verdict::Holds { cases: 2 });
}

#[test]
fn an_attempt_without_a_reply_may_have_the_lock_for_a_ttl() {
    let lost = || {
        let run = Run::default().request(0, 1, true);
        run.refuse(10, 1, RefusalKind::Unavailable, RefusalEffect::Unknown)
    };
    refused_at(1_000, lost()).assert_holds(Check::Contention, 1);
    refused_at(1_021, lost()).assert_violated(Check::Contention);
    // The request may have been held back until the fault had ended.
    let run = refused_at(1_021, lost().fault(5, 500));
    run.assert_holds(Check::Contention, 1);
    // Servers that fail later count the ttl from zero, and another client's failure changes nothing.
    let later = |target| lost().fault_of(target, 900, 1_500);
    refused_at(2_400, later("servers")).assert_holds(Check::Contention, 1);
    refused_at(2_521, later("servers")).assert_violated(Check::Contention);
    refused_at(2_400, later("worker 3")).assert_violated(Check::Contention);
}

#[test]
fn a_wait_may_have_been_granted_as_it_ended() {
    let run = Run::default()
        .request(0, 1, true)
        .refuse(10, 1, CONTENDED.0, CONTENDED.1);
    refused_at(11, run).assert_holds(Check::Contention, 1);
}

#[test]
fn a_failure_without_effect_has_not_the_lock() {
    let run = Run::default().request(0, 1, true);
    let run = run.refuse(10, 1, RefusalKind::Denied, RefusalEffect::None);
    refused_at(11, run).assert_violated(Check::Contention);
}
