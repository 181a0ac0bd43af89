//! The trait, on etcd.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Expiry, Fencing, Holder, LockName, Modes, Order, Result, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, MigrationRecord, Renewed},
};

use crate::{
    acquire, config::EtcdConfig, errors, hold::Hold, inspect, migration::MigrationKey,
    shared::Shared,
};

/// Locks in etcd: see the crate's documentation for what it guarantees.
pub struct EtcdLock {
    shared: Shared,
    migration: MigrationKey,
}

impl EtcdLock {
    /// The capabilities with default settings, known without a connection.
    pub const CAPABILITIES: Capabilities = Capabilities {
        backend: "etcd",
        modes: Modes::Exclusive,
        fencing: Fencing::Growing,
        order: Order::Fifo,
        waiting: Waiting::Notified,
        // The keys of most locks are attached to a shared lease.
        expiry: Expiry::Session,
        ttl_min: EtcdConfig::TTL_MIN,
        ttl_max: EtcdConfig::TTL_MAX,
        held_max: None,
        takeover_max: Duration::from_secs(3),
        restart_guard: Duration::ZERO,
    };

    /// The capabilities with these settings, known without a connection.
    #[must_use]
    pub fn capabilities_of(config: &EtcdConfig) -> Capabilities {
        Capabilities {
            takeover_max: config.takeover_max(),
            order: match config.format.has_queue() {
                true => Order::Fifo,
                false => Order::Unordered,
            },
            ..Self::CAPABILITIES
        }
    }

    /// Connects, and checks that locks can be read and have this version's layout. In a store without
    /// locks of dlock it writes that version down.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use dlock_core::Locker;
    /// use dlock_etcd::{EtcdConfig, EtcdLock};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// let config = EtcdConfig::new(["etcd-1", "etcd-2", "etcd-3"]).timeout(Duration::from_secs(1));
    /// let backend = EtcdLock::connect(config).await?;
    /// let locks = Locker::builder(backend).build()?;
    /// let guard = locks.acquire("nightly-report").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for settings that are not allowed, before any I/O. Also `InvalidConfig` for certificates that cannot be used, and for locks in another layout. `Denied` for a wrong
    /// password or a missing permission. `Unavailable` when no member can be reached or most of them are down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn connect(config: EtcdConfig) -> Result<Self> {
        config.check()?;
        let shared = Shared::connect(config).await?;
        Ok(Self {
            migration: MigrationKey::new(shared.members.clone()),
            shared,
        })
    }
}

#[async_trait]
impl DistributedLock for EtcdLock {
    fn capabilities(&self) -> Capabilities {
        Self::capabilities_of(&self.shared.members.config)
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        acquire::acquire(&self.shared, request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let hold = Hold::of(lease).ok_or_else(errors::foreign_lease)?;
        hold.renew(lease, &self.shared.leases, &self.shared.verifier)
            .await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let hold = Hold::of(lease).ok_or_else(errors::foreign_lease)?;
        hold.release().await?;
        self.shared.holds.remove(lease.id());
        Ok(())
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        inspect::inspect(&self.shared.members, name).await
    }

    async fn close(&self) -> Result<()> {
        self.shared.close().await
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(&self.migration)
    }
}

impl fmt::Debug for EtcdLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdLock")
            .field("config", &self.shared.members.config)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capabilities_follow_the_election_time_out() {
        let of = |seconds| {
            let election = Duration::from_secs(seconds);
            EtcdLock::capabilities_of(&EtcdConfig::new(["h"]).election_timeout(election))
        };
        assert_eq!(of(1), EtcdLock::CAPABILITIES);
        assert_eq!(of(8).takeover_max, Duration::from_secs(13));
    }
}
