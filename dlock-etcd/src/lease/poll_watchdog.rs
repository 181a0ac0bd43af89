//! Detects acquire futures that are no longer polled.
//!
//! A user may leave an acquire unpolled for any time, as in a `select!` whose other branch is slow. The
//! lease of its key is shared and kept alive by others. So the key would stay, and block its name when it
//! comes first in the queue.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU64, Ordering},
};

use dlock_core::BootInstant;
use tokio::sync::Notify;

/// A check that an acquire future responds to when it is polled.
#[derive(Default)]
pub(crate) struct PollWatchdog {
    /// The time of the oldest check without a response, in nanoseconds; 0 if there is none.
    unanswered: AtomicU64,
    check: Notify,
}

impl PollWatchdog {
    /// Responds to checks for as long as it is polled.
    pub(crate) async fn respond(&self) -> Infallible {
        loop {
            self.check.notified().await;
            self.unanswered.store(0, Ordering::Release);
        }
    }

    /// Checks at `now`. Returns the time of the oldest check without a response: `now`, or an earlier one.
    pub(crate) fn unanswered_since(&self, now: BootInstant) -> BootInstant {
        let first = now.as_nanos().max(1);
        match self
            .unanswered
            .compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                self.check.notify_one();
                now
            }
            Err(since) => BootInstant::from_nanos(since),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn only_a_polled_future_responds() {
        let (watchdog, start) = (PollWatchdog::default(), BootInstant::from_nanos(1_000));
        let later = |seconds| start.after(Duration::from_secs(seconds));
        assert_eq!(watchdog.unanswered_since(later(1)), later(1));
        assert_eq!(watchdog.unanswered_since(later(2)), later(1));
        let polled = tokio::time::timeout(Duration::from_millis(1), watchdog.respond()).await;
        assert!(polled.is_err(), "it has no end");
        assert_eq!(watchdog.unanswered_since(later(3)), later(3));
        assert_eq!(watchdog.unanswered_since(later(9)), later(3));
    }
}
