//! Who stands on a carrier.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use dlock_core::{BootInstant, LostCause, backend::Attempt, toolkit::Lock};

use crate::{lease::etcd_lease::Carrier, queue::key::Entry};

/// What an attempt needs its carrier by: one for each place that it tries to get. Left when dropped.
pub(crate) struct Seat {
    pub(crate) carrier: Arc<Carrier>,
    number: u64,
}

/// The seats of one carrier that are taken.
#[derive(Default)]
pub(crate) struct Seats(Lock<Table>);

#[derive(Default)]
struct Table {
    /// The number of the last one.
    serial: u64,
    taken: HashMap<u64, User>,
}

enum User {
    /// It will make a place at once.
    Comes,
    /// It has made one, or tries to, and nothing is granted yet.
    Waits(Weak<Entry>),
    /// It holds a lock.
    Holds(Attempt),
}

impl Seat {
    pub(crate) fn take(carrier: &Arc<Carrier>) -> Self {
        let mut seats = carrier.seats.0.lock();
        seats.serial += 1;
        let number = seats.serial;
        seats.taken.insert(number, User::Comes);
        drop(seats);
        Self {
            carrier: carrier.clone(),
            number,
        }
    }

    /// It is for this place.
    pub(crate) fn wait(&self, entry: &Arc<Entry>) {
        let user = User::Waits(Arc::downgrade(entry));
        self.carrier.seats.0.lock().taken.insert(self.number, user);
    }

    /// The carrier is not needed any more.
    pub(crate) fn leave(&self) {
        let mut seats = self.carrier.seats.0.lock();
        seats.taken.remove(&self.number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Seats {
    pub(crate) fn are_taken(&self) -> bool {
        !self.0.lock().taken.is_empty()
    }

    /// Its attempt is told when the lease ends.
    pub(crate) fn hold(&self, seat: &Seat, attempt: &Attempt) {
        let user = User::Holds(attempt.clone());
        self.0.lock().taken.insert(seat.number, user);
    }

    /// Asks those who wait whether anybody polls them, and takes the places of those away who were asked
    /// before `since` and have not answered.
    pub(crate) fn ask(&self, now: BootInstant, since: BootInstant) {
        for entry in self.waiting() {
            if entry.pulse.asked_since(now) <= since {
                entry.abandon();
            }
        }
    }

    fn waiting(&self) -> Vec<Arc<Entry>> {
        let table = self.0.lock();
        let waiting = table.taken.values().filter_map(|user| match user {
            User::Waits(entry) => entry.upgrade(),
            User::Comes | User::Holds(_) => None,
        });
        waiting.collect()
    }

    /// The lease is over: nobody has it any more, and those who hold a lock are told.
    pub(crate) fn end(&self) {
        let taken = std::mem::take(&mut self.0.lock().taken);
        for user in taken.into_values() {
            if let User::Holds(attempt) = user {
                attempt.report_lost(LostCause::SessionEnded);
            }
        }
    }
}
