//! The ttl of the locks of a URL.

use std::time::Duration;

use dlock_core::config::Settings;

/// A locker's own default.
const TTL: Duration = Duration::from_secs(30);

/// The ttl that the settings give, or the default.
pub(super) fn given(settings: &Settings) -> Duration {
    settings.common().ttl.unwrap_or(TTL)
}
