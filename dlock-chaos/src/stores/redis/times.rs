//! Times of all kinds of Redis.

use std::time::Duration;

/// The ttl of the locks.
pub(super) const TTL: Duration = Duration::from_millis(1_500);

/// A server that has forgotten its locks grants nothing for so long: a little longer than the ttl.
pub(super) const GUARD: Duration = Duration::from_secs(2);
