//! Everything that a case has opened, so that one that is stopped or fails can close it.

use std::{mem, sync::Arc, time::Duration};

use dlock_core::{
    Locker, Result,
    backend::{DistributedLock, Lease},
    toolkit::Lock,
};

use crate::target::Link;

/// The clients of a case, its links to the store, and its unguarded leases; each clone has the same.
#[derive(Clone, Default)]
pub(crate) struct Opened(Arc<Parts>);

#[derive(Default)]
struct Parts {
    lockers: Lock<Vec<Locker>>,
    links: Lock<Vec<Arc<Link>>>,
    unguarded: Lock<Vec<Unguarded>>,
}

type Unguarded = (Arc<dyn DistributedLock>, Arc<Lease>);

impl Opened {
    pub(super) fn add_locker(&self, locker: &Locker) {
        self.0.lockers.lock().push(locker.clone());
    }

    pub(super) fn add_link(&self, link: &Arc<Link>) {
        self.0.links.lock().push(link.clone());
    }

    /// Notes a lease of `backend` that no guard holds.
    pub(super) fn add_unguarded(&self, backend: &Arc<dyn DistributedLock>, lease: &Arc<Lease>) {
        let unguarded = (backend.clone(), lease.clone());
        self.0.unguarded.lock().push(unguarded);
    }

    /// Drops the unguarded leases: the store has none of them any more.
    pub(super) fn forget_unguarded(&self) {
        self.0.unguarded.lock().clear();
    }

    /// Releases the unguarded leases; a release of one that is gone already changes nothing (K4).
    pub(crate) async fn release_unguarded(&self) {
        self.heal_links();
        let leases = mem::take(&mut *self.0.unguarded.lock());
        for (backend, lease) in leases {
            // What cannot be released expires.
            let _ = backend.release(&lease).await;
        }
    }

    /// Shuts down the clients, each within `bound`. The links are healed before, and end after them.
    pub(crate) async fn close(&self, bound: Duration) -> Result<()> {
        self.heal_links();
        let lockers = mem::take(&mut *self.0.lockers.lock());
        let mut closed = Ok(());
        for locker in lockers {
            closed = closed.and(locker.shutdown(bound).await);
        }
        self.0.links.lock().clear();
        closed
    }

    fn heal_links(&self) {
        for link in &*self.0.links.lock() {
            link.heal();
        }
    }
}
