//! etcd's own Lock RPC, with a lease of its own for each lock.
//!
//! A lock on a shared lease would be taken by all that share it, as the server distinguishes holders by
//! their leases only. And one without a lease gets one that no client keeps alive.

use dlock_core::{Error, ErrorKind, Result, backend::async_trait};
use etcd_client::{Client, Error as DriverError, LockOptions};
use tokio_util::task::TaskTracker;

use super::floor::{Cycle, OwnLock};
use crate::driver::etcd::words;

/// The ttl of the leases: what a killed benchmark leaves is gone after it.
pub(super) const TTL_S: i64 = 30;

/// The connection that the floor has, too.
pub(super) struct EtcdLock {
    client: Client,
    prefix: String,
    cycles: TaskTracker,
}

impl EtcdLock {
    pub(super) fn new(client: Client, prefix: String) -> Self {
        Self {
            client,
            prefix,
            cycles: TaskTracker::new(),
        }
    }

    /// Waits for cycles that were dropped: each revokes its lease.
    pub(super) async fn close(&self) {
        self.cycles.close();
        self.cycles.wait().await;
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
            cycles: self.cycles.clone(),
        })
    }
}

struct Task {
    client: Client,
    name: String,
    cycles: TaskTracker,
}

#[async_trait]
impl Cycle for Task {
    async fn cycle(&mut self) -> Result<()> {
        // The server may serve a dropped request for a lease after one that revokes it. So this one is not dropped.
        let cycle = cycle(self.client.clone(), self.name.clone());
        self.cycles.spawn(cycle).await.unwrap_or_else(|error| {
            let why = "the cycle of etcd's own lock panicked";
            Err(Error::new(ErrorKind::Internal, why).with_source(error))
        })
    }
}

async fn cycle(mut client: Client, name: String) -> Result<()> {
    let lease = client.lease_grant(TTL_S, None).await.map_err(failed)?.id();
    let options = LockOptions::new().with_lease(lease);
    let locked = client.lock(name, Some(options)).await;
    // It ends with its lease.
    revoke(&client, lease).await?;
    locked.map(drop).map_err(failed)
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
