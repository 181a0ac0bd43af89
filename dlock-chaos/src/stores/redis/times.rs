//! Times of all kinds of Redis.

use std::time::Duration;

/// The ttl of the locks.
pub(in crate::stores) const TTL: Duration = Duration::from_millis(1_500);

/// A server that has forgotten its locks grants nothing for so long: a little longer than the ttl.
pub(in crate::stores) const GUARD: Duration = Duration::from_secs(2);

/// After a fault, clients need so long to connect again, beside the guard.
pub(in crate::stores) const RECONNECT_MAX: Duration = Duration::from_secs(3);
