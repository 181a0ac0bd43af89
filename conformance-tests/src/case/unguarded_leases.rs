//! The unguarded leases of a case, so that one that is stopped or fails can release them.

use std::sync::Arc;

use dlock_core::{
    backend::{DistributedLock, Lease},
    toolkit::Lock,
};

type Pair = (Arc<dyn DistributedLock>, Arc<Lease>);

/// All unguarded leases of a case; each clone has the same.
#[derive(Clone, Default)]
pub(crate) struct UnguardedLeases(Arc<Lock<Vec<Pair>>>);

impl UnguardedLeases {
    /// Notes a lease of `backend`.
    pub(super) fn add(&self, backend: &Arc<dyn DistributedLock>, lease: &Arc<Lease>) {
        self.0.lock().push((backend.clone(), lease.clone()));
    }

    /// Drops all: the store has none of them any more.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }

    /// Releases all; a release of one that is gone already changes nothing (K4).
    pub(crate) async fn release(&self) {
        let leases = std::mem::take(&mut *self.0.lock());
        for (backend, lease) in leases {
            // What cannot be released expires.
            let _ = backend.release(&lease).await;
        }
    }
}
