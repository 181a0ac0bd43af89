//! Every interleaving of what can happen to one attempt at once (K4, K7, K8). Loom runs the very file that core
//! uses, with loom's atomics in place of std's.

#![expect(clippy::expect_used, reason = "a test fails by it")]

mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}
mod base {
    pub(crate) use super::cause;
}
#[path = "../src/base/cause.rs"]
#[expect(unreachable_pub, reason = "it is public in core")]
mod cause;
#[path = "../src/backend/state.rs"]
mod state;

use std::sync::Arc;

use cause::LostCause;
use loom::thread;
use state::{Phase, State};

const NOW: u64 = 1_000;
const DEADLINE: u64 = 2_000;
const LATER: u64 = 3_000;

fn pending() -> Arc<State> {
    Arc::new(State::pending())
}

fn held() -> Arc<State> {
    let state = pending();
    state.grant(NOW, DEADLINE).expect("pending");
    state
}

/// Runs `other` on another thread while `this` runs here.
fn race<A, B: Send + 'static>(
    state: &Arc<State>,
    this: impl FnOnce(&State) -> A,
    other: impl FnOnce(&State) -> B + Send + 'static,
) -> (A, B) {
    let shared = state.clone();
    let thread = thread::spawn(move || other(&shared));
    let this = this(state);
    (this, thread.join().expect("no panic"))
}

#[test]
fn of_grant_and_cancel_exactly_one_counts() {
    loom::model(|| {
        let state = pending();
        let (granted, cancelled) = race(&state, |s| s.grant(NOW, DEADLINE), State::cancel);
        assert_ne!(granted.is_ok(), cancelled);
        let expected = if cancelled {
            Phase::Cancelled
        } else {
            Phase::Held(DEADLINE)
        };
        assert_eq!(state.phase(), expected);
    });
}

#[test]
fn a_cancellation_without_a_grant_counts() {
    loom::model(|| {
        let state = pending();
        assert!(state.cancel());
        assert_eq!(state.phase(), Phase::Cancelled);
        assert!(!state.cancel());
    });
}

#[test]
fn a_loss_before_the_grant_stops_it_and_one_after_it_is_kept() {
    loom::model(|| {
        let state = pending();
        let lose = |s: &State| s.lose(LostCause::Taken);
        let (granted, lost) = race(&state, |s| s.grant(NOW, DEADLINE), lose);
        assert_eq!(state.phase(), Phase::Lost(LostCause::Taken));
        let before = if granted.is_ok() {
            Phase::Held(DEADLINE)
        } else {
            Phase::Pending
        };
        assert_eq!(lost, Some(before));
    });
}

#[test]
fn of_release_and_loss_exactly_one_counts() {
    loom::model(|| {
        let state = held();
        let lose = |s: &State| s.lose(LostCause::Removed).is_some();
        let (released, lost) = race(&state, State::release, lose);
        assert_ne!(released.is_ok(), lost);
        let expected = if lost {
            Phase::Lost(LostCause::Removed)
        } else {
            Phase::Released
        };
        assert_eq!(state.phase(), expected);
    });
}

#[test]
fn a_renewal_never_revives_what_was_released() {
    loom::model(|| {
        let state = held();
        let (released, ()) = race(&state, State::release, |s| s.extend(NOW, LATER));
        assert!(released.is_ok());
        assert_eq!(state.phase(), Phase::Released);
    });
}

#[test]
fn a_hold_either_expires_or_is_renewed() {
    loom::model(|| {
        let state = held();
        let (expired, ()) = race(
            &state,
            |s| s.expire(DEADLINE),
            |s| s.extend(DEADLINE - 1, LATER),
        );
        let expected = if expired {
            Phase::Lost(LostCause::Expired)
        } else {
            Phase::Held(LATER)
        };
        assert_eq!(state.phase(), expected);
    });
}

#[test]
fn a_hold_does_not_expire_before_its_deadline() {
    loom::model(|| {
        let state = held();
        assert!(!state.expire(DEADLINE - 1));
        assert_eq!(state.phase(), Phase::Held(DEADLINE));
    });
}

#[test]
fn a_renewal_that_is_late_revives_nothing() {
    loom::model(|| {
        let state = held();
        state.extend(DEADLINE, LATER);
        assert_eq!(state.phase(), Phase::Held(DEADLINE));
        assert!(state.expire(DEADLINE));
    });
}

#[test]
fn two_renewals_keep_the_later_deadline() {
    loom::model(|| {
        let state = held();
        race(
            &state,
            |s| s.extend(NOW, LATER),
            |s| s.extend(NOW, DEADLINE + 1),
        );
        assert_eq!(state.phase(), Phase::Held(LATER));
    });
}

#[test]
fn of_a_drop_and_a_release_one_counts() {
    loom::model(|| {
        let state = held();
        let (dropped, released) = race(&state, State::release, State::release);
        assert_ne!(dropped.is_ok(), released.is_ok());
    });
}

#[test]
fn a_grant_that_is_late_is_lost() {
    loom::model(|| {
        let state = pending();
        let late = Err(Phase::Lost(LostCause::Expired));
        assert_eq!(state.grant(DEADLINE, DEADLINE), late);
    });
}
