//! Which leases a place may stand on.

use std::sync::Arc;

use dlock_core::{LostCause, backend::Attempt, toolkit::Lock};

use crate::{lease::etcd_lease::Carrier, lease::users::Seat, queue::key::Entry};

/// The seats of one place: one, or several while it is not known whether it has moved from one to the
/// next.
pub(crate) struct Standing(Lock<Seats>);

struct Seats {
    /// Those before, on which the store may have the place.
    former: Vec<Seat>,
    present: Seat,
}

impl Standing {
    pub(crate) fn new(seat: Seat) -> Self {
        Self(Lock::new(Seats {
            former: Vec::new(),
            present: seat,
        }))
    }

    /// The lease that it stands on, or is to stand on.
    pub(crate) fn carrier(&self) -> Arc<Carrier> {
        self.0.lock().present.carrier.clone()
    }

    /// All leases that it may stand on.
    pub(crate) fn carriers(&self) -> Vec<Arc<Carrier>> {
        let seats = self.0.lock();
        let all = seats.former.iter().chain([&seats.present]);
        all.map(|seat| seat.carrier.clone()).collect()
    }

    /// Whether a move was not confirmed.
    pub(crate) fn is_in_doubt(&self) -> bool {
        !self.0.lock().former.is_empty()
    }

    /// Whether all leases that it may stand on have ended in the store.
    pub(crate) fn has_ended(&self) -> bool {
        self.carriers().iter().all(|carrier| carrier.has_ended())
    }

    /// It is about to move there.
    pub(crate) fn moves_to(&self, seat: Seat) {
        let mut seats = self.0.lock();
        let former = std::mem::replace(&mut seats.present, seat);
        seats.former.push(former);
    }

    /// It has moved; the leases that it has left.
    pub(crate) fn has_moved(&self) -> Vec<Arc<Carrier>> {
        let former = std::mem::take(&mut self.0.lock().former);
        former.iter().map(|seat| seat.carrier.clone()).collect()
    }

    /// Its attempt waits, and is asked whether anybody polls it.
    pub(crate) fn wait(&self, entry: &Arc<Entry>) {
        self.0.lock().present.wait(entry);
    }

    /// Its attempt holds the lock now, and is told if the lease ends.
    pub(crate) fn hold(&self, attempt: &Attempt) {
        let seats = self.0.lock();
        let carrier = seats.present.carrier.clone();
        carrier.seats.hold(&seats.present, attempt);
        drop(seats);
        if carrier.is_over() {
            attempt.report_lost(LostCause::SessionEnded);
        }
    }

    /// No lease is needed for it any more.
    pub(crate) fn leave(&self) {
        let seats = self.0.lock();
        for seat in seats.former.iter().chain([&seats.present]) {
            seat.leave();
        }
    }
}
