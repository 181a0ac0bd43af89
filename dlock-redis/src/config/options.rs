//! How locks are kept, whichever server keeps them.

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Result, config::Settings};

/// How locks are kept: the keys of the URL after its `?`, apart from TLS and logins.
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
    /// The default ttl of the locker, if the URL says it.
    pub(crate) ttl: Duration,
}

impl RedisOptions {
    /// Names are keys with this before them, apart from the data of others.
    const PREFIX: &str = "dlock:";

    /// The shortest ttl: some round trips on a slow network, and three renewals.
    pub(crate) const TTL_MIN: Duration = Duration::from_millis(100);

    /// The longest ttl: as long blocks a lock whose holder died.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// How long a server that may have forgotten its locks grants none: the default ttl.
    pub(crate) const RESTART_GUARD: Duration = Duration::from_secs(30);

    /// How long connecting may take: a login and a look at the server, on a slow network.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    /// How long an answer may take.
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

    /// More replicas than anybody has.
    const ACKS_MAX: u64 = 100;

    /// A grant has to be in so many replicas before it counts, and so has each renewal. With fewer the
    /// lock is undone and the attempt refused as `Unavailable` (T8). Default 0: none is asked.
    #[must_use]
    pub fn with_min_acks(self, min_acks: u32) -> Self {
        Self { min_acks, ..self }
    }

    /// Names are keys with this before them. Default `dlock:`; empty to share locks with the
    /// `SET NX PX` family.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for braces and percent signs: they would take the keys of a name apart in a
    /// Cluster.
    pub fn with_prefix(self, prefix: impl Into<String>) -> Result<Self> {
        let prefix = prefix.into();
        if prefix.contains(['{', '}', '%']) {
            let why = "a prefix for Redis has no braces and no percent signs";
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        }
        Ok(Self { prefix, ..self })
    }

    /// How long a server that may have forgotten its locks grants none: one that dlock meets for the first
    /// time, that was restarted or emptied. Zero turns it off, for tests and for a server whose data outlives
    /// everything. No longer ttl is allowed (T14). Default 30 s; of a URL its `ttl`, if that is longer.
    #[must_use]
    pub fn with_restart_guard(self, restart_guard: Duration) -> Self {
        Self {
            restart_guard,
            ..self
        }
    }

    /// How long a server that took over from another one grants no locks; zero turns only that off, for those
    /// to whom a lock that the replica had not got yet is the smaller harm (T8). By default as long as after a
    /// restart.
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

    /// Accepts a server that throws keys away when its memory is full (T12). Default `false`.
    #[must_use]
    pub fn with_may_evict(self, may_evict: bool) -> Self {
        Self { may_evict, ..self }
    }

    /// Reads them from a URL.
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
