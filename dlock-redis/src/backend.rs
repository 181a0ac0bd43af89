//! The trait, on Redis.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Expiry, Fencing, Holder, LockName, Modes, Order, Result, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, MigrationRecord, Renewed, TokenCounter},
};

use crate::{
    acquire::{Acquirer, batch::CommandBatcher},
    config::{Options, RedisConfig},
    hold::{self, Holds, raise_batch::RaiseBatcher, renew_batch::RenewBatcher},
    inspect,
    keys::Keys,
    longest_ttl::LongestTtl,
    migration::MigrationKey,
    pubsub::Subscriptions,
    scripts::Written,
    topology::router::Router,
};

/// Locks in Redis or Valkey: see the crate's documentation for what it guarantees.
pub struct RedisLock {
    pub(crate) router: Arc<Router>,
    batcher: Arc<CommandBatcher>,
    subscriptions: Subscriptions,
    renewals: RenewBatcher,
    pub(crate) raises: RaiseBatcher,
    longest_ttl: LongestTtl,
    holds: Holds,
    migration: MigrationKey,
}

impl RedisLock {
    /// The delay of the server's expiry and of the waiter's timer: a dead holder's key expires, and its waiter
    /// sleeps until just then.
    const TAKEOVER_MAX: Duration = Duration::from_millis(500);

    /// The capabilities, known without a connection. `restart_guard=` changes those of a locker.
    pub const CAPABILITIES: Capabilities = Capabilities {
        backend: "redis",
        modes: Modes::Exclusive,
        fencing: Fencing::Growing,
        order: Order::Unordered,
        waiting: Waiting::Notified,
        expiry: Expiry::Lease,
        ttl_min: Options::TTL_MIN,
        ttl_max: Options::TTL_MAX,
        held_max: None,
        takeover_max: Self::TAKEOVER_MAX,
        restart_guard: Options::RESTART_GUARD,
    };

    /// Connects, and probes whether the servers may grant locks.
    ///
    /// ```no_run
    /// use dlock_core::Locker;
    /// use dlock_redis::{RedisConfig, RedisLock};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> dlock_core::Result<()> {
    /// let config = RedisConfig::new("db-1").password("secret");
    /// let backend = RedisLock::connect(config).await?;
    /// let locks = Locker::builder(backend).build()?;
    /// let guard = locks.acquire("nightly-report").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for settings that are not allowed, before any I/O. Also `InvalidConfig` for certificates that cannot be used, for servers that may evict locks, and for another
    /// topology than the URL's. `Denied` for a wrong password. `Unavailable` when the server, or each master of a
    /// Cluster, is a replica or cannot be reached within `connect_timeout`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections, at the latest after `connect_timeout`. The record may be written.
    pub async fn connect(config: RedisConfig) -> Result<Self> {
        config.check()?;
        Ok(Self::new(Router::connect(config).await?))
    }

    fn new(router: Router) -> Self {
        let router = Arc::new(router);
        Self {
            batcher: Arc::new(CommandBatcher::new(router.clone())),
            subscriptions: Subscriptions::default(),
            renewals: RenewBatcher::new(router.clone()),
            raises: RaiseBatcher::new(router.clone()),
            longest_ttl: LongestTtl::new(&router.options),
            holds: Holds::default(),
            migration: MigrationKey::new(router.clone()),
            router,
        }
    }

    fn keys(&self, name: &LockName) -> Result<Arc<Keys>> {
        let options = &self.router.options;
        let keys = Keys::new(options.format, options.prefix(), name)?;
        if !self.router.is_single() {
            keys.check_in_cluster()?;
        }
        Ok(Arc::new(keys))
    }

    pub(crate) fn keys_of(&self, lease: &Lease) -> Result<Arc<Keys>> {
        let handle: Option<&Arc<Written>> = lease.handle();
        handle.map_or_else(
            || self.keys(&lease.name),
            |written| Ok(written.keys.clone()),
        )
    }
}

#[async_trait]
impl DistributedLock for RedisLock {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            restart_guard: self.router.options.restart_guard,
            ..Self::CAPABILITIES
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let acquirer = Acquirer {
            batcher: &self.batcher,
            subscriptions: &self.subscriptions,
            longest_ttl: &self.longest_ttl,
            after_release: self.holds.after_release(),
        };
        let keys = self.keys(&request.name)?;
        let lease = acquirer.acquire(request, &keys).await?;
        self.holds.insert(&lease, keys);
        Ok(lease)
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        hold::renew(&self.renewals, lease, self.keys_of(lease)?).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let keys = self.keys_of(lease)?;
        self.holds.release(&self.batcher, lease, &keys).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        inspect::inspect(&self.router, &self.longest_ttl, &*self.keys(name)?).await
    }

    async fn close(&self) -> Result<()> {
        if self.router.is_closed() {
            return Ok(());
        }
        // Also if this future is dropped before the releases end.
        let closing = Closing(&self.router);
        let released = self.holds.release_all(&self.batcher).await;
        drop(closing);
        released
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        Some(&self.migration)
    }

    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        Some(self)
    }
}

/// Ends the connections when it is dropped.
struct Closing<'a>(&'a Router);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl fmt::Debug for RedisLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLock")
            .field("options", &self.router.options)
            .finish_non_exhaustive()
    }
}
