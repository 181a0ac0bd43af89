//! How a waiter waits for its next try.

use std::time::Duration;

use tokio::time::sleep;

use crate::watch::Subscription;

/// How often a waiter that is told of changes, and the keeper of what is held, look all the same: for
/// what nobody tells, such as a renamed parent directory or an event that was dropped.
pub(crate) const RECHECK_EVERY: Duration = Duration::from_millis(900);

/// How often a waiter looks that nobody tells anything.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// The pauses between tries after an event, 50 ms in all. The kernel tells that a file was closed
/// just before it drops the lock (seen at 1 of 200 kills), and an inspector may be looking.
const BACK_OFF: [Duration; 8] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(3),
    Duration::from_millis(5),
    Duration::from_millis(7),
    Duration::from_millis(9),
    Duration::from_millis(11),
    Duration::from_millis(12),
];

/// One waiter of one file.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    subscription: Option<Subscription>,
    /// How many pauses of the back-off are over. It starts before the first event, because that may
    /// have come before the subscription.
    paused: usize,
}

impl Waiting {
    /// From now on it is told of changes; without, it polls.
    pub(crate) fn subscribe(&mut self, subscription: Subscription) {
        self.subscription = Some(subscription);
    }

    /// Whether all the pauses of the back-off are over.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.paused >= BACK_OFF.len()
    }

    /// Waits until it is time for another try.
    ///
    /// # Cancel safety
    ///
    /// Safe: no wake-up is lost.
    pub(crate) async fn pause(&mut self) {
        let pause = BACK_OFF.get(self.paused).copied();
        let Some(subscription) = &self.subscription else {
            sleep(pause.unwrap_or(POLL_EVERY)).await;
            self.paused = self.paused.saturating_add(1);
            return;
        };
        tokio::select! {
            () = subscription.woken() => self.paused = 0,
            () = sleep(pause.unwrap_or(RECHECK_EVERY)) => self.paused = self.paused.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_off_is_short_and_bounded() {
        let whole: Duration = BACK_OFF.iter().sum();
        assert_eq!(whole, Duration::from_millis(50));
        assert!(BACK_OFF.iter().is_sorted() && whole < RECHECK_EVERY);
    }
}
