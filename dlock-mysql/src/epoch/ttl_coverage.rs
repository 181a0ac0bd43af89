//! Whether the row of `dlock_epoch` covers the ttl of a hold, and since when a period lasts.
//!
//! A server that restarts waits for the longest ttl in the row, so each hold's ttl must stand there (K1).
//! The longest ttl is lowered in two steps, as no process knows the ttls of the others. A *period* ends, and
//! its longest ttl counts for one more period. A process that uses a longer ttl than the new period shows
//! writes it again. So a ttl is forgotten after a whole period without use.
//!
//! A locker may end a period that it has seen for [`PERIOD_TTLS`] of the longest ttl, by its own clock. A grant
//! or renewal with ttl `t` needs a reading of the row that is at most [`READING_TENTHS`] tenths of `t` old.
//! So the next period lasts longer than any hold of this one.

use std::time::Duration;

use dlock_core::BootInstant;

use crate::{epoch::row::Epoch, sql::server::ServerStart};

/// A period lasts at least so many times its longest ttl.
const PERIOD_TTLS: u32 = 4;

/// A reading renews holds for so many tenths of their ttl: a server may be busy,
const READING_TENTHS: u32 = 29;

/// and after so many the row is read again.
const REREAD_TENTHS: u32 = 3;

/// A period, and since when this locker has seen it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    number: u32,
    since: BootInstant,
}

impl Period {
    /// The period of `epoch`, which was read `now`; `seen` is the one before that reading.
    pub(crate) fn after(seen: Option<Self>, epoch: &Epoch, now: BootInstant) -> Self {
        seen.filter(|seen| seen.number == epoch.period)
            .unwrap_or(Self {
                number: epoch.period,
                since: now,
            })
    }

    /// Whether this locker may end it.
    pub(crate) fn is_over(&self, longest: Duration, now: BootInstant) -> bool {
        now.since(self.since) > longest.saturating_mul(PERIOD_TTLS)
    }
}

/// Whether a hold may be renewed by the last reading of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    Yes,
    /// The ttl may be covered: the row has to be read again.
    Soon,
    No,
}

impl Coverage {
    /// The coverage that `epoch` gives a hold of `ttl` on `start`.
    pub(crate) fn of(epoch: &Epoch, start: ServerStart, ttl: Duration, now: BootInstant) -> Self {
        let is_written = epoch.start == start && Duration::from_secs(epoch.ttl_max.into()) >= ttl;
        let age = epoch
            .read
            .filter(|_| is_written)
            .map(|read| now.since(read));
        match age {
            Some(age) if age <= ttl / 10 * REREAD_TENTHS => Self::Yes,
            Some(age) if age <= ttl / 10 * READING_TENTHS => Self::Soon,
            _ => Self::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);
    const HERE: ServerStart = ServerStart(7);

    fn at(second: u64) -> BootInstant {
        BootInstant::from_nanos(1).after(Duration::from_secs(second))
    }

    fn epoch(ttl_max: u64, period: u64) -> Epoch {
        let row = [1, HERE.0, 0, 0, 0, ttl_max, 0, period, 0];
        let row = row.map(|number| Some(number.to_string()));
        Epoch::read(&row.to_vec(), at(0)).expect("an epoch")
    }

    #[test]
    fn a_hold_is_renewed_by_a_recent_reading() {
        let by = |second| Coverage::of(&epoch(10, 0), HERE, TTL, at(second));
        assert_eq!(by(3), Coverage::Yes);
        assert_eq!(by(4), Coverage::Soon);
        assert_eq!(by(29), Coverage::Soon);
        assert_eq!(by(30), Coverage::No);
        let of_shorter = Coverage::of(&epoch(9, 0), HERE, TTL, at(0));
        assert_eq!(of_shorter, Coverage::No);
        let elsewhere = Coverage::of(&epoch(10, 0), ServerStart(8), TTL, at(0));
        assert_eq!(elsewhere, Coverage::No);
    }

    #[test]
    fn a_period_outlasts_what_is_held_by_the_one_before() {
        let seen = Period::after(None, &epoch(10, 1), at(5));
        let seen = Period::after(Some(seen), &epoch(10, 1), at(9));
        assert!(!seen.is_over(TTL, at(45)));
        assert!(seen.is_over(TTL, at(46)));
        let next = Period::after(Some(seen), &epoch(10, 2), at(46));
        assert!(!next.is_over(TTL, at(47)));
        let hold_max = TTL + TTL / 10 * READING_TENTHS;
        assert!(TTL * PERIOD_TTLS > hold_max + hold_max / 100);
    }
}
