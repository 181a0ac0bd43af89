//! The options of locks, which are the same for each topology.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Settings, Timeouts, check_duration, check_prefix, check_u64},
};

use crate::keys::Format;

/// The options of locks.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The prefix of keys; `None` for that of the format.
    pub(super) prefix: Option<String>,
    pub(crate) format: Format,
    pub(crate) timeouts: Timeouts,
    pub(crate) restart_guard: Duration,
    pub(super) failover_guard: Option<Duration>,
    pub(crate) accepts_eviction: bool,
    pub(crate) min_acks: u32,
    /// The default ttl of the locker, if the URL sets it.
    pub(crate) ttl: Duration,
}

impl Options {
    /// The shortest ttl: some round trips on a slow network, and three renewals.
    pub(crate) const TTL_MIN: Duration = Duration::from_millis(100);

    /// The longest ttl: a dead holder blocks its lock for so long.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(86_400);

    /// How long a server that may have lost locks grants none: the default ttl.
    pub(crate) const RESTART_GUARD: Duration = Duration::from_secs(30);

    /// The default time-outs: of connecting, which is a login and a probe of the server on a slow network; and of
    /// a reply.
    const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(5), Duration::from_secs(2));

    /// The bound on replicas: more than any deployment has.
    const ACKS_MAX: u64 = 100;

    /// The prefix of keys.
    pub(crate) fn prefix(&self) -> &str {
        let default = self.format.default_prefix();
        self.prefix.as_deref().unwrap_or(default)
    }

    pub(crate) fn failover_guard(&self) -> Duration {
        self.failover_guard.unwrap_or(self.restart_guard)
    }

    /// Reads the options of a URL.
    pub(super) fn take(settings: &mut Settings) -> Result<Self> {
        let mut options = Self {
            prefix: settings.take_prefix()?,
            ..Self::default()
        };
        let formats = [
            ("escaped", Format::Escaped),
            ("plain", Format::Plain),
            ("redisson", Format::Redisson),
        ];
        options.format = settings.take_choice("format", formats)?.unwrap_or_default();
        let min_acks = settings.take_u64("min_acks", 0..=Self::ACKS_MAX)?;
        options.min_acks = min_acks.map_or(0, |acks| u32::try_from(acks).unwrap_or(u32::MAX));
        options.timeouts.take(settings)?;
        options.restart_guard = settings.take_restart_guard(Self::TTL_MAX)?;
        let guards = Duration::ZERO..=Self::TTL_MAX;
        options.failover_guard = settings.take_duration("failover_guard", guards)?;
        options.accepts_eviction = settings.take_bool("may_evict")?.unwrap_or(false);
        options.ttl = settings.common().ttl.unwrap_or_default();
        Ok(options)
    }

    pub(super) fn check(&self) -> Result<()> {
        check_prefix(self.prefix(), Settings::PREFIX_BYTES_MAX)?;
        if self.prefix().contains(['{', '}', '%']) {
            // They would spread the keys of a name over a Cluster.
            let why = "a prefix for Redis must not have braces or percent signs";
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        }
        check_u64("min_acks", self.min_acks.into(), 0..=Self::ACKS_MAX)?;
        self.timeouts.check()?;
        let guards = Duration::ZERO..=Self::TTL_MAX;
        check_duration("restart_guard", self.restart_guard, guards.clone())?;
        check_duration("failover_guard", self.failover_guard(), guards)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: None,
            format: Format::default(),
            timeouts: Self::TIMEOUTS,
            restart_guard: Self::RESTART_GUARD,
            failover_guard: None,
            accepts_eviction: false,
            min_acks: 0,
            ttl: Duration::ZERO,
        }
    }
}
