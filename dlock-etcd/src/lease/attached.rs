//! The leases that one key may be attached to.

use std::sync::{Arc, Weak};

use dlock_core::{LostCause, backend::Attempt, toolkit::Lock};

use crate::lease::{etcd_lease::EtcdLease, lease_ref::LeaseRef, users::Waiter};

/// The leases of one key: one, or several while a move to the next one is not confirmed.
pub(crate) struct AttachedLeases(Lock<Refs>);

struct Refs {
    /// Earlier leases, to which the key may still be attached in the store.
    former: Vec<LeaseRef>,
    current: LeaseRef,
}

impl AttachedLeases {
    pub(crate) fn new(lease: LeaseRef) -> Self {
        Self(Lock::new(Refs {
            former: Vec::new(),
            current: lease,
        }))
    }

    /// The lease that the key is attached to, or moves to.
    pub(crate) fn current(&self) -> Arc<EtcdLease> {
        self.0.lock().current.lease.clone()
    }

    /// All leases that the key may be attached to.
    pub(crate) fn all(&self) -> Vec<Arc<EtcdLease>> {
        let refs = self.0.lock();
        let all = refs.former.iter().chain([&refs.current]);
        all.map(|lease_ref| lease_ref.lease.clone()).collect()
    }

    /// Whether a move is not confirmed.
    pub(crate) fn is_moving(&self) -> bool {
        !self.0.lock().former.is_empty()
    }

    /// Whether all leases that the key may be attached to have ended in the store.
    pub(crate) fn have_ended(&self) -> bool {
        let refs = self.0.lock();
        let mut all = refs.former.iter().chain([&refs.current]);
        all.all(|lease_ref| lease_ref.lease.has_ended())
    }

    /// A request is about to move the key to this lease.
    pub(crate) fn begin_move(&self, to: LeaseRef) {
        let mut refs = self.0.lock();
        let former = std::mem::replace(&mut refs.current, to);
        refs.former.push(former);
    }

    /// The store has confirmed the move. Returns the leases that the key has left.
    pub(crate) fn confirm_move(&self) -> Vec<Arc<EtcdLease>> {
        let former = std::mem::take(&mut self.0.lock().former);
        former
            .iter()
            .map(|lease_ref| lease_ref.lease.clone())
            .collect()
    }

    /// The key's attempt waits: it is checked for being polled.
    pub(crate) fn set_waiting(&self, waiter: Weak<dyn Waiter>) {
        self.0.lock().current.set_waiting(waiter);
    }

    /// The key's attempt holds the lock: the end of the lease is reported to it (K4).
    pub(crate) fn set_holding(&self, attempt: &Attempt) {
        let refs = self.0.lock();
        refs.current.set_holding(attempt);
        let lease = refs.current.lease.clone();
        drop(refs);
        // A lease that ended before has reported to the users of that time only.
        if lease.is_ending() {
            attempt.report_lost(LostCause::SessionEnded);
        }
    }

    /// The key does not need a lease any more.
    pub(crate) fn release(&self) {
        let refs = self.0.lock();
        for lease_ref in refs.former.iter().chain([&refs.current]) {
            lease_ref.release();
        }
    }
}
