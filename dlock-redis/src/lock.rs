//! The trait, on one Redis server.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    AcquireRequest, AttemptId, Batch, Capabilities, DistributedLock, Error, Expiry, Fencing,
    Holder, Lease, LockName, LostCause, Modes, Order, Renewed, Result, Wait, Waiting,
};

use crate::{
    config::RedisConfig,
    layout::Keys,
    renewals::{self, Found, Renewal},
    session::Session,
    take::{self, Taken},
    wait,
    wake::Wakes,
    wire,
};

/// Locks in one Redis or Valkey server: see the crate's documentation for what it guarantees.
pub struct RedisLock {
    pub(crate) session: Arc<Session>,
    pub(crate) wakes: Wakes,
    renewals: Batch<Renewal, Found>,
    /// What `close` has to release.
    held: Mutex<HashMap<AttemptId, LockName>>,
}

impl RedisLock {
    /// A dead holder's key ends by itself, and its waiter sleeps until just then: this is what the
    /// server's expiry and the waiter's timer may be late.
    const TAKEOVER_MAX: Duration = Duration::from_millis(500);

    /// What it can do, known without a connection.
    pub const CAPABILITIES: Capabilities = Capabilities {
        backend: "redis",
        modes: Modes::Exclusive,
        fencing: Fencing::Growing,
        order: Order::Unordered,
        waiting: Waiting::Notified,
        expiry: Expiry::Lease,
        ttl_min: RedisConfig::TTL_MIN,
        ttl_max: RedisConfig::TTL_MAX,
        held_max: None,
        takeover_max: Self::TAKEOVER_MAX,
    };

    /// Connects, and looks whether the server may grant locks.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for certificates that cannot be used, and for a server that may evict locks;
    /// `Denied` for a wrong password; `Unavailable` when the server cannot be reached, within
    /// `connect_timeout`, and when it is a replica.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn connect(config: RedisConfig) -> Result<Self> {
        let session = Arc::new(Session::new(config)?);
        session.connect().await?;
        let wakes = Wakes::new(session.client.clone(), session.config.clone());
        let renewals = renewals::batch(session.clone());
        Ok(Self {
            session,
            wakes,
            renewals,
            held: Mutex::default(),
        })
    }

    fn held(&self) -> MutexGuard<'_, HashMap<AttemptId, LockName>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn release_all(&self) -> Result<()> {
        let held = std::mem::take(&mut *self.held());
        let mut result = Ok(());
        for (id, name) in held {
            result = result.and(take::release(&self.session, &self.keys(&name), id).await);
        }
        result
    }

    pub(crate) fn keys(&self, name: &LockName) -> Keys {
        Keys::new(&self.session.config.prefix, name)
    }
}

#[async_trait]
impl DistributedLock for RedisLock {
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let keys = self.keys(&request.name);
        let lease = match request.wait {
            Wait::Never => match take::surely(&self.session, request, &keys).await? {
                Ok(lease) => lease,
                Err(Taken { .. }) => return Err(Error::contended()),
            },
            Wait::UntilCancelled => wait::wait(self, request, &keys).await?,
        };
        self.held().insert(lease.id(), request.name.clone());
        Ok(lease)
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let key = self.keys(&lease.name).lock;
        let renewal = Renewal {
            key,
            id: lease.id(),
            ttl: lease.ttl,
        };
        let (sent, found) = self.renewals.join(renewal).await?;
        Ok(match found {
            Found::Held => lease.renewed(sent, lease.ttl),
            Found::Gone => Renewed::Lost(LostCause::Removed),
            Found::Taken => Renewed::Lost(LostCause::Taken),
        })
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        take::release(&self.session, &self.keys(&lease.name), lease.id()).await?;
        self.held().remove(&lease.id());
        Ok(())
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let key = self.keys(name).lock;
        let look = |verb: &str| redis::cmd(verb).arg(&key).to_owned();
        let value = self.session.look(&look("GET")).await?;
        let value: Option<Vec<u8>> = redis::from_redis_value(value).map_err(wire::nonsense)?;
        let Some(value) = value else { return Ok(None) };
        // Other clients write what they like, also random bytes.
        let value = String::from_utf8_lossy(&value);
        let left = self.session.look(&look("PTTL")).await?;
        let left: i64 = redis::from_redis_value(left).map_err(wire::nonsense)?;
        let mut holder = Holder::parse(value.trim_end_matches('\n')).unwrap_or_default();
        holder.remaining = u64::try_from(left).ok().map(Duration::from_millis);
        // Gone between the two questions.
        Ok((left != -2).then_some(holder))
    }

    async fn close(&self) -> Result<()> {
        if self.session.is_closed() {
            return Ok(());
        }
        let released = self.release_all().await;
        self.session.close();
        self.wakes.close().await;
        released
    }
}

impl fmt::Debug for RedisLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLock")
            .field("config", &self.session.config)
            .finish_non_exhaustive()
    }
}
