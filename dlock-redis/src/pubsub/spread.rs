//! Spreads the tries of many waiters after a release.
//!
//! If all of them tried at once, the server would refuse all but one, once for each release. So about two try at once,
//! and the others later, unless another release comes first. Those that have waited for long try sooner: among the tries
//! of one moment the nearest client wins, and without this rule it would win again and again.

use std::time::Duration;

use dlock_core::toolkit::random_fraction;

/// How many waiters try at once.
const AT_ONCE: f64 = 2.0;

/// How likely a waiter tries at once, as a multiple of the chance that all would have without the rule: it has missed
/// fewer releases than half of the waiters, or as many.
///
/// Each waiter is granted after as many releases as there are waiters, on the average. So half of them are in each class,
/// and the mean is 1.
const SHORT_WAIT: f64 = 0.25;
const LONG_WAIT: f64 = 2.0 - SHORT_WAIT;

/// The rule is for no more waiters. Of hundreds that are new at the same time none would try at once for hundreds of
/// releases, and the client that released would take the lock again.
const FEW: u32 = 32;

/// The pause doubles from group to group; the first group makes none.
const PAUSE_UNIT: Duration = Duration::from_millis(1);

/// Later groups pause no longer than this one.
const GROUP_MAX: f64 = 8.0;

/// The bound on a pause. It is part of `takeover_max`: a lock may expire while its waiters pause.
const PAUSE_MAX: Duration = Duration::from_millis(256);

/// The pause before the next try of one of `listeners` waiters, which was notified of `releases` while it waited; `None`
/// for a try at once.
pub(crate) fn pause(listeners: u32, releases: u32) -> Option<Duration> {
    let weight = match releases > listeners / 2 {
        _ if listeners > FEW => 1.0,
        true => LONG_WAIT,
        false => SHORT_WAIT,
    };
    let listeners = f64::from(listeners);
    if listeners <= AT_ONCE {
        return None;
    }
    let group = (random_fraction() * listeners / (AT_ONCE * weight)).floor();
    if group < 1.0 {
        return None;
    }
    let doubled = PAUSE_UNIT.mul_f64(group.min(GROUP_MAX).exp2());
    Some(doubled.mul_f64(0.5 + random_fraction()).min(PAUSE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 10_000;

    fn share_of_tries_at_once(listeners: u32, releases: u32) -> f64 {
        let at_once = (0..DRAWS).filter(|_| pause(listeners, releases).is_none());
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        let count = at_once.count() as f64;
        count / f64::from(DRAWS)
    }

    #[test]
    fn two_try_at_once() {
        for listeners in 0..=2 {
            assert!((0..DRAWS).all(|_| pause(listeners, 0).is_none()));
        }
    }

    #[test]
    fn about_two_of_many_try_at_once() {
        for listeners in [4, 20, 200] {
            let waits = 0..listeners;
            let shares = waits.map(|missed| share_of_tries_at_once(listeners, missed + 1));
            let tries: f64 = shares.sum();
            assert!((tries / 2.0 - 1.0).abs() < 0.25, "{listeners}: {tries}");
        }
    }

    #[test]
    fn who_waits_for_long_tries_sooner() {
        let (short, long) = (
            share_of_tries_at_once(20, 10),
            share_of_tries_at_once(20, 11),
        );
        assert!(long > 4.0 * short, "{short} {long}");
    }

    #[test]
    fn no_pause_is_longer_than_its_bound() {
        for listeners in [3, 50, 10_000, u32::MAX] {
            let longest = (0..DRAWS).filter_map(|_| pause(listeners, 0)).max();
            assert!(longest.is_some_and(|longest| longest <= PAUSE_MAX));
        }
    }
}
