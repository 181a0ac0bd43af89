//! etcd's own Lock RPC, with a lease of its own for each lock.
//!
//! A lock on a shared lease would be taken by all that share it, as the server distinguishes holders by
//! their leases only. And one without a lease gets one that no client keeps alive.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use dlock_core::{Error, ErrorKind, Result, backend::async_trait, toolkit::Lock};
use etcd_client::{Client, Error as DriverError, LeaseGrantOptions, LockOptions};

use super::floor::{Cycle, OwnLock};
use crate::driver::etcd::words;

/// The ttl of the leases: what a killed benchmark leaves is gone after it.
pub(super) const TTL_S: i64 = 30;

/// The connection that the floor has, too.
pub(super) struct EtcdLock {
    client: Client,
    prefix: String,
    leases: Arc<Leases>,
}

/// The leases of cycles that have begun and not ended.
struct Leases {
    open: Lock<BTreeSet<i64>>,
    /// The client chooses the ids: so a lease is known before its answer.
    next: AtomicI64,
}

impl EtcdLock {
    pub(super) fn new(client: Client, prefix: String) -> Self {
        // The keys of a new state are random; an id is positive.
        let first = RandomState::new().hash_one(TTL_S) >> 1;
        let leases = Arc::new(Leases {
            open: Lock::default(),
            next: AtomicI64::new(i64::try_from(first).unwrap_or(1)),
        });
        Self {
            client,
            prefix,
            leases,
        }
    }

    /// Revokes the leases of cycles that were dropped.
    pub(super) async fn close(&self) -> Result<()> {
        let open = std::mem::take(&mut *self.leases.open.lock());
        for lease in open {
            revoke(&self.client, lease).await?;
        }
        Ok(())
    }
}

impl OwnLock for EtcdLock {
    fn what(&self) -> &'static str {
        "the server's Lock RPC, with a lease that is granted before it and revoked after it"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        Box::new(Task {
            client: self.client.clone(),
            name: format!("{}{name}", self.prefix),
            leases: self.leases.clone(),
        })
    }
}

struct Task {
    client: Client,
    name: String,
    leases: Arc<Leases>,
}

#[async_trait]
impl Cycle for Task {
    async fn cycle(&mut self) -> Result<()> {
        let id = self.leases.next.fetch_add(1, Ordering::Relaxed);
        self.leases.open.lock().insert(id);
        let options = LeaseGrantOptions::new().with_id(id);
        let granted = self.client.lease_grant(TTL_S, Some(options)).await;
        granted.map_err(failed)?;
        let options = LockOptions::new().with_lease(id);
        let locked = self.client.lock(&*self.name, Some(options)).await;
        // It ends with its lease.
        revoke(&self.client, id).await?;
        self.leases.open.lock().remove(&id);
        locked.map(drop).map_err(failed)
    }
}

/// The code of gRPC for a lease that is not there.
const NOT_FOUND: i32 = 5;

/// Revokes a lease, if there is one.
pub(super) async fn revoke(client: &Client, lease: i64) -> Result<()> {
    match client.lease_client().revoke(lease).await {
        Err(DriverError::GRpcStatus(status)) if status.code() as i32 == NOT_FOUND => Ok(()),
        revoked => revoked.map(drop).map_err(failed),
    }
}

pub(super) fn failed(error: DriverError) -> Error {
    Error::new(ErrorKind::Unavailable, "the store's driver failed").with_source(words(&error))
}
