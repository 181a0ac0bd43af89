//! Options of locks, for each topology.

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Result, config::Settings};

/// Options of locks: the keys of a URL after its `?`, except TLS and logins.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_redis::RedisOptions;
///
/// let options = RedisOptions::default()
///     .with_prefix("shop:")?
///     .with_min_acks(1)
///     .with_restart_guard(Duration::from_secs(60));
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RedisOptions {
    pub(crate) prefix: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) restart_guard: Duration,
    failover_guard: Option<Duration>,
    pub(crate) may_evict: bool,
    pub(crate) min_acks: u32,
    /// The default ttl of the locker, if the URL sets it.
    pub(crate) ttl: Duration,
}

impl RedisOptions {
    /// The prefix of keys: it separates them from other data.
    const PREFIX: &str = "dlock:";

    /// The shortest ttl: some round trips on a slow network, and three renewals.
    pub(crate) const TTL_MIN: Duration = Duration::from_millis(100);

    /// The longest ttl: a dead holder blocks its lock for so long.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// How long a server that may have lost locks grants none: the default ttl.
    pub(crate) const RESTART_GUARD: Duration = Duration::from_secs(30);

    /// The bound on connecting: a login and a probe of the server, on a slow network.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    /// The bound on a reply.
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

    /// The bound on replicas: more than any deployment has.
    const ACKS_MAX: u64 = 100;

    /// Requires so many replicas to have each grant and each renewal.
    ///
    /// With fewer, the grant is undone, and the attempt fails as `Unavailable`. Default 0: no replica is
    /// required.
    #[must_use]
    pub fn with_min_acks(self, min_acks: u32) -> Self {
        Self { min_acks, ..self }
    }

    /// Sets the prefix of keys. Default `dlock:`; empty to share locks with the `SET NX PX` family.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for braces and percent signs: they would spread the keys of a name over a Cluster.
    pub fn with_prefix(self, prefix: impl Into<String>) -> Result<Self> {
        let prefix = prefix.into();
        if prefix.contains(['{', '}', '%']) {
            let why = "a prefix for Redis must not have braces or percent signs";
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        }
        Ok(Self { prefix, ..self })
    }

    /// Sets how long a server that may have lost locks grants none: after its first use with dlock, a restart, or
    /// a loss of its data.
    ///
    /// A ttl must not be longer. Zero turns the guard off, for tests and for a server that never loses data.
    /// Default 30 s; for a URL its `ttl`, if that is longer.
    #[must_use]
    pub fn with_restart_guard(self, restart_guard: Duration) -> Self {
        Self {
            restart_guard,
            ..self
        }
    }

    /// Sets how long a promoted replica grants no locks. Default: `restart_guard`.
    ///
    /// Zero turns only this guard off. Locks that the replica lacks are then granted again at once.
    #[must_use]
    pub fn with_failover_guard(self, failover_guard: Duration) -> Self {
        Self {
            failover_guard: Some(failover_guard),
            ..self
        }
    }

    pub(crate) fn failover_guard(&self) -> Duration {
        self.failover_guard.unwrap_or(self.restart_guard)
    }

    /// Accepts a server that evicts keys when its memory is full. Default `false`.
    #[must_use]
    pub fn with_may_evict(self, may_evict: bool) -> Self {
        Self { may_evict, ..self }
    }

    /// Reads the options of a URL.
    pub(crate) fn take(settings: &mut Settings) -> Result<Self> {
        let ten = Duration::from_millis(10);
        let minute = Duration::from_secs(60);
        let default = Self::default();
        let prefix = settings.take_prefix()?;
        let acks = settings.take_u64("min_acks", 0..=Self::ACKS_MAX)?;
        let connect = settings.take_duration("connect_timeout", ten..=minute)?;
        let answer = settings.take_duration("timeout", ten..=minute)?;
        let restart_guard = settings.take_restart_guard(Self::TTL_MAX)?;
        let failover_guard =
            settings.take_duration("failover_guard", Duration::ZERO..=Self::TTL_MAX)?;
        let default = match prefix {
            None => default,
            Some(prefix) => default
                .with_prefix(prefix)
                .map_err(|error| settings.invalid(error))?,
        };
        Ok(Self {
            connect_timeout: connect.unwrap_or(default.connect_timeout),
            request_timeout: answer.unwrap_or(default.request_timeout),
            restart_guard,
            failover_guard,
            may_evict: settings.take_bool("may_evict")?.unwrap_or(false),
            min_acks: acks.map_or(0, |acks| u32::try_from(acks).unwrap_or(u32::MAX)),
            ttl: settings.common().ttl.unwrap_or_default(),
            ..default
        })
    }
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            prefix: Self::PREFIX.to_owned(),
            connect_timeout: Self::CONNECT_TIMEOUT,
            request_timeout: Self::REQUEST_TIMEOUT,
            restart_guard: Self::RESTART_GUARD,
            failover_guard: None,
            may_evict: false,
            min_acks: 0,
            ttl: Duration::ZERO,
        }
    }
}
