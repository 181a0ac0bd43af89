//! The longest ttl in use, and locks that outlive it.
//!
//! A key ends at a time of the server's clock. If that is set back, the lock of a dead holder lives longer by as
//! much, and nobody would know why (T13).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use dlock_core::backend::AcquireRequest;

use crate::{acquire::attempt::Taken, config::options::RedisOptions, scripts};

/// The longest ttl in use, as far as this client knows.
pub(crate) struct Longest {
    millis: AtomicU64,
}

impl Longest {
    /// `restart_guard` is at least as long, also for other clients; unless it is turned off.
    pub(crate) fn new(options: &RedisOptions) -> Self {
        let guard = options.restart_guard.max(RedisOptions::RESTART_GUARD);
        Self {
            millis: AtomicU64::new(scripts::millis(guard.max(options.ttl))),
        }
    }

    /// One that this client has asked for.
    pub(crate) fn asked(&self, ttl: Duration) {
        self.millis
            .fetch_max(scripts::millis(ttl), Ordering::Relaxed);
    }

    /// Says that the lock is taken, and what is odd about that.
    pub(crate) fn tell(&self, request: &AcquireRequest, taken: Taken) {
        let left = taken.left.filter(|_| taken.ours);
        let doubt = left.and_then(|left| self.doubt(left));
        request.attempt.report_contended_with(doubt);
    }

    /// What is odd about a lock of dlock that lives for so long.
    pub(crate) fn doubt(&self, left: Duration) -> Option<String> {
        let longest = Duration::from_millis(self.millis.load(Ordering::Relaxed));
        (left > longest).then(|| {
            format!(
                "it ends in {} s, its ttl is longer than any of ours ({} s): was the server's clock \
                 set back?",
                left.as_secs(),
                longest.as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_outlives_every_ttl_is_odd() {
        let longest = Longest::new(&RedisOptions::default());
        let second = Duration::from_secs(1);
        assert_eq!(longest.doubt(RedisOptions::RESTART_GUARD), None);
        let doubt = longest.doubt(RedisOptions::RESTART_GUARD + second);
        assert!(doubt.is_some_and(|doubt| doubt.contains("clock set back?")));
        longest.asked(RedisOptions::RESTART_GUARD + second);
        assert_eq!(longest.doubt(RedisOptions::RESTART_GUARD + second), None);
    }
}
