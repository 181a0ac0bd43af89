//! The trait, on Redis.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    AttemptId, Capabilities, Expiry, Fencing, Holder, LockName, LostCause, Modes, Order, Result,
    Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait},
    toolkit::Lock,
};
use tokio::task::JoinSet;

use crate::{
    acquire::attempt,
    acquire::batch::Trips,
    acquire::wait,
    config::RedisConfig,
    config::options::RedisOptions,
    conn::connect::{Bounds, Line},
    keys::Keys,
    longest_ttl::Longest,
    pubsub::subscriptions::Listeners,
    renew::{Found, Renewal, Renewals},
    scripts,
    topology::router::Servers,
};

/// Locks in Redis or Valkey: see the crate's documentation for what it guarantees.
pub struct RedisLock {
    pub(crate) trips: Arc<Trips>,
    pub(crate) listeners: Listeners,
    renewals: Renewals,
    pub(crate) longest: Longest,
    /// What `close` has to release.
    held: Lock<HashMap<AttemptId, Arc<Keys>>>,
}

impl RedisLock {
    /// A dead holder's key ends by itself, and its waiter sleeps until just then: this is what the
    /// server's expiry and the waiter's timer may be late.
    const TAKEOVER_MAX: Duration = Duration::from_millis(500);

    /// What it can do, known without a connection; `restart_guard=` changes that of a locker.
    pub const CAPABILITIES: Capabilities = Capabilities {
        backend: "redis",
        modes: Modes::Exclusive,
        fencing: Fencing::Growing,
        order: Order::Unordered,
        waiting: Waiting::Notified,
        expiry: Expiry::Lease,
        ttl_min: RedisOptions::TTL_MIN,
        ttl_max: RedisOptions::TTL_MAX,
        held_max: None,
        takeover_max: Self::TAKEOVER_MAX,
        restart_guard: RedisOptions::RESTART_GUARD,
    };

    /// Connects, and looks whether the servers may grant locks.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for certificates that cannot be used, for servers that may evict locks, and for
    /// another topology than that of the URL; `Denied` for a wrong password; `Unavailable` when the
    /// server, or each master of a Cluster, cannot be reached within `connect_timeout` or is a
    /// replica.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections.
    pub async fn connect(config: RedisConfig) -> Result<Self> {
        Ok(Self::of(Servers::connect(config).await?))
    }

    /// For those who have a client of one server already: its address, login, database and TLS are
    /// used for connections of our own. A lock is not safe on a connection that others use, too: what
    /// they ask may take longer than its ttl (T16).
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use dlock_core::Locker;
    /// use dlock_redis::{RedisLock, RedisOptions};
    ///
    /// # async fn example(client: redis::Client) -> dlock_core::Result<()> {
    /// let backend = RedisLock::from_client(&client, RedisOptions::default()).await?;
    /// let locker = Locker::builder(Arc::new(backend)).build()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections.
    pub async fn from_client(client: &redis::Client, options: RedisOptions) -> Result<Self> {
        let bounds = Bounds {
            connect_max: options.connect_max,
            answer_max: options.answer_max,
        };
        let line = Line::given(client, bounds)?;
        Ok(Self::of(Servers::connect_line(line, options).await?))
    }

    fn of(servers: Servers) -> Self {
        let servers = Arc::new(servers);
        Self {
            renewals: Renewals::new(servers.clone()),
            longest: Longest::new(&servers.options),
            trips: Arc::new(Trips::new(servers)),
            listeners: Listeners::default(),
            held: Lock::default(),
        }
    }

    /// Releases what is held, all at once.
    async fn release_all(&self) -> Result<()> {
        let held = std::mem::take(&mut *self.held.lock());
        let mut releases = JoinSet::new();
        for (id, keys) in held {
            let trips = self.trips.clone();
            releases.spawn(async move { attempt::release(&trips, &keys, id).await });
        }
        let mut result = Ok(());
        while let Some(released) = releases.join_next().await {
            result = result.and(released.unwrap_or(Ok(())));
        }
        result
    }

    fn keys(&self, name: &LockName) -> Arc<Keys> {
        Arc::new(Keys::new(&self.trips.servers.options.prefix, name))
    }

    /// Those of a lease of ours.
    fn keys_of(&self, lease: &Lease) -> Arc<Keys> {
        let kept: Option<&Arc<Keys>> = lease.handle();
        kept.map_or_else(|| self.keys(&lease.name), Arc::clone)
    }
}

#[async_trait]
impl DistributedLock for RedisLock {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            restart_guard: self.trips.servers.options.restart_guard,
            ..Self::CAPABILITIES
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let keys = self.keys(&request.name);
        self.longest.asked(request.ttl);
        let lease = match request.wait {
            Wait::Never => match attempt::surely(&self.trips, request, &keys).await? {
                Ok(lease) => lease,
                Err(taken) => {
                    self.longest.tell(request, taken);
                    return Err(request.attempt.contended_error());
                }
            },
            Wait::UntilCancelled => wait::wait(self, request, &keys).await?,
        };
        self.held.lock().insert(lease.id(), keys);
        Ok(lease)
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let renewal = Renewal {
            keys: self.keys_of(lease),
            id: lease.id(),
            ttl: lease.ttl,
        };
        let (sent, found) = self.renewals.renew(renewal).await?;
        Ok(match found {
            Found::Held => lease.renewed(sent, lease.ttl),
            Found::Gone => Renewed::Lost(LostCause::Removed),
            Found::Taken => Renewed::Lost(LostCause::Taken),
        })
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        // Before: one that is given up ends with its ttl.
        self.held.lock().remove(&lease.id());
        attempt::release(&self.trips, &self.keys_of(lease), lease.id()).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let (servers, key) = (&self.trips.servers, &self.keys(name).lock);
        let look = |verb: &str| redis::cmd(verb).arg(key).to_owned();
        let value = servers.look(key, &look("GET")).await?.value;
        let value: Option<Vec<u8>> = redis::from_redis_value(value).map_err(scripts::nonsense)?;
        let Some(value) = value else { return Ok(None) };
        // Other clients write what they like, also random bytes.
        let value = String::from_utf8_lossy(&value);
        let left = servers.look(key, &look("PTTL")).await?.value;
        let left: i64 = redis::from_redis_value(left).map_err(scripts::nonsense)?;
        let mut holder = Holder::parse(value.trim_end_matches('\n')).unwrap_or_default();
        holder.remaining = u64::try_from(left).ok().map(Duration::from_millis);
        let ours = holder.remaining.filter(|_| holder.attempt.is_some());
        holder.warning = ours.and_then(|left| self.longest.doubt(left));
        // Gone between the two questions.
        Ok((left != -2).then_some(holder))
    }

    async fn close(&self) -> Result<()> {
        if self.trips.servers.is_closed() {
            return Ok(());
        }
        // Also if nobody waits for the releases to their end.
        let closing = Closing(&self.trips.servers);
        let released = self.release_all().await;
        drop(closing);
        released
    }
}

/// Ends the connections when it is dropped.
struct Closing<'a>(&'a Servers);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl fmt::Debug for RedisLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLock")
            .field("options", &self.trips.servers.options)
            .finish_non_exhaustive()
    }
}
