//! The backend for MySQL and MariaDB.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Expiry, Fencing, Holder, LockName, LostCause, Modes, Order, Result, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, MigrationRecord, Renewed},
};
use tokio::task::JoinSet;

use crate::{
    acquire, config::MySqlConfig, conn::pool::Pool, errors, hold::handle::Hold, hold::renewal,
    inspect, migration::MigrationRow, monitor::Monitor,
};

/// Locks in MySQL or MariaDB: see the crate's documentation for what it guarantees.
pub struct MySqlLock {
    pool: Arc<Pool>,
    monitor: Arc<Monitor>,
    migration: MigrationRow,
}

impl MySqlLock {
    /// The server ends a silent session by its clock, which counts whole seconds; with a thread pool half a
    /// second later.
    const TAKEOVER_MAX: Duration = Duration::from_millis(2_000);

    /// The capabilities, known without a connection. `held_max=` and `restart_guard=` change those of a
    /// locker.
    pub const CAPABILITIES: Capabilities = Capabilities {
        backend: "mysql",
        modes: Modes::Exclusive,
        fencing: Fencing::Growing,
        order: Order::Unordered,
        waiting: Waiting::Blocking,
        expiry: Expiry::Lease,
        ttl_min: MySqlConfig::TTL_MIN,
        ttl_max: MySqlConfig::TTL_MAX,
        held_max: Some(MySqlConfig::HELD_MAX),
        takeover_max: Self::TAKEOVER_MAX,
        restart_guard: MySqlConfig::RESTART_GUARD,
    };

    /// Connects, checks whether the server may grant locks, and creates the tables if they are missing.
    ///
    /// ```no_run
    /// use dlock_core::Locker;
    /// use dlock_mysql::{MySqlConfig, MySqlLock};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// let config = MySqlConfig::new("db-1", "app", "locks").password("secret");
    /// let backend = MySqlLock::connect(config).await?;
    /// let locks = Locker::builder(backend).build()?;
    /// let guard = locks.acquire("nightly-report").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Denied` for a wrong password and missing privileges. `Unsupported` for an old server, Galera and several
    /// primaries. `InvalidConfig` for settings that are not allowed, before any I/O, and for a missing database. `Unavailable` when the server is read-only or cannot be
    /// reached within `connect_timeout`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn connect(config: MySqlConfig) -> Result<Self> {
        config.check()?;
        let pool = Pool::new(config);
        let connected = pool.tables()?.run(async |_| Ok(())).await;
        connected.map_err(|error| pool.connector.name_in(error))?;
        let pool = Arc::new(pool);
        Ok(Self {
            migration: MigrationRow::new(pool.clone()),
            pool,
            monitor: Arc::default(),
        })
    }
}

#[async_trait]
impl DistributedLock for MySqlLock {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            held_max: Some(self.pool.config().held_max),
            restart_guard: self.pool.config().restart_guard,
            ..Self::CAPABILITIES
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        acquire::acquire(&self.pool, &self.monitor, request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        match lease.handle::<Arc<Hold>>() {
            Some(hold) => renewal::renew(&self.pool, hold, lease).await,
            None => Ok(Renewed::Lost(LostCause::SessionEnded)),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        match lease.handle::<Arc<Hold>>() {
            Some(hold) => hold.release(&self.pool).await,
            None => Ok(()),
        }
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let (pool, name) = (self.pool.clone(), name.clone());
        // A task: it deletes its question even if the caller is dropped (K12).
        let inspecting = tokio::spawn(async move { inspect::inspect(&pool, &name).await });
        inspecting.await.unwrap_or_else(errors::task_failed)
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(&self.migration)
    }

    async fn close(&self) -> Result<()> {
        if self.pool.is_closed() {
            return Ok(());
        }
        self.pool.connector.close();
        // In parallel: a silent server delays each as long.
        let mut releases = JoinSet::new();
        for hold in self.monitor.holds() {
            let pool = self.pool.clone();
            releases.spawn(async move { hold.release(&pool).await });
        }
        let mut result = Ok(());
        while let Some(released) = releases.join_next().await {
            let released = released.unwrap_or_else(errors::task_failed);
            result = result.and(released);
        }
        self.pool.close().await;
        result
    }
}

impl fmt::Debug for MySqlLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlLock")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}
