//! The settings of dlock that make a setting of the server matter or not.

use std::time::Duration;

use dlock_core::{Result, config::Settings};

use crate::probe::ttl;

/// dlock-redis's own bounds.
const GUARD_MAX: Duration = Duration::from_secs(86_400);
const ACKS_MAX: u64 = 100;

/// The keys of the URL that checks depend on.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) ttl: Duration,
    pub(super) timeout: Duration,
    pub(super) restart_guard: Duration,
    pub(super) failover_guard: Duration,
    pub(super) min_acks: u64,
}

impl Given {
    pub(super) fn take(settings: &mut Settings, timeout: Duration) -> Result<Self> {
        let restart_guard = settings.take_restart_guard(GUARD_MAX)?;
        let failover_guard =
            settings.take_duration("failover_guard", Duration::ZERO..=GUARD_MAX)?;
        Ok(Self {
            ttl: ttl::given(settings),
            timeout,
            restart_guard,
            failover_guard: failover_guard.unwrap_or(restart_guard),
            min_acks: settings.take_u64("min_acks", 0..=ACKS_MAX)?.unwrap_or(0),
        })
    }

    /// Whether a server that may have lost its locks grants none before they have expired.
    pub(super) fn is_guarded(&self) -> bool {
        self.restart_guard >= self.ttl
    }
}
