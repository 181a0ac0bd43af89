//! etcd's own Lock RPC, with one lease for all locks of a client that is kept alive.

use std::time::Duration;

use async_trait::async_trait;
use etcd_client::{LeaseClient, LockClient, LockOptions};
use tokio::{task::JoinHandle, time::sleep};

use super::client::{Client, Lock, not_held, without_keys};
use crate::failure::Failure;

/// dlock's default, in seconds.
const TTL_S: i64 = 30;

/// How often the lease is kept alive.
const KEEP_EVERY: Duration = Duration::from_secs(10);

pub(super) struct LockRpc {
    locks: LockClient,
    lease: i64,
    keeping: JoinHandle<()>,
}

struct Held {
    locks: LockClient,
    name: String,
    lease: i64,
    key: Option<Vec<u8>>,
}

impl LockRpc {
    pub(super) async fn connect(url: &str) -> Result<Self, Failure> {
        let address = without_keys(url).replacen("etcd://", "http://", 1);
        let client = etcd_client::Client::connect([address], None).await?;
        let mut leases = client.lease_client();
        let lease = leases.grant(TTL_S, None).await?.id();
        Ok(Self {
            locks: client.lock_client(),
            lease,
            keeping: tokio::spawn(keep(leases, lease)),
        })
    }
}

/// Keeps the lease alive; a failure ends the locks soon enough.
async fn keep(mut leases: LeaseClient, lease: i64) {
    let Ok((mut keeper, _answers)) = leases.keep_alive(lease).await else {
        return;
    };
    while keeper.keep_alive().await.is_ok() {
        sleep(KEEP_EVERY).await;
    }
}

impl Drop for LockRpc {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

#[async_trait]
impl Client for LockRpc {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Held {
            locks: self.locks.clone(),
            name: name.to_owned(),
            lease: self.lease,
            key: None,
        }))
    }
}

#[async_trait]
impl Lock for Held {
    async fn acquire(&mut self) -> Result<(), Failure> {
        let options = LockOptions::new().with_lease(self.lease);
        let locked = self.locks.lock(&*self.name, Some(options)).await?;
        self.key = Some(locked.key().to_vec());
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        let key = self.key.take().ok_or_else(not_held)?;
        self.locks.unlock(key).await?;
        Ok(())
    }

    fn rename(&mut self, name: String) {
        self.name = name;
    }
}
