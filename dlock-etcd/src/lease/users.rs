//! The attempts that use one etcd lease.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use dlock_core::{BootInstant, LostCause, backend::Attempt, toolkit::Lock};

use crate::lease::poll_watchdog::PollWatchdog;

/// An attempt with a key on the lease, or about to create one, that is not granted yet.
pub(crate) trait Waiter: Send + Sync {
    /// The watchdog of the attempt's future.
    fn watchdog(&self) -> &PollWatchdog;

    /// Removes the key in the background, because the attempt's future is not polled.
    fn abandon(self: Arc<Self>);
}

/// The users of one lease.
#[derive(Default)]
pub(crate) struct LeaseUsers(Lock<Table>);

#[derive(Default)]
struct Table {
    /// The number of the last user.
    last: u64,
    users: HashMap<u64, LeaseUser>,
}

enum LeaseUser {
    /// The user is about to create its key.
    Starting,
    /// The user has created a key, or tries to, and is not granted.
    Waiting(Weak<dyn Waiter>),
    /// The user holds a lock.
    Holding(Attempt),
}

impl LeaseUsers {
    /// Adds a user that is starting, and returns its number.
    pub(crate) fn add(&self) -> u64 {
        let mut table = self.0.lock();
        table.last += 1;
        let user = table.last;
        table.users.insert(user, LeaseUser::Starting);
        user
    }

    /// Has the user checked for being polled from now on.
    pub(crate) fn set_waiting(&self, user: u64, waiter: Weak<dyn Waiter>) {
        let waiting = LeaseUser::Waiting(waiter);
        self.0.lock().users.insert(user, waiting);
    }

    /// Has the user notified when the lease ends.
    pub(crate) fn set_holding(&self, user: u64, attempt: &Attempt) {
        let holding = LeaseUser::Holding(attempt.clone());
        self.0.lock().users.insert(user, holding);
    }

    pub(crate) fn remove(&self, user: u64) {
        self.0.lock().users.remove(&user);
    }

    pub(crate) fn has_any(&self) -> bool {
        !self.0.lock().users.is_empty()
    }

    /// Checks that waiting users are polled, and abandons those with a check from before `since` that has
    /// no response.
    pub(crate) fn check_polled(&self, now: BootInstant, since: BootInstant) {
        for waiter in self.waiting() {
            if waiter.watchdog().unanswered_since(now) <= since {
                waiter.abandon();
            }
        }
    }

    fn waiting(&self) -> Vec<Arc<dyn Waiter>> {
        let table = self.0.lock();
        let waiting = table.users.values().filter_map(|user| match user {
            LeaseUser::Waiting(waiter) => waiter.upgrade(),
            LeaseUser::Starting | LeaseUser::Holding(_) => None,
        });
        waiting.collect()
    }

    /// The lease ends: removes all users, and reports the loss to those that hold a lock (K4).
    pub(crate) fn end(&self) {
        let users = std::mem::take(&mut self.0.lock().users);
        for user in users.into_values() {
            if let LeaseUser::Holding(attempt) = user {
                attempt.report_lost(LostCause::SessionEnded);
            }
        }
    }
}
