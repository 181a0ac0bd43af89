//! The keep-alive loop of a lease.
//!
//! The driver's own stream has no time-out, and does not come back after a failure.

use std::time::Duration;

use dlock_core::{BootInstant, toolkit::Backoff};
use tokio::time::timeout;

use crate::lease::etcd_lease::{EtcdLease, LeaseProof};

/// The lease is kept alive after this part of its ttl, so that many tries fit in.
const KEEPALIVE_PART: u32 = 6;

/// The longest time between two checks whether the lease is used, for any ttl (K12).
const UNUSED_CHECK_EVERY: Duration = Duration::from_secs(5);

/// Waiting attempts are checked for being polled once in this part of the lease's ttl.
const POLL_CHECK_PART: u32 = 2;

/// Why the loop has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepaliveEnd {
    /// The lease has ended.
    LeaseEnded,
    /// The lease has no users.
    Unused,
}

impl EtcdLease {
    /// Keeps the lease alive until it ends, or `is_needed` returns false.
    ///
    /// The lease ends when the store says so, and when no keep-alive was confirmed for its whole ttl. A
    /// later confirmation must not revive locks that their holders have reported lost (K4).
    pub(crate) async fn keep_alive(&self, is_needed: impl Fn() -> bool) -> KeepaliveEnd {
        let mut backoff = Backoff::new();
        let mut pause = self.granted_ttl / KEEPALIVE_PART;
        let mut poll_check_at = self.members.clock.now();
        loop {
            let end = self.last_keepalive().instant().after(self.granted_ttl);
            let due = self.members.clock.now().after(pause).min(end);
            tokio::select! {
                biased;
                () = self.unneeded_before(due, &is_needed) => return KeepaliveEnd::Unused,
                () = self.members.clock.sleep_until(due) => {}
                () = self.keepalive_requested.notified() => {}
            }
            let now = self.members.clock.now();
            if now >= poll_check_at {
                self.users.check_polled(now, now.before(self.granted_ttl));
                poll_check_at = now.after(self.granted_ttl / POLL_CHECK_PART);
            }
            let left = end.since(now);
            if left.is_zero() {
                self.abandon();
                return KeepaliveEnd::LeaseEnded;
            }
            match timeout(left, self.keep_alive_once()).await {
                Ok(Ok(LeaseProof::Since(_) | LeaseProof::Outdated)) => {
                    backoff.reset();
                    pause = self.granted_ttl / KEEPALIVE_PART;
                }
                Ok(Ok(LeaseProof::Ended)) => return KeepaliveEnd::LeaseEnded,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a lease was not kept alive yet");
                    pause = backoff.next_pause().min(self.granted_ttl / KEEPALIVE_PART);
                }
                // The next round abandons the lease.
                Err(_) => pause = Duration::ZERO,
            }
        }
    }

    /// Completes when `is_needed` returns false, which is checked at `due` at the latest.
    async fn unneeded_before(&self, due: BootInstant, is_needed: &impl Fn() -> bool) {
        let clock = &self.members.clock;
        loop {
            let next_check = clock.now().after(UNUSED_CHECK_EVERY);
            clock.sleep_until(due.min(next_check)).await;
            if !is_needed() {
                return;
            }
            if clock.now() >= due {
                return std::future::pending().await;
            }
        }
    }
}
