//! The wake-up of one waiter.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tokio::sync::Notify;

use super::spread;

/// Wakes one waiter, and has the number of clients that the last release was published to.
#[derive(Default)]
pub(super) struct WakeUp {
    notify: Notify,
    listeners: AtomicU32,
    /// How often it was woken.
    count: AtomicU32,
}

impl WakeUp {
    /// Wakes the waiter, also one that does not wait yet.
    pub(super) fn wake(&self, listeners: u32) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.listeners.store(listeners, Ordering::Release);
        self.notify.notify_one();
    }

    pub(super) fn listeners(&self) -> u32 {
        self.listeners.load(Ordering::Acquire)
    }

    /// The pause before the next try, by the listeners and the releases so far.
    pub(super) fn spread(&self) -> Option<Duration> {
        spread::pause(self.listeners(), self.count.load(Ordering::Relaxed))
    }

    /// Returns after a wake-up since the last call.
    pub(super) async fn woken(&self) {
        self.notify.notified().await;
    }

    /// Forgets a wake-up that was not waited for.
    pub(super) fn clear(&self) {
        std::pin::pin!(self.notify.notified()).enable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_counts_for_the_next_try() {
        const LISTENERS: u32 = 20;
        let tries_at_once = |releases| {
            let wake_up = WakeUp::default();
            (0..releases).for_each(|_| wake_up.wake(LISTENERS));
            (0..10_000).filter(|_| wake_up.spread().is_none()).count()
        };
        let (first, late) = (tries_at_once(1), tries_at_once(LISTENERS));
        assert!(late > 4 * first, "{first} {late}");
    }
}
