//! The longest ttl in use, and a warning about locks that outlive it.
//!
//! A key expires at a time of the server's clock. If that is set back, the lock of a dead holder lives longer
//! by as much (`redis.clock-back`).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use dlock_core::backend::AcquireRequest;

use crate::{
    config::Options,
    scripts::{Contended, millis},
};

/// The longest ttl that this client knows of.
pub(crate) struct LongestTtl {
    millis: AtomicU64,
}

impl LongestTtl {
    /// Begins with `restart_guard`: unless it is off, no client has a longer ttl.
    pub(crate) fn new(options: &Options) -> Self {
        let guard = options.restart_guard.max(Options::RESTART_GUARD);
        Self {
            millis: AtomicU64::new(millis(guard.max(options.ttl))),
        }
    }

    /// Notes the ttl of a request.
    pub(crate) fn observe(&self, ttl: Duration) {
        self.millis.fetch_max(millis(ttl), Ordering::Relaxed);
    }

    /// Reports that the lock is taken, with a warning if it lives too long.
    pub(crate) fn report_contended(&self, request: &AcquireRequest, contended: Contended) {
        let remaining = contended.expires_in.filter(|_| contended.by_dlock);
        let warning = remaining.and_then(|remaining| self.warning(remaining));
        request.attempt.report_contended_with(warning);
    }

    /// The warning about a lock of dlock that has so long a time remaining.
    pub(crate) fn warning(&self, remaining: Duration) -> Option<String> {
        let longest = Duration::from_millis(self.millis.load(Ordering::Relaxed));
        (remaining > longest).then(|| {
            format!(
                "it ends in {} s, later than any known ttl allows ({} s): was the server's clock set back?",
                remaining.as_secs(),
                longest.as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lock_that_outlives_every_ttl_has_a_warning() {
        let longest = LongestTtl::new(&Options::default());
        let second = Duration::from_secs(1);
        assert_eq!(longest.warning(Options::RESTART_GUARD), None);
        let warning = longest.warning(Options::RESTART_GUARD + second);
        assert!(warning.is_some_and(|warning| warning.contains("clock set back?")));
        longest.observe(Options::RESTART_GUARD + second);
        assert_eq!(longest.warning(Options::RESTART_GUARD + second), None);
    }
}
