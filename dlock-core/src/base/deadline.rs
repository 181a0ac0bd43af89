//! The deadline of a hold, and the time that it is counted from.

use std::time::Duration;

use crate::base::clock::{BootInstant, Clock};

/// The time at which a request was sent: the only thing that a deadline is counted from (K2).
///
/// Each request on the wire has one. A renewal that joins a shared request takes that request's `SentAt`,
/// and may join it only before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SentAt(BootInstant);

impl SentAt {
    /// Reads `clock`; to be called before the request is written, and before it enters any queue.
    #[must_use]
    pub fn now(clock: &Clock) -> Self {
        Self(clock.now())
    }

    /// The clock's reading.
    #[must_use]
    pub const fn instant(self) -> BootInstant {
        self.0
    }

    /// The deadline that a success of the request proves: `sent + min(requested, granted)·0.99 − 2 ms`
    /// (K2). The hundredth covers clocks whose rates differ, the margin the stores' rounding; both as
    /// in the Redis documentation's lock algorithm and redsync.
    #[must_use]
    pub fn deadline(self, requested: Duration, granted: Duration) -> Deadline {
        let ttl = requested.min(granted);
        let drift = ttl / Deadline::DRIFT_DIVISOR;
        let held = ttl.saturating_sub(drift).saturating_sub(Deadline::MARGIN);
        Deadline(self.0.after(held))
    }
}

/// The time until which the holder may act, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(BootInstant);

impl Deadline {
    /// The deadline of a hold that ends with the process alone.
    pub const FOREVER: Self = Self(BootInstant::FOREVER);

    /// One part in this many of a ttl is given up to clocks that run at different rates.
    const DRIFT_DIVISOR: u32 = 100;

    /// Subtracted from each ttl, in addition to the drift.
    const MARGIN: Duration = Duration::from_millis(2);

    /// The deadline on the clock.
    #[must_use]
    pub const fn instant(self) -> BootInstant {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY_NS: u64 = 86_400_000_000_000;

    proptest! {
        #[test]
        fn a_deadline_is_before_the_store_can_end_the_hold(
            sent in 0..u64::MAX,
            requested in 0..DAY_NS,
            granted in 0..DAY_NS,
        ) {
            let sent = SentAt(BootInstant::from_nanos(sent));
            let (requested, granted) = (Duration::from_nanos(requested), Duration::from_nanos(granted));
            let deadline = sent.deadline(requested, granted).instant();
            prop_assert!(deadline >= sent.instant());
            // The store counts `granted` from the arrival, which is not before `sent`, on a clock
            // that runs up to 1 % fast.
            let store_ends = sent.instant().after(granted - granted / 100);
            prop_assert!(deadline <= store_ends);
            prop_assert!(deadline <= sent.instant().after(requested));
        }

        #[test]
        fn a_later_send_or_a_longer_ttl_never_ends_earlier(
            sent in 0..u64::MAX / 2,
            later in 0..DAY_NS,
            ttl in 0..DAY_NS,
            longer in 0..DAY_NS,
        ) {
            let (ttl, longer) = (Duration::from_nanos(ttl), Duration::from_nanos(longer));
            let first = SentAt(BootInstant::from_nanos(sent));
            let second = SentAt(BootInstant::from_nanos(sent + later));
            prop_assert!(first.deadline(ttl, ttl) <= second.deadline(ttl, ttl));
            prop_assert!(first.deadline(ttl, ttl) <= first.deadline(ttl + longer, ttl + longer));
        }

        #[test]
        fn nothing_overflows(sent: u64, requested: u64, granted: u64) {
            let sent = SentAt(BootInstant::from_nanos(sent));
            let (requested, granted) = (Duration::from_secs(requested), Duration::from_secs(granted));
            prop_assert!(sent.deadline(requested, granted).instant() >= sent.instant());
        }
    }

    #[test]
    fn ten_seconds_are_held_for_9_898() {
        let sent = SentAt(BootInstant::from_nanos(0));
        let ttl = Duration::from_secs(10);
        let held = sent.deadline(ttl, ttl).instant().since(sent.instant());
        assert_eq!(held, Duration::from_millis(9_898));
    }
}
