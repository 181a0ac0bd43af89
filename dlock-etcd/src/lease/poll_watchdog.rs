//! Whether anybody polls an acquire.
//!
//! A user may leave an acquire unpolled for as long as he likes, as in a `select!` whose other branch
//! takes its time. The lease that its place stands on is shared and kept alive by others; so without a
//! question nobody would notice, and a place at the head of the queue would block its name.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU64, Ordering},
};

use dlock_core::BootInstant;
use tokio::sync::Notify;

/// The question, and that it was answered.
#[derive(Default)]
pub(crate) struct Pulse {
    /// When it was asked first without an answer, in nanoseconds; 0 if it has answered.
    asked: AtomicU64,
    wanted: Notify,
}

impl Pulse {
    /// Answers for as long as it is polled.
    pub(crate) async fn beat(&self) -> Infallible {
        loop {
            self.wanted.notified().await;
            self.asked.store(0, Ordering::Release);
        }
    }

    /// Asks at `now`; since when it has not answered, which is `now` if it has.
    pub(crate) fn asked_since(&self, now: BootInstant) -> BootInstant {
        let first = now.as_nanos().max(1);
        match self
            .asked
            .compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => {
                self.wanted.notify_one();
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
    async fn only_who_is_polled_answers() {
        let (pulse, start) = (Pulse::default(), BootInstant::from_nanos(1_000));
        let later = |seconds| start.after(Duration::from_secs(seconds));
        assert_eq!(pulse.asked_since(later(1)), later(1));
        assert_eq!(pulse.asked_since(later(2)), later(1));
        let polled = tokio::time::timeout(Duration::from_millis(1), pulse.beat()).await;
        assert!(polled.is_err(), "it has no end");
        assert_eq!(pulse.asked_since(later(3)), later(3));
        assert_eq!(pulse.asked_since(later(9)), later(3));
    }
}
