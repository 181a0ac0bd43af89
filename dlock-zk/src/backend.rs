//! The trait, on ZooKeeper.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Error, ErrorKind, Expiry, Fencing, Holder, LockName, Modes, Order, Result,
    Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, MigrationRecord, Renewed},
};

use crate::{
    acquire, config::ZkConfig, conn::sessions::Sessions, hold::Hold, inspect, keys,
    migration::MigrationNode,
};

/// Locks in ZooKeeper: see the crate's documentation for what it guarantees.
pub struct ZkLock {
    sessions: Arc<Sessions>,
    migration: MigrationNode,
}

impl ZkLock {
    /// Connects, and checks that the servers can keep locks.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use dlock_core::Locker;
    /// use dlock_zk::{ZkConfig, ZkLock};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// let config = ZkConfig::new(["zoo-1", "zoo-2", "zoo-3"]).session(Duration::from_secs(20));
    /// let backend = ZkLock::connect(config).await?;
    /// let locks = Locker::builder(backend).build()?;
    /// let guard = locks.acquire("nightly-report").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for settings that are not allowed, before any I/O. Also `InvalidConfig` for certificates that cannot be used, a missing chroot, another layout, or a session that
    /// is too short for the servers. `Denied` for a login that they refuse. `Unavailable` when no server gives a
    /// session within `connect_timeout`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the session.
    pub async fn connect(config: ZkConfig) -> Result<Self> {
        config.check()?;
        let sessions = Arc::new(Sessions::new(config));
        sessions.default().await?;
        Ok(Self {
            migration: MigrationNode::new(sessions.clone()),
            sessions,
        })
    }

    /// The capabilities of a backend with these settings, known without a connection.
    #[must_use]
    pub fn capabilities_of(config: &ZkConfig) -> Capabilities {
        Capabilities {
            backend: "zk",
            modes: Modes::Exclusive,
            fencing: Fencing::Growing,
            order: Order::Fifo,
            waiting: Waiting::Notified,
            expiry: Expiry::Session,
            ttl_min: config.ttl_min(),
            ttl_max: ZkConfig::TTL_MAX,
            held_max: None,
            takeover_max: takeover_max(config),
            restart_guard: Duration::ZERO,
        }
    }

    fn check(&self, name: &LockName) -> Result<()> {
        let config = &self.sessions.config;
        keys::check(config.format, &config.prefix, name)
    }
}

/// How long a dead holder blocks its lock. The leader hears of its session half a tick late at most, and
/// ends sessions at the end of a tick.
fn takeover_max(config: &ZkConfig) -> Duration {
    let ticks = config.tick.saturating_add(config.tick / 2);
    config.session_timeout().saturating_add(ticks)
}

#[async_trait]
impl DistributedLock for ZkLock {
    fn capabilities(&self) -> Capabilities {
        Self::capabilities_of(&self.sessions.config)
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.check(&request.name)?;
        acquire::acquire(self.sessions.of(request.ttl), request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        if self.sessions.are_closed() {
            return Err(Error::closed());
        }
        hold_of(lease)?.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        hold_of(lease)?.release().await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.check(name)?;
        let session = self.sessions.any().await?;
        inspect::holder(&session, &self.sessions.config, name).await
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(&self.migration)
    }

    async fn close(&self) -> Result<()> {
        self.sessions.close().await;
        Ok(())
    }
}

/// The handle that [`acquire::acquire`] put into the lease.
fn hold_of(lease: &Lease) -> Result<&Hold> {
    lease
        .handle()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "a lease of another backend"))
}

impl fmt::Debug for ZkLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZkLock")
            .field("config", &self.sessions.config)
            .finish_non_exhaustive()
    }
}
