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
    /// Whether the URL has that guard, which is the one of restarts otherwise.
    pub(super) has_failover_guard: bool,
    pub(super) may_evict: bool,
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
            has_failover_guard: failover_guard.is_some(),
            may_evict: settings.take_bool("may_evict")?.unwrap_or(false),
            min_acks: settings.take_u64("min_acks", 0..=ACKS_MAX)?.unwrap_or(0),
        })
    }

    /// Whether a server that may have lost its locks grants none before they have expired.
    pub(super) fn is_guarded(&self) -> bool {
        self.restart_guard >= self.ttl
    }
}

/// A time as a key of the URL has it.
pub(super) fn in_url(time: Duration) -> String {
    // Zero has no unit of its own that fits.
    match time.is_zero() {
        true => "0s".to_owned(),
        false => format!("{time:?}"),
    }
}
