//! What the connections of a locker have read of the epoch, together: on two connections to one start of
//! a server the row is the same, so one of them that reads it now and then is enough.

use std::time::Duration;

use dlock_core::{BootInstant, toolkit::Lock};

use crate::{
    conn::pool::TABLE_MAX,
    guard::{
        longest_ttl::{Coverage, Period},
        restart::Seen,
    },
    sql::server::ServerStart,
    token::epoch::{Epoch, FRESH},
};

/// What was read last.
#[derive(Default)]
pub(crate) struct EpochCache(Lock<Shared>);

#[derive(Default)]
struct Shared {
    epoch: Epoch,
    /// What was read before the longest ttl was lowered: it counts for renewals as long as it would have.
    lowered: Epoch,
    /// When somebody was last seen to keep it from all.
    out_of_reach: Option<BootInstant>,
    /// When one of them was told last to read it.
    told: Option<BootInstant>,
    /// The guard that was seen last, when it was seen first.
    guard: Option<Seen>,
    /// The period of the longest ttl that was seen last.
    period: Option<Period>,
    /// When one of them was told last to read the row for renewals.
    kept: Option<BootInstant>,
}

impl Shared {
    fn tell(&self, epoch: &mut Epoch, boot: ServerStart) {
        if self.epoch.boot == boot && self.epoch.read > epoch.read {
            *epoch = self.epoch;
        }
    }
}

impl EpochCache {
    /// Tells the others what was read.
    pub(crate) fn learn(&self, epoch: Epoch) {
        self.with(|shared| {
            if epoch.read > shared.epoch.read {
                if epoch.ttl_max < shared.epoch.ttl_max {
                    shared.lowered = shared.epoch;
                }
                shared.epoch = epoch;
            }
        });
    }

    /// Tells a connection to `boot` what others have read, if that is newer than its own `epoch`.
    /// Whether a grant that is asked for at `now` has to read it: one does so for all in the third quarter
    /// of the time for which it counts, and each in the last.
    pub(crate) fn is_old(&self, epoch: &mut Epoch, boot: ServerStart, now: BootInstant) -> bool {
        self.with(|shared| {
            shared.tell(epoch, boot);
            if epoch.is_fresh(now.after(FRESH / 2)) {
                return false;
            }
            let is_told = shared.told.is_some_and(|at| now.since(at) < FRESH / 4);
            if is_told && epoch.is_fresh(now.after(FRESH / 4)) {
                return false;
            }
            shared.told = Some(now);
            true
        })
    }

    /// Tells a connection to `boot` what others have read, if that is newer than its own `epoch`.
    pub(crate) fn tell(&self, epoch: &mut Epoch, boot: ServerStart) {
        self.with(|shared| shared.tell(epoch, boot));
    }

    /// What is seen of the period of `epoch`, which was read `now`.
    pub(crate) fn period(&self, epoch: &Epoch, now: BootInstant) -> Period {
        self.with(|shared| {
            *shared
                .period
                .insert(Period::after(shared.period, epoch, now))
        })
    }

    /// Whether a hold of `ttl` on `boot` may be renewed `now`. One is told for all to read the row again.
    pub(crate) fn covers(&self, boot: ServerStart, ttl: Duration, now: BootInstant) -> Coverage {
        self.with(|shared| {
            let by = |epoch| Coverage::by(epoch, boot, ttl, now);
            let covered = match by(&shared.epoch) {
                // Somebody has lowered it, which counts not before the period after this one.
                Coverage::No if by(&shared.lowered) != Coverage::No => Coverage::Soon,
                // Nobody has lowered it meanwhile.
                Coverage::No if shared.out_of_reach.is_some_and(|at| now.since(at) < ttl) => {
                    Coverage::Soon
                }
                covered => covered,
            };
            let is_told = shared
                .kept
                .is_some_and(|at| now.since(at) < TABLE_MAX.max(ttl / 10));
            match covered {
                Coverage::Soon if is_told => return Coverage::Yes,
                Coverage::Soon => shared.kept = Some(now),
                _ => {}
            }
            covered
        })
    }

    /// Somebody keeps the row from all.
    pub(crate) fn is_kept(&self, now: BootInstant) {
        self.with(|shared| shared.out_of_reach = Some(now));
    }

    /// The guard that is seen `now`, as it was seen first.
    pub(crate) fn seen(&self, now: Seen) -> Seen {
        self.with(|shared| {
            let first = shared
                .guard
                .filter(|first| first.is_of(&now))
                .unwrap_or(now);
            shared.guard = Some(first);
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

    fn read_at(boot: ServerStart, read: BootInstant) -> Epoch {
        let row = [1, boot.0, 0, 0, 0, 0, 0, 0, 0].map(|number| Some(number.to_string()));
        Epoch::of(&row.to_vec(), read).expect("an epoch")
    }

    #[test]
    fn one_reads_it_for_all() {
        let epochs = EpochCache::default();
        let [mut one, mut other] = [read_at(HERE, at(0)); 2];
        assert!(!epochs.is_old(&mut one, HERE, at(3)), "it is new");
        assert!(epochs.is_old(&mut one, HERE, at(5)), "the first is told");
        assert!(
            !epochs.is_old(&mut other, HERE, at(5)),
            "the other is not told besides"
        );
        epochs.learn(read_at(HERE, at(5)));
        assert!(!epochs.is_old(&mut other, HERE, at(8)), "it knows");
        assert_eq!(other, read_at(HERE, at(5)));
    }

    #[test]
    fn each_reads_it_when_nobody_has_answered() {
        let epochs = EpochCache::default();
        let mut other = read_at(HERE, at(0));
        assert!(epochs.is_old(&mut other.clone(), HERE, at(5)));
        assert!(epochs.is_old(&mut other, HERE, at(6)), "nearly too old");
    }

    #[test]
    fn what_was_read_of_another_start_is_for_nobody_here() {
        let epochs = EpochCache::default();
        epochs.learn(read_at(ServerStart(8), at(4)));
        let mut here = read_at(HERE, at(0));
        assert!(epochs.is_old(&mut here, HERE, at(4)));
        assert_eq!(here, read_at(HERE, at(0)));
    }

    #[test]
    fn what_is_older_changes_nothing() {
        let epochs = EpochCache::default();
        epochs.learn(read_at(HERE, at(4)));
        epochs.learn(read_at(HERE, at(0)));
        let mut here = read_at(HERE, at(1));
        assert!(!epochs.is_old(&mut here, HERE, at(5)));
        assert_eq!(here, read_at(HERE, at(4)));
    }
}
