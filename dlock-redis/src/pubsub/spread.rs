//! Spreads the tries of many waiters after a release.
//!
//! If all of them tried at once, the server would refuse all but one, once for each release. So about two try at once,
//! and the others later, unless another release comes first.

use std::time::Duration;

use dlock_core::toolkit::random_fraction;

/// How many waiters try at once.
const AT_ONCE: f64 = 2.0;

/// The pause doubles from group to group; the first group makes none.
const PAUSE_UNIT: Duration = Duration::from_millis(1);

/// Later groups pause no longer than this one.
const GROUP_MAX: f64 = 8.0;

/// The bound on a pause. It is part of `takeover_max`: a lock may expire while its waiters pause.
const PAUSE_MAX: Duration = Duration::from_millis(256);

/// The pause before the next try of one of `listeners` waiters; `None` for a try at once.
pub(crate) fn pause(listeners: u32) -> Option<Duration> {
    let listeners = f64::from(listeners);
    if listeners <= AT_ONCE {
        return None;
    }
    let group = (random_fraction() * listeners / AT_ONCE).floor();
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

    #[test]
    fn two_try_at_once() {
        for listeners in 0..=2 {
            assert!((0..DRAWS).all(|_| pause(listeners).is_none()));
        }
    }

    #[test]
    fn about_two_of_many_try_at_once() {
        for listeners in [4, 20, 200] {
            let at_once = (0..DRAWS).filter(|_| pause(listeners).is_none()).count();
            let expected = 2.0 / f64::from(listeners);
            #[expect(clippy::cast_precision_loss, reason = "a small count")]
            let share = at_once as f64 / f64::from(DRAWS);
            assert!((share / expected - 1.0).abs() < 0.5, "{listeners}: {share}");
        }
    }

    #[test]
    fn no_pause_is_longer_than_its_bound() {
        for listeners in [3, 50, 10_000, u32::MAX] {
            let longest = (0..DRAWS).filter_map(|_| pause(listeners)).max();
            assert!(longest.is_some_and(|longest| longest <= PAUSE_MAX));
        }
    }
}
