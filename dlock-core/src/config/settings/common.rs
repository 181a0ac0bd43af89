//! The settings that all backends have.

use std::time::Duration;

/// The settings that mean the same for every store; `None` where they are not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CommonSettings {
    /// Key `ttl`: how long a lock lives without a renewal, [`CommonSettings::TTL_MIN`] to
    /// [`CommonSettings::TTL_MAX`] and within the backend's own bounds.
    pub ttl: Option<Duration>,
    /// Key `wait`: how long to wait for a lock at most, 0 s to [`CommonSettings::WAIT_MAX`].
    pub wait: Option<Duration>,
    /// Key `connect_wait`: how long to wait for a store that cannot be reached when connecting, 0 s to
    /// [`CommonSettings::WAIT_MAX`]. Connecting fails at once without it.
    pub connect_wait: Option<Duration>,
    /// Key `token_base`: added to every token, for a move from a store with larger ones; at most
    /// [`TOKEN_BASE_MAX`](crate::LockerBuilder::TOKEN_BASE_MAX).
    pub token_base: Option<u64>,
}

impl CommonSettings {
    /// The shortest ttl that can be configured; backends that talk to a server require more.
    pub const TTL_MIN: Duration = Duration::from_millis(10);
    /// The longest ttl: a dead holder blocks its lock that long.
    pub const TTL_MAX: Duration = Duration::from_hours(30 * 24);
    /// The longest wait that can be configured.
    pub const WAIT_MAX: Duration = Duration::from_hours(30 * 24);
}
