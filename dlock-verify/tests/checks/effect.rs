//! C9: an attempt without effect left nothing.

use dlock_verify::{
    checker::Check,
    history::{Owner, RefusalEffect, RefusalKind},
};

use crate::run::{Run, entry};

const OWNER: Owner = Owner { client: 1, op: 0 };

fn refused(effect: RefusalEffect) -> Run {
    let run = Run::default().request(0, 1, true);
    run.refuse(10, 1, RefusalKind::Unavailable, effect)
}

#[test]
fn an_attempt_without_effect_is_not_in_the_store() {
    let run = refused(RefusalEffect::None).list(20, &[entry(false, Some(OWNER))]);
    run.assert_violated(Check::Effect);
    let run = refused(RefusalEffect::None).list(20, &[]);
    run.assert_holds(Check::Effect, 1);
    let other = Owner { client: 2, op: 0 };
    let run = refused(RefusalEffect::None).list(20, &[entry(false, Some(other))]);
    run.assert_holds(Check::Effect, 1);
}

#[test]
fn an_attempt_with_an_unknown_effect_may_be() {
    let run = refused(RefusalEffect::Unknown).list(20, &[entry(false, Some(OWNER))]);
    run.assert_unknown(Check::Effect);
}

#[test]
fn a_listing_that_is_late_or_has_no_owners_shows_nothing() {
    let run = refused(RefusalEffect::None).list(1_500, &[]);
    run.assert_unknown(Check::Effect);
    let run = refused(RefusalEffect::None).list(20, &[entry(false, None)]);
    run.assert_unknown(Check::Effect);
}
