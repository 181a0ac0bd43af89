//! References to a shared etcd lease.

use std::sync::{Arc, Weak};

use dlock_core::backend::Attempt;

use crate::lease::{etcd_lease::EtcdLease, users::Waiter};

/// A reference that keeps a shared etcd lease alive for one key of an acquire attempt; released on drop.
pub(crate) struct LeaseRef {
    pub(crate) lease: Arc<EtcdLease>,
    user: u64,
}

impl LeaseRef {
    pub(crate) fn new(lease: &Arc<EtcdLease>) -> Self {
        Self {
            user: lease.users.add(),
            lease: lease.clone(),
        }
    }

    /// The attempt waits with this key: it is checked for being polled.
    pub(crate) fn set_waiting(&self, waiter: Weak<dyn Waiter>) {
        self.lease.users.set_waiting(self.user, waiter);
    }

    /// The attempt holds the lock: it is notified when the lease ends.
    pub(crate) fn set_holding(&self, attempt: &Attempt) {
        self.lease.users.set_holding(self.user, attempt);
    }

    /// The key does not need the lease any more.
    pub(crate) fn release(&self) {
        self.lease.users.remove(self.user);
    }
}

impl Drop for LeaseRef {
    fn drop(&mut self) {
        self.release();
    }
}
