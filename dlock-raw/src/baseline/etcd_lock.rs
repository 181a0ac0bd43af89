//! etcd's own Lock RPC, with a lease of its own for each lock.
//!
//! A lock on a shared lease would be taken by all that share it, as the server distinguishes holders by
//! their leases only. And one without a lease gets one that no client keeps alive.

use dlock_core::{Error, ErrorKind, Result, backend::async_trait};
use etcd_client::{Client, Error as DriverError, LockOptions};

use super::floor::{Cycle, OwnLock};

/// The ttl of the one lease: what a killed benchmark leaves is gone after it.
pub(super) const TTL_S: i64 = 30;

/// The connection that the floor has, too.
pub(super) struct EtcdLock {
    pub(super) client: Client,
    pub(super) prefix: String,
}

impl OwnLock for EtcdLock {
    fn what(&self) -> &'static str {
        "the server's Lock RPC, with a lease that is granted before it and revoked after it"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        Box::new(Task {
            client: self.client.clone(),
            name: format!("{}{name}", self.prefix),
        })
    }
}

struct Task {
    client: Client,
    name: String,
}

#[async_trait]
impl Cycle for Task {
    async fn cycle(&mut self) -> Result<()> {
        let lease = self.client.lease_grant(TTL_S, None).await.map_err(failed)?;
        let options = LockOptions::new().with_lease(lease.id());
        let locked = self.client.lock(&*self.name, Some(options)).await;
        // It ends with its lease.
        let revoked = self.client.lease_revoke(lease.id()).await;
        locked.map_err(failed)?;
        revoked.map(drop).map_err(failed)
    }
}

pub(super) fn failed(error: DriverError) -> Error {
    Error::new(ErrorKind::Unavailable, "the driver of the floor failed").with_source(error)
}
