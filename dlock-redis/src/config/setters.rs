//! The setters of the options of locks.

use std::time::Duration;

use super::builder::RedisConfig;
use crate::keys::Format;

impl RedisConfig {
    /// Requires so many replicas to have each grant and each renewal, at most 100.
    ///
    /// With fewer, the grant is undone, and the attempt fails as `Unavailable`. Default 0: no replica is
    /// required.
    pub fn min_acks(mut self, min_acks: u32) -> Self {
        self.options.min_acks = min_acks;
        self
    }

    /// Sets the prefix of keys, of at most 128 bytes without `{`, `}` and `%`. Default `dlock:`, or that of the
    /// [`format`](Self::format).
    ///
    /// Empty to share locks with the `SET NX PX` family; see [`format`](Self::format).
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.options.prefix = Some(prefix.into());
        self
    }

    /// Sets how the name of a lock becomes a key, and how that key is kept. Default [`Escaped`](Format::Escaped).
    ///
    /// [`Plain`](Format::Plain) to share locks whose names have `{`, `}` or `%` with other clients.
    /// [`Redisson`](Format::Redisson) to share locks with Java.
    pub fn format(mut self, format: Format) -> Self {
        self.options.format = format;
        self
    }

    /// Sets the time limit for connecting, login and probe included, 10 ms to 1 min. Default 5 s.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.options.timeouts.connect = connect_timeout;
        self
    }

    /// Sets the time limit for a reply, 10 ms to 1 min. Default 2 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeouts.reply = timeout;
        self
    }

    /// Sets how long a server that may have lost locks grants none: after its first use with dlock, a restart, or
    /// a loss of its data.
    ///
    /// A ttl must not be longer; at most 1 day. Zero turns the guard off, for tests and for a server that never
    /// loses data. Default 30 s; for a URL its `ttl`, if that is longer.
    pub fn restart_guard(mut self, restart_guard: Duration) -> Self {
        self.options.restart_guard = restart_guard;
        self
    }

    /// Sets how long a promoted replica grants no locks, at most 1 day. Default: as `restart_guard`.
    ///
    /// Zero turns only this guard off. Locks that the replica lacks are then granted again at once.
    pub fn failover_guard(mut self, failover_guard: Duration) -> Self {
        self.options.failover_guard = Some(failover_guard);
        self
    }

    /// Accepts a server that evicts keys when its memory is full: the key `may_evict`.
    ///
    /// By default such a server is refused.
    pub fn accept_eviction(mut self) -> Self {
        self.options.accepts_eviction = true;
        self
    }
}
