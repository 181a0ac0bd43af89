//! A history in memory.

use dlock_core::toolkit::Lock;
use tokio::sync::Notify;

use super::event::Event;

/// A history that is being written: by tasks of this process, and by workers through their pipes.
#[derive(Debug, Default)]
pub struct History {
    events: Lock<Vec<Event>>,
    grown: Notify,
}

impl History {
    /// Adds `event`. Events of one client come in order; those of different ones may not.
    pub fn record(&self, event: Event) {
        self.events.lock().push(event);
        self.grown.notify_waiters();
    }

    /// All events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().clone()
    }

    /// Waits until at least `count` events satisfy `wanted`; without a bound of its own.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is taken out of the history.
    pub async fn until(&self, count: usize, wanted: impl Fn(&Event) -> bool) {
        loop {
            let grown = self.grown.notified();
            if self
                .events
                .lock()
                .iter()
                .filter(|event| wanted(event))
                .count()
                >= count
            {
                return;
            }
            grown.await;
        }
    }
}
