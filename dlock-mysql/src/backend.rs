//! The trait, on MySQL and MariaDB.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Error, Expiry, Fencing, Holder, LockName, LostCause, Modes, Order, Result,
    Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait},
};

use tokio::task::JoinSet;

use crate::{
    acquire::{
        attempt::{Acquisition, Contended},
        wait,
    },
    config::MySqlConfig,
    conn::pool::Pool,
    errors,
    guard::longest_ttl,
    hold::Hold,
    inspect,
    monitor::Monitor,
};

/// Locks in MySQL or MariaDB: see the crate's documentation for what it guarantees.
pub struct MySqlLock {
    pub(crate) session: Arc<Pool>,
    pub(crate) monitor: Arc<Monitor>,
}

impl MySqlLock {
    /// A silent holder's session ends by the server's clock, which counts whole seconds; with a thread
    /// pool half a second later.
    const TAKEOVER_MAX: Duration = Duration::from_millis(2_000);

    /// What it can do, known without a connection; `held_max=` and `restart_guard=` change those of a
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

    /// Connects, looks whether the server may grant locks, and makes the tables if they are missing.
    ///
    /// # Errors
    ///
    /// `Denied` for a wrong password and missing privileges; `Unsupported` for an old server, Galera and
    /// several primaries; `InvalidConfig` for a database that is not there; `Unavailable` when the
    /// server cannot be reached within `connect_timeout` or is read-only.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn connect(config: MySqlConfig) -> Result<Self> {
        let session = Pool::new(config);
        session.control()?.run(async |_| Ok(())).await?;
        Ok(Self {
            session: Arc::new(session),
            monitor: Arc::default(),
        })
    }
}

#[async_trait]
impl DistributedLock for MySqlLock {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            held_max: Some(self.session.config().held_max),
            restart_guard: self.session.config().restart_guard,
            ..Self::CAPABILITIES
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let permit = self.session.permit()?;
        let acquisition = Acquisition::new(self, request);
        match request.wait {
            Wait::Never => match acquisition.try_acquire(permit).await? {
                Ok(lease) => Ok(lease),
                Err(Contended(held_connection)) => {
                    self.session.keep(held_connection.connection);
                    Err(Error::contended())
                }
            },
            Wait::UntilCancelled => wait::wait(&acquisition, permit).await,
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        match lease.handle::<Arc<Hold>>() {
            Some(held) => {
                let renewed = held.renew(&self.session, lease).await?;
                if matches!(renewed, Renewed::Until(_)) {
                    longest_ttl::keep(&self.session, held, lease.ttl).await?;
                }
                Ok(renewed)
            }
            None => Ok(Renewed::Lost(LostCause::SessionEnded)),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        match lease.handle::<Arc<Hold>>() {
            Some(held) => held.release(&self.session).await,
            None => Ok(()),
        }
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let (session, name) = (self.session.clone(), name.clone());
        // To its end, whatever becomes of the caller: what it asks is a row (K12).
        let asked = tokio::spawn(async move { inspect::inspect(&session, &name).await });
        asked.await.unwrap_or_else(errors::task_failed)
    }

    async fn close(&self) -> Result<()> {
        if self.session.is_closed() {
            return Ok(());
        }
        self.session.connector.close();
        // At once: a server that is silent takes as long for each.
        let mut releases = JoinSet::new();
        for held in self.monitor.held() {
            let session = self.session.clone();
            releases.spawn(async move { held.release(&session).await });
        }
        let mut result = Ok(());
        while let Some(released) = releases.join_next().await {
            let released = released.unwrap_or_else(errors::task_failed);
            result = result.and(released);
        }
        self.session.close().await;
        result
    }
}

impl fmt::Debug for MySqlLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlLock")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
