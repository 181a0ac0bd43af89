//! What the connections of a locker have read of the epoch, together: on two connections to one start of
//! a server the row is the same, so one of them that reads it now and then is enough.

use std::sync::{Mutex, PoisonError};

use dlock_core::Moment;

use crate::{
    epoch::{Epoch, FRESH},
    server::Boot,
};

/// What was read last.
#[derive(Default)]
pub(crate) struct Latest(Mutex<Shared>);

#[derive(Default)]
struct Shared {
    epoch: Epoch,
    /// When one of them was told last to read it.
    told: Option<Moment>,
}

impl Latest {
    /// Tells the others what was read.
    pub(crate) fn learn(&self, epoch: Epoch) {
        self.with(|shared| {
            if epoch.read > shared.epoch.read {
                shared.epoch = epoch;
            }
        });
    }

    /// Tells a connection to `boot` what others have read, if that is newer than its own `epoch`.
    /// Whether a grant that is asked for at `now` has to read it: one does so for all in the third quarter
    /// of the time for which it counts, and each in the last.
    pub(crate) fn is_old(&self, epoch: &mut Epoch, boot: Boot, now: Moment) -> bool {
        self.with(|shared| {
            if shared.epoch.boot == boot && shared.epoch.read > epoch.read {
                *epoch = shared.epoch;
            }
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

    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Boot = Boot(7);

    fn at(part: u32) -> Moment {
        Moment::from_nanos(1).after(FRESH / 8 * part)
    }

    fn read_at(boot: Boot, read: Moment) -> Epoch {
        let row = ["1".to_owned(), boot.0.to_string(), "0".to_owned()].map(Some);
        Epoch::of(&row.to_vec(), read).expect("an epoch")
    }

    #[test]
    fn one_reads_it_for_all() {
        let latest = Latest::default();
        let [mut one, mut other] = [read_at(HERE, at(0)); 2];
        assert!(!latest.is_old(&mut one, HERE, at(3)), "it is new");
        assert!(latest.is_old(&mut one, HERE, at(5)), "the first is told");
        assert!(
            !latest.is_old(&mut other, HERE, at(5)),
            "the other is not told besides"
        );
        latest.learn(read_at(HERE, at(5)));
        assert!(!latest.is_old(&mut other, HERE, at(8)), "it knows");
        assert_eq!(other, read_at(HERE, at(5)));
    }

    #[test]
    fn each_reads_it_when_nobody_has_answered() {
        let latest = Latest::default();
        let mut other = read_at(HERE, at(0));
        assert!(latest.is_old(&mut other.clone(), HERE, at(5)));
        assert!(latest.is_old(&mut other, HERE, at(6)), "nearly too old");
    }

    #[test]
    fn what_was_read_of_another_start_is_for_nobody_here() {
        let latest = Latest::default();
        latest.learn(read_at(Boot(8), at(4)));
        let mut here = read_at(HERE, at(0));
        assert!(latest.is_old(&mut here, HERE, at(4)));
        assert_eq!(here, read_at(HERE, at(0)));
    }

    #[test]
    fn what_is_older_changes_nothing() {
        let latest = Latest::default();
        latest.learn(read_at(HERE, at(4)));
        latest.learn(read_at(HERE, at(0)));
        let mut here = read_at(HERE, at(1));
        assert!(!latest.is_old(&mut here, HERE, at(5)));
        assert_eq!(here, read_at(HERE, at(4)));
    }
}
