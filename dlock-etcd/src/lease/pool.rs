//! The leases that locks share: one for each ttl, for as long as it is used.

use std::{collections::HashMap, sync::Arc, time::Duration};

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, Renewal},
    toolkit::{Lock, SingleFlight, Turn},
};

use crate::{
    config::whole_seconds,
    conn::members::Members,
    errors,
    lease::{etcd_lease::EtcdLease, keepalive::KeepaliveEnd, lease_ref::LeaseRef},
};

/// The shared leases of one backend.
#[derive(Clone)]
pub(crate) struct LeasePool(Arc<Inner>);

struct Inner {
    members: Arc<Members>,
    table: Lock<Table>,
    /// The single flight of grants: at most one at a time.
    granting: SingleFlight<()>,
}

#[derive(Default)]
struct Table {
    /// The leases for new attempts, by their ttl in seconds.
    open: HashMap<u64, SharedLease>,
    /// All leases that the store may have.
    all: Vec<Arc<EtcdLease>>,
}

struct SharedLease {
    lease: Arc<EtcdLease>,
    /// Whether an attempt has used the lease since the loop's last check.
    was_used: bool,
}

impl LeasePool {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self(Arc::new(Inner {
            members,
            table: Lock::default(),
            granting: SingleFlight::new(()),
        }))
    }

    /// A reference to the shared lease of this ttl, if there is one.
    pub(crate) fn existing(&self, ttl: Duration, renewal: Renewal) -> Option<LeaseRef> {
        if renewal == Renewal::None {
            return None;
        }
        let mut table = self.0.table.lock();
        let shared = table.open.get_mut(&whole_seconds(ttl))?;
        if !shared.lease.is_open() {
            return None;
        }
        shared.was_used = true;
        Some(LeaseRef::new(&shared.lease))
    }

    /// A reference to the shared lease of this ttl, or to a lease of its own without renewal.
    pub(crate) async fn get(&self, ttl: Duration, renewal: Renewal) -> Result<LeaseRef> {
        if renewal == Renewal::None {
            let own = EtcdLease::grant(&self.0.members, ttl).await?;
            return Ok(LeaseRef::new(&Arc::new(own)));
        }
        if let Some(existing) = self.existing(ttl, renewal) {
            return Ok(existing);
        }
        let pool = self.clone();
        let work = move |turn: Turn<()>| async move { turn.finish(pool.provide(ttl).await) };
        self.0.granting.run(work).await?;
        self.existing(ttl, renewal).ok_or_else(errors::lease_ended)
    }

    /// Gets a lease like [`get`](Self::get), until the attempt is cancelled.
    pub(crate) async fn get_for(&self, request: &AcquireRequest) -> Result<LeaseRef> {
        if let Some(existing) = self.existing(request.ttl, request.renewal) {
            return Ok(existing);
        }
        // Boxed, as most locks share a lease.
        let lease = Box::pin(self.get(request.ttl, request.renewal));
        if request.renewal == Renewal::None {
            return lease.await;
        }
        // A cancellation does not cut the grant short: its lease would be left behind.
        tokio::select! {
            lease = lease => lease,
            () = request.attempt.cancelled() => Err(Error::cancelled()),
        }
    }

    /// Makes sure that there is a shared lease of this ttl.
    async fn provide(&self, ttl: Duration) -> Result<()> {
        let seconds = whole_seconds(ttl);
        if self.0.reserve(seconds) {
            return Ok(());
        }
        let ttl = Duration::from_secs(seconds);
        let lease = Arc::new(EtcdLease::grant(&self.0.members, ttl).await?);
        let shared = SharedLease {
            lease: lease.clone(),
            was_used: true,
        };
        let mut table = self.0.table.lock();
        table.open.insert(seconds, shared);
        table.all.push(lease.clone());
        drop(table);
        tokio::spawn(self.clone().maintain(seconds, lease));
        Ok(())
    }

    /// Keeps a lease alive as long as it is used, and then revokes it.
    async fn maintain(self, seconds: u64, lease: Arc<EtcdLease>) {
        let end = tokio::select! {
            end = lease.keep_alive(|| self.0.is_needed(seconds, &lease)) => end,
            () = self.0.members.closed() => return,
        };
        self.0.close_to_new(seconds, &lease);
        if end == KeepaliveEnd::Unused || !lease.has_ended() {
            tokio::select! {
                () = lease.revoke_until_confirmed() => {}
                () = self.0.members.closed() => return,
            }
        }
        self.0.forget(&lease);
    }

    /// Revokes all leases, with all keys on them.
    pub(crate) async fn revoke_all(&self) -> Result<()> {
        // After a grant that is under way.
        let after = self
            .0
            .granting
            .run(|turn| async move { turn.finish(Ok(())) });
        let _ = after.await;
        let all = std::mem::take(&mut *self.0.table.lock()).all;
        let mut result = Ok(());
        for lease in all {
            result = result.and(lease.revoke().await);
        }
        result
    }
}

impl Inner {
    /// Whether there is an open lease, which is then kept for the attempt that requested it.
    fn reserve(&self, seconds: u64) -> bool {
        let mut table = self.table.lock();
        let shared = table.open.get_mut(&seconds);
        let shared = shared.filter(|shared| shared.lease.is_open());
        shared.is_some_and(|shared| {
            shared.was_used = true;
            true
        })
    }

    /// Whether the lease has users, or had a new one since the last check. If not, it is closed to new ones.
    fn is_needed(&self, seconds: u64, lease: &Arc<EtcdLease>) -> bool {
        let mut table = self.table.lock();
        let Some(shared) = table.open.get_mut(&seconds) else {
            return lease.users.has_any();
        };
        if !Arc::ptr_eq(&shared.lease, lease) {
            return lease.users.has_any();
        }
        if lease.users.has_any() || std::mem::take(&mut shared.was_used) {
            return true;
        }
        table.open.remove(&seconds);
        false
    }

    fn close_to_new(&self, seconds: u64, lease: &Arc<EtcdLease>) {
        let mut table = self.table.lock();
        if table
            .open
            .get(&seconds)
            .is_some_and(|shared| Arc::ptr_eq(&shared.lease, lease))
        {
            table.open.remove(&seconds);
        }
    }

    /// The store does not have the lease any more.
    fn forget(&self, lease: &Arc<EtcdLease>) {
        let mut table = self.table.lock();
        table.all.retain(|other| !Arc::ptr_eq(other, lease));
    }
}
