//! How long a restart guard has lasted, by two clocks.
//!
//! The server counts seconds by its clock, which may be set during a guard (`Uptime` follows it, on both
//! products). So a locker that has read the guard before counts on by its own clock. The server's clock can move
//! that neither forward nor back. What remains: the clock is set forward while no locker waits.

use std::time::Duration;

use dlock_core::BootInstant;

use crate::{
    epoch::row::{Epoch, NextStart},
    sql::server::ServerStart,
};

/// One reading of a guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardClock {
    start: ServerStart,
    since: u64,
    /// The time since the guard began, by the server's clock.
    elapsed: Duration,
    at: BootInstant,
}

impl GuardClock {
    /// The guard that `epoch` shows, read at `at`.
    pub(crate) fn read(epoch: &Epoch, next: NextStart, at: BootInstant) -> Self {
        let NextStart {
            start,
            guarded_since: since,
        } = next;
        Self {
            start,
            since,
            // A clock that was set back behind the beginning shows nothing.
            elapsed: Duration::from_secs(u64::from(epoch.second).saturating_sub(since)),
            at,
        }
    }

    /// Whether both are readings of one guard.
    pub(crate) fn is_same_guard(&self, other: &Self) -> bool {
        (self.start, self.since) == (other.start, other.since)
    }

    /// The least time that the guard has lasted, less than a second below the truth, at the reading `now`;
    /// `self` is the first reading.
    pub(crate) fn elapsed(&self, now: &Self) -> Duration {
        let own = now.at.since(self.at);
        now.elapsed.clamp(own, self.elapsed.saturating_add(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(at: u64, elapsed: u64) -> GuardClock {
        GuardClock {
            start: ServerStart(7),
            since: 100,
            elapsed: Duration::from_secs(elapsed),
            at: BootInstant::from_nanos(at * 1_000_000_000),
        }
    }

    #[test]
    fn the_first_reading_is_the_servers() {
        let first = clock(50, 20);
        assert_eq!(first.elapsed(&first), Duration::from_secs(20));
        assert_eq!(first.elapsed(&clock(53, 23)), Duration::from_secs(23));
    }

    #[test]
    fn a_clock_that_is_set_during_a_guard_neither_ends_nor_prolongs_it() {
        let first = clock(50, 20);
        assert_eq!(first.elapsed(&clock(53, 3_623)), Duration::from_secs(23));
        assert_eq!(first.elapsed(&clock(53, 0)), Duration::from_secs(3));
    }
}
