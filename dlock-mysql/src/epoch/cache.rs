//! The epoch that the connections of a locker have read, shared among them.
//!
//! Two connections to one server start read the same row, so it is enough that one of them reads it.

use std::time::Duration;

use dlock_core::{BootInstant, toolkit::Lock};

use crate::{
    epoch::{
        guard_clock::GuardClock,
        row::{Epoch, FRESH},
        ttl_coverage::{Coverage, Period},
    },
    sql::server::ServerStart,
};

/// How long a statement waits for a table that another statement has locked: the least that a server counts.
pub(crate) const TABLE_WAIT_MAX: Duration = Duration::from_secs(1);

/// The request that needs the epoch. In the third quarter of its time one reads it for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A grant: in the last quarter each reads it.
    Grant,
    /// A wait, whose grant may come later, and reads it then. So one always reads it for all.
    Wait,
}

/// The last reading.
#[derive(Default)]
pub(crate) struct EpochCache(Lock<Shared>);

#[derive(Default)]
struct Shared {
    epoch: Epoch,
    /// The reading before the longest ttl was lowered; it counts for renewals as long as it would have.
    before_lowering: Epoch,
    /// The last time at which a statement of another client was seen to lock the table.
    table_locked: Option<BootInstant>,
    /// The last time at which a grant set out to read the row.
    grant_reads: Option<BootInstant>,
    /// The last time at which a renewal set out to read the row.
    renewal_reads: Option<BootInstant>,
    /// The first reading of the last restart guard.
    restart_guard: Option<GuardClock>,
    /// The last period of the longest ttl.
    period: Option<Period>,
}

impl Shared {
    fn refresh(&self, epoch: &mut Epoch, start: ServerStart) {
        if self.epoch.start == start && self.epoch.read > epoch.read {
            *epoch = self.epoch;
        }
    }
}

impl EpochCache {
    /// Shares a reading.
    pub(crate) fn store(&self, epoch: Epoch) {
        self.with(|shared| {
            if epoch.read > shared.epoch.read {
                if epoch.ttl_max < shared.epoch.ttl_max {
                    shared.before_lowering = shared.epoch;
                }
                shared.epoch = epoch;
            }
        });
    }

    /// Replaces the `epoch` of a connection to `start` if a newer reading is shared.
    pub(crate) fn refresh(&self, epoch: &mut Epoch, start: ServerStart) {
        self.with(|shared| shared.refresh(epoch, start));
    }

    /// Refreshes `epoch`, and returns whether the request of `reader`, which is sent at `now`, has to read the row.
    pub(crate) fn must_read(
        &self,
        reader: Reader,
        epoch: &mut Epoch,
        start: ServerStart,
        now: BootInstant,
    ) -> bool {
        self.with(|shared| {
            shared.refresh(epoch, start);
            if epoch.is_fresh(now.after(FRESH / 2)) {
                return false;
            }
            let is_being_read = shared
                .grant_reads
                .is_some_and(|at| now.since(at) < FRESH / 4);
            if is_being_read && (reader == Reader::Wait || epoch.is_fresh(now.after(FRESH / 4))) {
                return false;
            }
            shared.grant_reads = Some(now);
            true
        })
    }

    /// The period of `epoch`, which was read `now`.
    pub(crate) fn period(&self, epoch: &Epoch, now: BootInstant) -> Period {
        self.with(|shared| {
            *shared
                .period
                .insert(Period::after(shared.period, epoch, now))
        })
    }

    /// Whether a hold of `ttl` on `start` may be renewed `now`. `Soon` goes to one renewal at a time, which
    /// reads the row for all.
    pub(crate) fn coverage(&self, start: ServerStart, ttl: Duration, now: BootInstant) -> Coverage {
        self.with(|shared| {
            let of = |epoch| Coverage::of(epoch, start, ttl, now);
            let coverage = match of(&shared.epoch) {
                // A lowered ttl counts only in the period after this one.
                Coverage::No if of(&shared.before_lowering) != Coverage::No => Coverage::Soon,
                // Other lockers could not lower it either.
                Coverage::No if shared.table_locked.is_some_and(|at| now.since(at) < ttl) => {
                    Coverage::Soon
                }
                coverage => coverage,
            };
            let is_being_read = shared
                .renewal_reads
                .is_some_and(|at| now.since(at) < TABLE_WAIT_MAX.max(ttl / 10));
            match coverage {
                Coverage::Soon if is_being_read => return Coverage::Yes,
                Coverage::Soon => shared.renewal_reads = Some(now),
                _ => {}
            }
            coverage
        })
    }

    /// Records that a statement of another client locks the table.
    pub(crate) fn mark_table_locked(&self, now: BootInstant) {
        self.with(|shared| shared.table_locked = Some(now));
    }

    /// The first reading of the restart guard of `now`.
    pub(crate) fn first_reading(&self, now: GuardClock) -> GuardClock {
        self.with(|shared| {
            let first = shared
                .restart_guard
                .filter(|first| first.is_same_guard(&now))
                .unwrap_or(now);
            shared.restart_guard = Some(first);
            first
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ServerStart = ServerStart(7);

    fn at(part: u32) -> BootInstant {
        BootInstant::from_nanos(1).after(FRESH / 8 * part)
    }

    fn read_at(start: ServerStart, read: BootInstant) -> Epoch {
        let row = [1, start.0, 0, 0, 0, 0, 0, 0, 0].map(|number| Some(number.to_string()));
        Epoch::read(&row.to_vec(), read).expect("an epoch")
    }

    #[test]
    fn one_reads_it_for_all() {
        let cache = EpochCache::default();
        let [mut one, mut other] = [read_at(HERE, at(0)); 2];
        assert!(
            !cache.must_read(Reader::Grant, &mut one, HERE, at(3)),
            "it is new"
        );
        assert!(
            cache.must_read(Reader::Grant, &mut one, HERE, at(5)),
            "the first reads it"
        );
        assert!(
            !cache.must_read(Reader::Grant, &mut other, HERE, at(5)),
            "the other does not"
        );
        cache.store(read_at(HERE, at(5)));
        assert!(
            !cache.must_read(Reader::Grant, &mut other, HERE, at(8)),
            "it knows"
        );
        assert_eq!(other, read_at(HERE, at(5)));
    }

    #[test]
    fn each_reads_it_when_no_reading_has_arrived() {
        let cache = EpochCache::default();
        let mut other = read_at(HERE, at(0));
        assert!(cache.must_read(Reader::Grant, &mut other.clone(), HERE, at(5)));
        assert!(
            cache.must_read(Reader::Grant, &mut other, HERE, at(6)),
            "nearly too old"
        );
    }

    #[test]
    fn one_wait_reads_it_for_all_at_any_age() {
        let cache = EpochCache::default();
        let mut here = read_at(HERE, at(0));
        assert!(cache.must_read(Reader::Wait, &mut here, HERE, at(9)));
        assert!(!cache.must_read(Reader::Wait, &mut here, HERE, at(9)));
        assert!(
            cache.must_read(Reader::Grant, &mut here, HERE, at(9)),
            "with its confirmation"
        );
    }

    #[test]
    fn a_reading_of_another_start_counts_for_no_connection_here() {
        let cache = EpochCache::default();
        cache.store(read_at(ServerStart(8), at(4)));
        let mut here = read_at(HERE, at(0));
        assert!(cache.must_read(Reader::Grant, &mut here, HERE, at(4)));
        assert_eq!(here, read_at(HERE, at(0)));
    }

    #[test]
    fn what_must_reader_changes_nothing() {
        let cache = EpochCache::default();
        cache.store(read_at(HERE, at(4)));
        cache.store(read_at(HERE, at(0)));
        let mut here = read_at(HERE, at(1));
        assert!(!cache.must_read(Reader::Grant, &mut here, HERE, at(5)));
        assert_eq!(here, read_at(HERE, at(4)));
    }
}
