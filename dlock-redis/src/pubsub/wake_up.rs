//! The wake-up of one waiter.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

/// Wakes one waiter, and has the number of clients that the last release was published to.
#[derive(Default)]
pub(super) struct WakeUp {
    notify: Notify,
    listeners: AtomicU32,
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

    /// How often it was woken.
    pub(super) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
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
